//! Which layers go to which device.

use std::ops::Range;

/// Splits layers of these sizes in their order among devices with these amounts of memory, so that each device's share of the
/// weights is about its share of the memory. Each device has at least one layer: there are no more devices than layers.
pub(super) fn split(sizes: &[u64], memories: &[u64]) -> Vec<Range<usize>> {
    let sum = |values: &[u64]| values.iter().map(|&value| value as f64).sum::<f64>();
    let (bytes, memory) = (sum(sizes), sum(memories));
    let (mut end, mut before, mut share) = (0, 0.0, 0.0);
    let mut ranges = Vec::with_capacity(memories.len());
    for (device, &own) in memories.iter().enumerate() {
        let start = end;
        share += own as f64 / memory;
        // Each device after this one takes a layer.
        let last = sizes.len() - (memories.len() - device - 1);
        let is_last_device = last == sizes.len();
        // A layer is before the boundary if more than half of it is.
        while end < last
            && (end == start || is_last_device || before + sizes[end] as f64 / 2.0 < share * bytes)
        {
            before += sizes[end] as f64;
            end += 1;
        }
        ranges.push(start..end);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn shares_of_weights_are_those_of_memory() {
        assert_eq!(
            split(&[10; 8], &[5]).as_slice(),
            std::slice::from_ref(&(0..8))
        );
        assert_eq!(split(&[10; 8], &[7, 7]), [0..4, 4..8]);
        assert_eq!(split(&[10; 8], &[30, 10]), [0..6, 6..8]);
        assert_eq!(split(&[10; 8], &[1, 1, 2]), [0..2, 2..4, 4..8]);
        // The last layer is as large as all others.
        assert_eq!(split(&[10, 10, 10, 30], &[1, 1]), [0..3, 3..4]);
    }

    #[test]
    fn each_device_has_a_layer() {
        assert_eq!(split(&[10; 3], &[1 << 40, 1, 1]), [0..1, 1..2, 2..3]);
        assert_eq!(split(&[10; 4], &[1, 1, 1 << 40]), [0..1, 1..2, 2..4]);
        assert_eq!(split(&[0; 4], &[0, 0]), [0..1, 1..4]);
        for devices in 1..=6 {
            let ranges = split(&[u64::MAX; 6], &vec![u64::MAX; devices]);
            assert!(ranges.iter().all(|range| !range.is_empty()), "{ranges:?}");
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((ranges[0].start, ranges[devices - 1].end), (0, 6));
        }
    }
}
