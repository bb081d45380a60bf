//! [`KvCache`]: the keys and values of one layer.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::device::{Device, Size};
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4, elements};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View};

/// The most elements of a head of attention: what the kernels have registers for.
pub const MAX_HEAD_SIZE: usize = 256;

/// How the elements of a cache are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KvElement {
    /// 32-bit floats.
    F32,
    /// 16-bit floats: half the memory and bandwidth, keys and values rounded to 11 bits.
    F16,
}

impl KvElement {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            KvElement::F32 => 4,
            KvElement::F16 => 2,
        }
    }

    /// As [`DataType::name`](crate::ops::DataType::name).
    pub(super) const fn name(self) -> &'static str {
        match self {
            KvElement::F32 => "f32",
            KvElement::F16 => "f16",
        }
    }
}

/// The shape of a [`KvCache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KvShape {
    /// How elements are stored.
    pub element: KvElement,
    /// Heads of keys and values; each serves a group of query heads.
    pub kv_heads: usize,
    /// Positions that the cache has room for.
    pub capacity: usize,
    /// Elements of a head: a multiple of 4, at most 256.
    pub head_size: usize,
}

impl KvShape {
    /// Bytes of the keys, or of the values, which take as much.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a dimension is zero or the head size is not possible, [`Error::OutOfRange`] if
    /// the cache would not fit into the address space.
    pub fn bytes(&self) -> Result<usize> {
        const FUNCTION: &str = "KvShape::bytes";
        let KvShape {
            element,
            kv_heads,
            capacity,
            head_size,
        } = *self;
        let refused = |message| Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        if kv_heads == 0 {
            return refused("kv_heads must be at least 1, not 0".to_owned());
        }
        if capacity == 0 {
            return refused("capacity must be at least 1, not 0".to_owned());
        }
        if head_size == 0 || head_size % 4 != 0 || head_size > MAX_HEAD_SIZE {
            return refused(format!(
                "head_size ({head_size}) must be a multiple of 4 from 4 to {MAX_HEAD_SIZE}"
            ));
        }
        let count = elements(FUNCTION, "a cache", &[kv_heads, capacity, head_size])?;
        count.checked_mul(element.bytes()).ok_or_else(|| {
            let message = format!(
                "a cache of {count} elements of {} bytes each is larger than an address space",
                element.bytes()
            );
            Error::OutOfRange(Failure::new(FUNCTION, message))
        })
    }
}

/// The keys and values of one layer, each `[kv_heads, capacity, head_size]`, in buffers that it keeps alive. Clones share them.
#[derive(Debug, Clone)]
pub struct KvCache {
    keys: Buffer,
    values: Buffer,
    shape: KvShape,
}

impl KvCache {
    /// A cache with room for `shape`, in two private buffers.
    ///
    /// # Errors
    ///
    /// Those of [`KvShape::bytes`] and of [`Device::new_buffer`].
    pub fn new(device: &Device, shape: &KvShape) -> Result<KvCache> {
        let bytes = shape.bytes()?;
        let make = || device.new_buffer(bytes, StorageMode::Private);
        Ok(KvCache {
            keys: make()?,
            values: make()?,
            shape: *shape,
        })
    }

    /// The cache's shape.
    pub fn shape(&self) -> &KvShape {
        &self.shape
    }

    /// The keys.
    pub fn keys(&self) -> View<'_> {
        View::new(&self.keys, 0)
    }

    /// The values.
    pub fn values(&self) -> View<'_> {
        View::new(&self.values, 0)
    }

    /// Bytes of the keys; the values take as many.
    pub(super) fn bytes(&self) -> usize {
        self.shape.kv_heads
            * self.shape.capacity
            * self.shape.head_size
            * self.shape.element.bytes()
    }

    /// Checks that positions `past` to `past + rows` fit.
    pub(super) fn check_rows(
        &self,
        function: &'static str,
        past: usize,
        rows: usize,
    ) -> Result<()> {
        let capacity = self.shape.capacity;
        if past.checked_add(rows).is_none_or(|end| end > capacity) {
            let message = format!(
                "{rows} positions from {past} on do not fit in a cache of {capacity} positions"
            );
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        Ok(())
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    kv_heads: u32,
    capacity: u32,
    past: u32,
}

impl Ops {
    /// Puts the keys and values of `rows` new positions behind the `past` ones that the cache holds: `k` and `v` are
    /// `[rows, kv_heads, head_size]` of f32. Elements beyond the largest f16, or beyond 2^96 in a cache of F32, become
    /// that bound, infinities too; NaN stays NaN. Kernel `kv_append_*`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the cache is too small, or `k` or `v` does not fit in its buffer;
    /// [`Error::Misaligned`] if one is not on a multiple of 16 bytes; [`Error::InvalidArgument`] if one is the cache.
    pub fn kv_append<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        cache: &KvCache,
        k: impl Into<View<'a>>,
        v: impl Into<View<'a>>,
        rows: usize,
        past: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::kv_append";
        let KvShape {
            element,
            kv_heads,
            capacity,
            head_size,
        } = *cache.shape();
        cache.check_rows(FUNCTION, past, rows)?;
        let bytes = bytes4(FUNCTION, "k", &[rows, kv_heads, head_size])?;
        let written = rows * kv_heads * head_size * element.bytes();
        let operands = [
            Operand::read("k", k.into(), bytes, 16),
            Operand::read("v", v.into(), bytes, 16),
            Operand::write("the keys", cache.keys(), cache.bytes(), 16).moving(written),
            Operand::write("the values", cache.values(), cache.bytes(), 16).moving(written),
        ];
        if rows == 0 {
            return Ok(());
        }
        let name = match element {
            KvElement::F32 => "kv_append_f32",
            KvElement::F16 => "kv_append_f16",
        };
        let kernel =
            KernelName::new(Shader::KvCache, name).with(Constant::Uint(0, head_size as u32));
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                kv_heads: kv_heads as u32,
                capacity: capacity as u32,
                past: past as u32,
            },
            operands: &operands,
            cost: Cost::bytes_only(element.name()),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(kv_heads * head_size / 4, rows, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel reads k and v [rows, kv_heads, head_size] and writes positions below past + rows.
        unsafe { launch.encode(target) }
    }
}
