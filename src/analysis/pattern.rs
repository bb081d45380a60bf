//! [`detect_access_pattern`]: which order offsets or indices follow.

/// Which order the offsets of threads follow, from each thread to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessPattern {
    /// All are equal, or there is one.
    Broadcast,
    /// All steps are one.
    Sequential,
    /// All steps are equal; below zero if they go backwards.
    Strided {
        /// The step.
        stride: i64,
    },
    /// Steps differ.
    Gathered,
}

/// The pattern of indices, or of offsets in bytes, in the threads' order; `None` if there are no indices. A stride counts in whatever the
/// numbers count. Steps that 64 bits do not hold make the pattern a gathered one.
///
/// ```
/// use metal_bridge::analysis::{AccessPattern, detect_access_pattern};
///
/// assert_eq!(detect_access_pattern(&[7, 8, 9]), Some(AccessPattern::Sequential));
/// assert_eq!(detect_access_pattern(&[9, 6, 3]), Some(AccessPattern::Strided { stride: -3 }));
/// assert_eq!(detect_access_pattern(&[0, 1, 0]), Some(AccessPattern::Gathered));
/// ```
pub fn detect_access_pattern(indices: &[u64]) -> Option<AccessPattern> {
    let step = |pair: &[u64]| i64::try_from(i128::from(pair[1]) - i128::from(pair[0])).ok();
    let mut steps = indices.windows(2).map(step);
    let first = match indices {
        [] => return None,
        [_] => Some(0),
        _ => steps.next().flatten(),
    };
    let is_steady = steps.all(|step| step == first);
    Some(match first {
        Some(0) if is_steady => AccessPattern::Broadcast,
        Some(1) if is_steady => AccessPattern::Sequential,
        Some(stride) if is_steady => AccessPattern::Strided { stride },
        _ => AccessPattern::Gathered,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccessPattern::*;

    #[test]
    fn patterns_are_those_of_the_steps() {
        let far = [0, u64::MAX, 0];
        let cases: [(&[u64], Option<AccessPattern>); 9] = [
            (&[], None),
            (&[5], Some(Broadcast)),
            (&[5, 5, 5], Some(Broadcast)),
            (&[5, 6, 7], Some(Sequential)),
            (&[7, 6, 5], Some(Strided { stride: -1 })),
            (&[5, 6, 8], Some(Gathered)),
            (&[5, 5, 6], Some(Gathered)),
            (&far, Some(Gathered)),
            (&far[..2], Some(Gathered)),
        ];
        for (indices, expected) in cases {
            assert_eq!(detect_access_pattern(indices), expected, "{indices:?}");
        }
    }

    #[test]
    fn every_stride_is_found_and_every_other_element_spoils_it() {
        for stride in 2..=64 {
            let mut indices: Vec<u64> =
                (0..32).map(|thread| 100 + thread * stride as u64).collect();
            assert_eq!(detect_access_pattern(&indices), Some(Strided { stride }));
            for index in 0..indices.len() {
                indices[index] += 1;
                assert_eq!(detect_access_pattern(&indices), Some(Gathered), "{index}");
                indices[index] -= 1;
            }
        }
    }
}
