//! [`KvCache`]: the keys and values of one layer, in pages.

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

/// Positions of a page of a [`KvCache`].
pub const KV_PAGE_POSITIONS: usize = 32;

/// How the elements of a cache are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KvElement {
    /// 32-bit floats.
    F32,
    /// 16-bit floats: half the memory and bandwidth, keys and values rounded to 11 bits.
    F16,
    /// Blocks of 32 elements of a head: bytes, and a scale in 16 bits. 27 % of the memory of F32. The largest error of an element is 1/254 of the
    /// largest element of its block, and what rounding the scale to a half adds.
    Q8_0,
}

impl KvElement {
    /// Elements that are stored together, and their bytes.
    pub const fn block(self) -> (usize, usize) {
        match self {
            KvElement::F32 => (1, 4),
            KvElement::F16 => (1, 2),
            KvElement::Q8_0 => (32, 34),
        }
    }

    /// Bytes of so many elements, which fill blocks.
    pub(super) const fn bytes(self, count: usize) -> usize {
        let (elements, bytes) = self.block();
        count / elements * bytes
    }

    /// As [`DataType::name`](crate::ops::DataType::name).
    pub(super) const fn name(self) -> &'static str {
        match self {
            KvElement::F32 => "f32",
            KvElement::F16 => "f16",
            KvElement::Q8_0 => "q8_0",
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
    /// Pages, of [`KV_PAGE_POSITIONS`] positions each.
    pub pages: usize,
    /// Elements of a head: a multiple of 4, or of 32 in a cache of Q8_0; at most 256.
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
            pages,
            head_size,
        } = *self;
        let refused = |message| Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        if kv_heads == 0 {
            return refused("kv_heads must be at least 1, not 0".to_owned());
        }
        if pages == 0 {
            return refused("pages must be at least 1, not 0".to_owned());
        }
        let step = element.block().0.max(4);
        if head_size == 0 || head_size % step != 0 || head_size > MAX_HEAD_SIZE {
            return refused(format!(
                "head_size ({head_size}) must be a multiple of {step} from {step} to {MAX_HEAD_SIZE}"
            ));
        }
        // Kernels count positions in 32 bits.
        let positions = pages.saturating_mul(KV_PAGE_POSITIONS);
        let count = elements(FUNCTION, "a cache", &[kv_heads, positions, head_size])?;
        let (block, bytes) = element.block();
        (count / block).checked_mul(bytes).ok_or_else(|| {
            let message = format!("a cache of {count} elements is larger than an address space");
            Error::OutOfRange(Failure::new(FUNCTION, message))
        })
    }
}

/// The keys and values of one layer, each `[pages, kv_heads, KV_PAGE_POSITIONS, head_size]`, in buffers that it keeps alive. Clones share
/// them. With [`KvElement::Q8_0`] a head of a page has the bytes of all its positions first, and then their scales.
///
/// Several texts have their positions in one cache (Kwon et al. 2023, arXiv:2309.06180). A page table says where: u32 in a buffer, the page of
/// the text's first [`KV_PAGE_POSITIONS`] positions, the page of the next ones, and so on. Texts that begin alike may share pages.
/// Kernels read a table when they run. A page that the cache does not have takes no keys and values, and attention reads
/// the cache's last page in its place.
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
        let KvShape {
            element,
            kv_heads,
            pages,
            head_size,
        } = self.shape;
        element.bytes(pages * kv_heads * KV_PAGE_POSITIONS * head_size)
    }

    /// Bytes of one page of the keys, or of the values: page n begins at n times as many.
    pub fn page_bytes(&self) -> usize {
        self.bytes() / self.shape.pages
    }

    /// Bytes of a page table for positions up to `past + rows`. A text without shared positions fits in the cache.
    pub(super) fn table_bytes(
        &self,
        function: &'static str,
        past: usize,
        rows: usize,
    ) -> Result<usize> {
        let pages = self.shape.pages;
        match past.checked_add(rows) {
            Some(end) if end <= pages.saturating_mul(KV_PAGE_POSITIONS) => {
                Ok(end.div_ceil(KV_PAGE_POSITIONS) * size_of::<u32>())
            }
            _ => {
                let message = format!(
                    "{rows} positions from {past} on do not fit in a cache of {pages} pages"
                );
                Err(Error::OutOfRange(Failure::new(function, message)))
            }
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    kv_heads: u32,
    pages: u32,
    past: u32,
}

impl Ops {
    /// Puts the keys and values of `rows` new positions behind the `past` ones of a text, into the pages that its `table` names: `k`
    /// and `v` are `[rows, kv_heads, head_size]` of f32. Elements beyond the largest f16, 127 times that in a cache of Q8_0, or 2^96
    /// in a cache of F32 become that bound, infinities too. NaN stays NaN, and makes a block of Q8_0 NaN. Kernel `kv_append_*`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the cache is too small, or `table`, `k` or `v` does not fit in its buffer;
    /// [`Error::Misaligned`] if `k` or `v` is not on a multiple of 16 bytes, or `table` not of 4; [`Error::InvalidArgument`] if one is
    /// the cache.
    #[allow(clippy::too_many_arguments)]
    pub fn kv_append<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        cache: &KvCache,
        table: impl Into<View<'a>>,
        k: impl Into<View<'a>>,
        v: impl Into<View<'a>>,
        rows: usize,
        past: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::kv_append";
        let KvShape {
            element,
            kv_heads,
            pages,
            head_size,
        } = *cache.shape();
        let table_bytes = cache.table_bytes(FUNCTION, past, rows)?;
        let bytes = bytes4(FUNCTION, "k", &[rows, kv_heads, head_size])?;
        let written = element.bytes(rows * kv_heads * head_size);
        let operands = [
            Operand::read("the page table", table.into(), table_bytes, 4),
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
            KvElement::Q8_0 => "kv_append_q8_0",
        };
        let per_thread = element.block().0.max(4);
        let kernel =
            KernelName::new(Shader::KvCache, name).with(Constant::Uint(0, head_size as u32));
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                kv_heads: kv_heads as u32,
                pages: pages as u32,
                past: past as u32,
            },
            operands: &operands,
            cost: Cost::bytes_only(element.name()),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(kv_heads * head_size / per_thread, rows, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel reads k and v [rows, kv_heads, head_size] and the table of positions below past + rows, and writes to
        // pages of the cache only.
        unsafe { launch.encode(target) }
    }
}
