//! [`Layout`]: how the elements of a tensor lie in memory, and the forms in which kernels walk through several of them.

use crate::ops::view::Extent;

/// The most dimensions of a tensor.
pub const MAX_RANK: usize = 8;

/// Shape and strides, in elements. A stride of 0 repeats an element along its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

impl Layout {
    /// Row-major, without gaps; none if there are more than [`MAX_RANK`] dimensions or more elements than `usize` can count.
    pub(crate) fn contiguous(shape: &[usize]) -> Option<Layout> {
        let mut strides = [0; MAX_RANK];
        let mut stride = 1usize;
        for (dimension, &size) in shape.iter().enumerate().rev() {
            *strides.get_mut(dimension)? = stride;
            stride = stride.checked_mul(size.max(1))?;
        }
        Layout::strided(shape, strides.get(..shape.len())?)
    }

    /// With these strides; none if there are more than [`MAX_RANK`] dimensions or not as many strides.
    pub(crate) fn strided(shape: &[usize], strides: &[usize]) -> Option<Layout> {
        if shape.len() > MAX_RANK || shape.len() != strides.len() {
            return None;
        }
        let mut layout = Layout {
            rank: shape.len(),
            shape: [1; MAX_RANK],
            strides: [0; MAX_RANK],
        };
        layout.shape[..shape.len()].copy_from_slice(shape);
        layout.strides[..shape.len()].copy_from_slice(strides);
        layout.elements()?;
        Some(layout)
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    pub(crate) fn strides(&self) -> &[usize] {
        &self.strides[..self.rank]
    }

    /// Whether each position has the same offset in both: no step is taken along one position.
    pub(crate) fn is_same(&self, other: &Layout) -> bool {
        self.shape() == other.shape()
            && (0..self.rank)
                .all(|axis| self.shape[axis] <= 1 || self.strides[axis] == other.strides[axis])
    }

    /// How many elements it has; none if `usize` cannot count them.
    fn elements(&self) -> Option<usize> {
        if self.shape().contains(&0) {
            return Some(0);
        }
        self.shape()
            .iter()
            .try_fold(1usize, |count, &size| count.checked_mul(size))
    }

    pub(crate) fn count(&self) -> usize {
        self.elements().expect("counted when it was made")
    }

    /// The memory from the first to the last element of `size` bytes, and the runs in it; none beyond the address space.
    pub(crate) fn extent(&self, size: usize) -> Option<Extent> {
        if self.count() == 0 {
            return Some(Extent::from(0));
        }
        let (mut end, mut pitch, mut outermost) = (1usize, 0, 0);
        for (count, stride) in self.shape().iter().zip(self.strides()) {
            let reach = (count - 1).checked_mul(*stride)?;
            end = end.checked_add(reach)?;
            if reach > 0 && *stride > pitch {
                (pitch, outermost) = (*stride, reach);
            }
        }
        // A run is what the other dimensions reach. The pitch is less than the end, so that no product is too large.
        let bytes = end.checked_mul(size)?;
        let width = end - outermost;
        Some(Extent {
            bytes,
            pitch: if width < pitch { pitch * size } else { 0 },
            width: width * size,
        })
    }

    /// How many elements it has if those that repeat count once.
    pub(crate) fn distinct(&self) -> usize {
        let steps = self.shape().iter().zip(self.strides());
        let sizes = steps.map(|(size, stride)| if *stride == 0 { (*size).min(1) } else { *size });
        sizes.fold(1, usize::saturating_mul)
    }

    /// The same elements in another shape, by the rules of broadcasting: dimensions are matched from the last, and one of size 1
    /// repeats; none if the shapes do not match.
    pub(crate) fn broadcast_to(&self, shape: &[usize]) -> Option<Layout> {
        let added = shape.len().checked_sub(self.rank)?;
        let mut strides = vec![0; shape.len()];
        for (dimension, (&own, &stride)) in self.shape().iter().zip(self.strides()).enumerate() {
            match shape[added + dimension] {
                size if size == own => strides[added + dimension] = stride,
                _ if own == 1 => {}
                _ => return None,
            }
        }
        Layout::strided(shape, &strides)
    }

    /// With its dimensions in this order; none if `order` does not name each once.
    pub(crate) fn permuted(&self, order: &[usize]) -> Option<Layout> {
        let mut named = [false; MAX_RANK];
        for &axis in order {
            if axis >= self.rank || std::mem::replace(&mut named[axis], true) {
                return None;
            }
        }
        let of = |from: &[usize]| order.iter().map(|&axis| from[axis]).collect::<Vec<_>>();
        (order.len() == self.rank)
            .then(|| Layout::strided(&of(self.shape()), &of(self.strides())))?
    }

    /// Only these dimensions, in this order; each is one of the layout, and named once.
    pub(crate) fn along(&self, axes: &[usize]) -> Layout {
        let of = |from: &[usize]| axes.iter().map(|&axis| from[axis]).collect::<Vec<_>>();
        Layout::strided(&of(self.shape()), &of(self.strides())).expect("a part of a layout is one")
    }

    /// Without all but the `count` elements from `start` on along `axis`, and how many elements to skip; none if they are not
    /// inside.
    pub(crate) fn narrowed(
        &self,
        axis: usize,
        start: usize,
        count: usize,
    ) -> Option<(Layout, usize)> {
        let size = *self.shape().get(axis)?;
        if start.checked_add(count)? > size {
            return None;
        }
        let mut narrowed = *self;
        narrowed.shape[axis] = count;
        // If there are no elements, none is skipped, so that an empty tensor stays inside its buffer.
        let skipped = if narrowed.count() == 0 {
            0
        } else {
            start.checked_mul(self.strides[axis])?
        };
        Some((narrowed, skipped))
    }

    /// Only every `step`-th element along `axis`, the first one too; none if there is not such an axis or if `step` is 0.
    pub(crate) fn stepped(&self, axis: usize, step: usize) -> Option<Layout> {
        let size = *self.shape().get(axis)?;
        if step == 0 {
            return None;
        }
        let mut stepped = *self;
        stepped.shape[axis] = size.div_ceil(step);
        // With two elements the step is less than the size, but the stride of an empty tensor may be anything.
        stepped.strides[axis] = self.strides[axis].saturating_mul(step);
        Some(stepped)
    }

    /// Whether the elements are row-major without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        let plain = Layout::contiguous(self.shape());
        self.count() == 0 || plain.is_some_and(|plain| self.is_same(&plain))
    }

