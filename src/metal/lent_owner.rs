//! [`LentOwner`]: a value whose bytes are in Metal's hands.

/// A value whose bytes are on loan, by address, for as long as this lives. Until then, nobody moves or touches the
/// value.
///
/// The pointer is raw, since a `Box` that moves would end the loan of its bytes.
pub(crate) struct LentOwner<O>(*mut O);

// SAFETY: it is the owner, which may be sent.
unsafe impl<O: Send> Send for LentOwner<O> {}

impl<O> LentOwner<O> {
    pub(crate) fn new(owner: O) -> LentOwner<O> {
        LentOwner(Box::into_raw(Box::new(owner)))
    }

    /// Where the owner is: live as long as this is.
    pub(crate) fn as_ptr(&self) -> *mut O {
        self.0
    }

    /// Ends the loan.
    pub(crate) fn into_inner(self) -> O {
        let owner = self.0;
        std::mem::forget(self);
        // SAFETY: made by `Box::into_raw`, and taken back once: `self` is not dropped.
        *unsafe { Box::from_raw(owner) }
    }
}

impl<O> Drop for LentOwner<O> {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and dropped once, here.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
