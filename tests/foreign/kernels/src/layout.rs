//! Where elements of a tensor lie: shapes, strides, and the order in which kernels number elements.

/// The strides of a tensor whose elements follow each other, the last dimension fastest.
pub fn contiguous(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension] * shape[dimension];
    }
    strides
}

/// For each element of a tensor, in order, where it lies.
pub fn indices(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (length, stride) in shape.iter().zip(strides) {
        offsets = offsets
            .iter()
            .flat_map(|offset| (0..*length).map(move |index| offset + index * stride))
            .collect();
    }
    offsets
}

/// How many elements a tensor has.
pub fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// How many elements a buffer needs for a tensor with these strides.
pub fn extent(shape: &[usize], strides: &[usize]) -> usize {
    1 + shape
        .iter()
        .zip(strides)
        .map(|(length, stride)| (length - 1) * stride)
        .sum::<usize>()
}

/// The elements of a tensor, in order.
pub fn gather(values: &[f64], shape: &[usize], strides: &[usize]) -> Vec<f64> {
    let offsets = indices(shape, strides);
    offsets.into_iter().map(|offset| values[offset]).collect()
}

/// Views that are not contiguous: transposed, with a dimension repeated, with gaps.
pub const VIEWS: [(&[usize], &[usize]); 4] = [
    (&[5, 37], &[1, 5]),
    (&[4, 3, 7], &[7, 0, 1]),
    (&[3, 5, 7, 2], &[14, 42, 2, 1]),
    (&[6, 33], &[40, 1]),
];
