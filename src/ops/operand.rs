//! [`Operand`]: a buffer argument, checked before anything is encoded.

use crate::error::{Error, Failure, Result};
use crate::metal;
use crate::metal::hazards::Reach;
use crate::ops::view::{Extent, View, overlap};

/// What a kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// Written; an input may lie exactly there, since the kernel goes element by element.
    WriteInPlace,
}

/// A buffer argument: where it is and how far the kernel goes in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    name: &'static str,
    view: View<'a>,
    extent: Extent,
    alignment: usize,
    access: Access,
    /// Bytes that the kernel moves, if it does not go to all of them.
    moved: Option<usize>,
}

impl<'a> Operand<'a> {
    /// `bytes` bytes that the kernel reads.
    pub(crate) fn read(
        name: &'static str,
        view: View<'a>,
        extent: impl Into<Extent>,
        alignment: usize,
    ) -> Operand<'a> {
        Operand {
            name,
            view,
            extent: extent.into(),
            alignment,
            access: Access::Read,
            moved: None,
        }
    }

    /// `bytes` bytes that the kernel writes, and that no other operand overlaps.
    pub(crate) fn write(
        name: &'static str,
        view: View<'a>,
        extent: impl Into<Extent>,
        alignment: usize,
    ) -> Operand<'a> {
        Operand {
            name,
            view,
            extent: extent.into(),
            alignment,
            access: Access::Write,
            moved: None,
        }
    }

    /// The same operand, which may also be one of the inputs.
    pub(crate) fn in_place(self) -> Operand<'a> {
        Operand {
            access: Access::WriteInPlace,
            ..self
        }
    }

    /// The same operand, of which the kernel goes to no more than `bytes` bytes, wherever they lie.
    pub(crate) fn moving(self, bytes: usize) -> Operand<'a> {
        Operand {
            moved: Some(bytes.min(self.extent.bytes)),
            ..self
        }
    }

    pub(crate) fn view(&self) -> View<'a> {
        self.view
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.access == Access::Read
    }

    /// Whether the kernel looks at any of it.
    pub(crate) fn has_elements(&self) -> bool {
        self.extent.bytes > 0
    }

    /// Bytes that the kernel moves.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved.unwrap_or(self.extent.bytes) as u64
    }

    /// The range that the kernel reads or writes.
    pub(crate) fn reach(&self) -> Reach<'a> {
        Reach {
            buffer: self.view.buffer(),
            bytes: self.view.range(self.extent.bytes),
            access: match self.access {
                Access::Read => metal::access::Access::Read,
                Access::Write | Access::WriteInPlace => metal::access::Access::Write,
            },
        }
    }

    /// Checks that the buffer holds it and that it is aligned.
    pub(crate) fn check(&self, function: &'static str) -> Result<()> {
        self.view
            .check(function, self.name, self.extent.bytes, self.alignment)
    }

    fn conflicts(&self, other: &Operand<'_>) -> bool {
        if self.access == Access::Read && other.access == Access::Read {
            return false;
        }
        let same =
            self.view.offset() == other.view.offset() && self.extent.bytes == other.extent.bytes;
        let in_place = [self.access, other.access] == [Access::WriteInPlace, Access::Read]
            || [self.access, other.access] == [Access::Read, Access::WriteInPlace];
        self.view.overlaps(self.extent, &other.view, other.extent) && !(same && in_place)
    }
}

/// Checks that each operand is inside its buffer and aligned, and that none is written where another one is.
pub(crate) fn check_operands(function: &'static str, operands: &[Operand<'_>]) -> Result<()> {
    for (index, operand) in operands.iter().enumerate() {
        operand.check(function)?;
        if let Some(other) = operands[..index]
            .iter()
            .find(|other| operand.conflicts(other))
        {
            let [theirs, own] = [other, operand].map(|one| one.view.range(one.extent.bytes));
            let message = overlap(other.name, theirs, operand.name, own);
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
    }
    Ok(())
}
