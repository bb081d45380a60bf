//! MPI itself, with errors as values: by default MPI ends the process instead.

use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi::ffi;

use super::{LARGEST_MESSAGE, LARGEST_TAG};
use crate::error::{Error, Result};

/// MPI, initialised by the thread that has this.
pub(crate) struct Library {
    communicator: ffi::MPI_Comm,
    rank: usize,
    size: usize,
}

/// A message on its way. MPI uses its memory until [`Library::test`] gives something.
pub(crate) struct Request(ffi::MPI_Request);

/// Whether this process has begun to initialise MPI.
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);

impl Library {
    /// `MPI_Init_thread` with `MPI_THREAD_FUNNELED`: this thread alone calls MPI from now on.
    pub(crate) fn initialize() -> Result<Library> {
        let (mut runs, mut has_ended) = (0, 0);
        // SAFETY: both calls are allowed at any time, and write their flag.
        unsafe {
            ffi::MPI_Initialized(&mut runs);
            ffi::MPI_Finalized(&mut has_ended);
        }
        if runs != 0 || has_ended != 0 || IS_INITIALIZED.swap(true, Ordering::SeqCst) {
            let why = match has_ended {
                0 => "a process calls Communicator::world once, and leaves MPI to this crate",
                _ => "it has run in this process and ended",
            };
            return Err(Error::AlreadyInitialized(why));
        }
        let mut provided = 0;
        // SAFETY: MPI does not run yet. Every MPI of version 2 or newer takes NULL for the arguments.
        let code = unsafe {
            let (none, level) = (ptr::null_mut(), ffi::RSMPI_THREAD_FUNNELED);
            ffi::MPI_Init_thread(none, none.cast(), level, &mut provided)
        };
        check("MPI_Init_thread", code)?;
        // SAFETY: constants of the library.
        let (funneled, communicator) =
            unsafe { (ffi::RSMPI_THREAD_FUNNELED, ffi::RSMPI_COMM_WORLD) };
        if provided < funneled {
            let why = "the MPI library has no threads beside the main one (MPI_THREAD_FUNNELED)";
            return Err(Error::Unsupported(why.to_owned()));
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: MPI runs, and the communicator is its own.
        unsafe {
            let code = ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            check("MPI_Comm_set_errhandler", code)?;
            // MPI 4 gives errors of no communicator to this one's handler.
            let code = ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_SELF, ffi::RSMPI_ERRORS_RETURN);
            check("MPI_Comm_set_errhandler", code)?;
            check("MPI_Comm_rank", ffi::MPI_Comm_rank(communicator, &mut rank))?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(communicator, &mut size))?;
        }
        Ok(Library {
            communicator,
            rank: rank as usize,
            size: size as usize,
        })
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// `MPI_Isend`.
    ///
    /// # Safety
    ///
    /// The bytes are valid, and not written by Rust code, until the request has ended.
    pub(crate) unsafe fn send(
        &self,
        bytes: *const u8,
        length: usize,
        to: usize,
        tag: i32,
    ) -> Result<Request> {
        debug_assert!(length <= LARGEST_MESSAGE && (0..=LARGEST_TAG).contains(&tag));
        let mut request = MaybeUninit::uninit();
        // SAFETY: the arguments are in range, and the memory is the caller's promise.
        let code = unsafe {
            ffi::MPI_Isend(
                bytes.cast(),
                length as c_int,
                ffi::RSMPI_UINT8_T,
                to as c_int,
                tag,
                self.communicator,
                request.as_mut_ptr(),
            )
        };
        check("MPI_Isend", code)?;
        // SAFETY: the call has succeeded.
        Ok(Request(unsafe { request.assume_init() }))
    }

    /// `MPI_Irecv`, from any rank if there is no `from`.
    ///
    /// # Safety
    ///
    /// The bytes are valid to write, and Rust code neither reads nor writes them, until the request has ended.
    pub(crate) unsafe fn receive(
        &self,
        bytes: *mut u8,
        length: usize,
        from: Option<usize>,
        tag: i32,
    ) -> Result<Request> {
        debug_assert!(length <= LARGEST_MESSAGE && (0..=LARGEST_TAG).contains(&tag));
        let mut request = MaybeUninit::uninit();
        // SAFETY: as for `send`.
        let code = unsafe {
            ffi::MPI_Irecv(
                bytes.cast(),
                length as c_int,
                ffi::RSMPI_UINT8_T,
                from.map_or(ffi::RSMPI_ANY_SOURCE, |from| from as c_int),
                tag,
                self.communicator,
                request.as_mut_ptr(),
            )
        };
        check("MPI_Irecv", code)?;
        // SAFETY: the call has succeeded.
        Ok(Request(unsafe { request.assume_init() }))
    }

    /// `MPI_Test`: the rank that a message came from and its bytes, once the request has ended. It is not tested again then.
    pub(crate) fn test(&self, request: &mut Request) -> Result<Option<(usize, usize)>> {
        let (mut has_ended, mut length) = (0, 0);
        let mut status = MaybeUninit::<ffi::MPI_Status>::zeroed();
        // SAFETY: the request is active, and a status of zeroes is one.
        unsafe {
            let code = ffi::MPI_Test(&mut request.0, &mut has_ended, status.as_mut_ptr());
            check("MPI_Test", code)?;
            if has_ended == 0 {
                return Ok(None);
            }
            let code = ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut length);
            check("MPI_Get_count", code)?;
            let from = usize::try_from(status.assume_init().MPI_SOURCE).unwrap_or(0);
            Ok(Some((from, usize::try_from(length).unwrap_or(0))))
        }
    }

    /// `MPI_Cancel`: the request may end sooner.
    pub(crate) fn cancel(&self, request: &mut Request) {
        // SAFETY: the request is active. A request that cannot be cancelled goes on.
        unsafe { ffi::MPI_Cancel(&mut request.0) };
    }

    /// `MPI_Finalize`: waits until all ranks call it.
    pub(crate) fn finalize(self) {
        // SAFETY: no request is active, and this thread has initialised MPI.
        unsafe { ffi::MPI_Finalize() };
    }
}

/// An error of MPI's as a value.
fn check(function: &'static str, code: c_int) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let mut text = [0u8; 1024];
    let mut length = 0;
    // SAFETY: MPI writes at most MPI_MAX_ERROR_STRING characters, which no library sets beyond 1024.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    let length = usize::try_from(length).unwrap_or(0).min(text.len());
    Err(Error::Mpi {
        function,
        code,
        message: String::from_utf8_lossy(&text[..length]).into_owned(),
    })
}