    /// Whether two positions certainly have memory of their own. Sorted by stride, each dimension has to step over all that the
    /// ones before it reach.
    pub(crate) fn is_injective(&self) -> bool {
        let mut dimensions: Vec<(usize, usize)> = self
            .strides()
            .iter()
            .copied()
            .zip(self.shape().iter().copied())
            .filter(|(_, size)| *size > 1)
            .collect();
        dimensions.sort_unstable();
        let mut reach = 0usize;
        self.count() == 0
            || dimensions.iter().all(|&(stride, size)| {
                let is_free = stride > reach;
                reach = reach.saturating_add((size - 1).saturating_mul(stride));
                is_free
            })
    }
}

/// The dimensions that several tensors of one shape are walked through in, the innermost first: dimensions of size 1 are gone,
/// and those that all tensors lay out as one are one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Walk<const N: usize> {
    pub(crate) shape: Vec<usize>,
    /// For each dimension, the stride of each tensor.
    pub(crate) strides: Vec<[usize; N]>,
}

impl<const N: usize> Walk<N> {
    /// `layouts` have one shape.
    pub(crate) fn new(layouts: &[Layout; N]) -> Walk<N> {
        let mut walk = Walk {
            shape: Vec::new(),
            strides: Vec::new(),
        };
        for axis in (0..layouts[0].rank).rev() {
            let size = layouts[0].shape[axis];
            let strides = layouts.each_ref().map(|layout| layout.strides[axis]);
            if size == 1 {
                continue;
            }
            if let (Some(inner), Some(steps)) = (walk.shape.last_mut(), walk.strides.last()) {
                let continues = |n: usize| strides[n] == steps[n].saturating_mul(*inner);
                if (0..N).all(continues) {
                    *inner = inner.saturating_mul(size);
                    continue;
                }
            }
            walk.shape.push(size);
            walk.strides.push(strides);
        }
        if walk.shape.is_empty() {
            walk.shape.push(1);
            walk.strides.push([0; N]);
        }
        walk
    }

    /// Makes the longest dimension the innermost one if the others have more positions than 32 bits count.
    pub(crate) fn shorten_others(&mut self) {
        let others = self.shape[1..]
            .iter()
            .fold(1, |count: usize, size| count.saturating_mul(*size));
        let longest = (0..self.shape.len()).max_by_key(|axis| self.shape[*axis]);
        if let (true, Some(longest)) = (u32::try_from(others).is_err(), longest) {
            self.shape.swap(0, longest);
            self.strides.swap(0, longest);
        }
    }

    /// A dimension along which a tensor lies without gaps that has gaps along the innermost one.
    pub(crate) fn transposed_axis(&self) -> Option<usize> {
        let is_transposed = |strides: &[usize; N]| {
            let inner = &self.strides[0];
            (0..N).any(|n| strides[n] == 1 && inner[n] > 1)
        };
        (1..self.strides.len()).find(|axis| is_transposed(&self.strides[*axis]))
    }
}
