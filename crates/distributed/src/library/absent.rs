//! A build without MPI: there is no library, so nothing here is ever called.

use crate::error::{Error, Result};

pub(crate) enum Library {}

pub(crate) enum Request {}

impl Library {
    pub(crate) fn initialize() -> Result<Library> {
        let why = "this build has no MPI: enable the feature `mpi`";
        Err(Error::Unsupported(why.to_owned()))
    }

    pub(crate) fn rank(&self) -> usize {
        match *self {}
    }

    pub(crate) fn size(&self) -> usize {
        match *self {}
    }

    pub(crate) unsafe fn send(&self, _: *const u8, _: usize, _: usize, _: i32) -> Result<Request> {
        match *self {}
    }

    pub(crate) unsafe fn receive(
        &self,
        _: *mut u8,
        _: usize,
        _: Option<usize>,
        _: i32,
    ) -> Result<Request> {
        match *self {}
    }

    pub(crate) fn test(&self, _: &mut Request) -> Result<Option<(usize, usize)>> {
        match *self {}
    }

    pub(crate) fn cancel(&self, _: &mut Request) {
        match *self {}
    }

    pub(crate) fn finalize(self) {
        match self {}
    }
}
