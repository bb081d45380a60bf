//! What every profile that was counted fulfils. Files come from anywhere, and what computes with their figures trusts them.

use serde_json::Value;

use super::profile::{AccessProfile, BranchProfile, MeetingProfile, Profile};

/// No figure is larger: days of counting do not come so far, and sums of as many figures as there may be stay below 2^63.
const LARGEST: u64 = 1 << 42;

/// Entries of a list.
const MOST_ENTRIES: usize = 1 << 14;

/// Strides of one access.
pub(super) const MOST_STRIDES: usize = 128;

/// What is wrong with the numbers and lists of a profile's text, before anything is made of them.
pub(super) fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) if number.as_u64().is_some_and(|number| number > LARGEST) => {
            Err(format!("the number {number} is too large for a figure"))
        }
        Value::Array(entries) if entries.len() > MOST_ENTRIES => {
            let count = entries.len();
            Err(format!(
                "a list has {count} entries, more than {MOST_ENTRIES}"
            ))
        }
        Value::Array(entries) => entries.iter().try_for_each(check_numbers),
        Value::Object(members) => members.iter().try_for_each(|(name, member)| match &**name {
            "strides" => check_strides(member),
            _ => check_numbers(member),
        }),
        _ => Ok(()),
    }
}

/// Strides themselves are distances between any addresses.
fn check_strides(strides: &Value) -> Result<(), String> {
    let strides = strides.as_array().map_or(&[][..], Vec::as_slice);
    if strides.len() > MOST_STRIDES {
        let count = strides.len();
        return Err(format!(
            "an access has {count} strides, more than {MOST_STRIDES}"
        ));
    }
    strides.iter().try_for_each(|pair| check_numbers(&pair[1]))
}

/// What is wrong with figures that belong together.
pub(super) fn check_figures(profile: &Profile) -> Result<(), String> {
    for kernel in &profile.kernels {
        let name = &kernel.name;
        let is_possible = kernel.accesses.iter().all(is_possible_access)
            && kernel.branches.iter().all(is_possible_branch)
            && kernel.barriers.iter().all(is_possible_meeting)
            && kernel.simd_functions.iter().all(is_possible_meeting);
        if !is_possible {
            return Err(format!(
                "figures of the kernel {name:?} exceed those that they are a part of"
            ));
        }
        let threads = kernel.threads_per_threadgroup.map(u64::from);
        if threads
            .iter()
            .fold(1u64, |product, &size| product.saturating_mul(size))
            > 1024
        {
            return Err(format!(
                "the kernel {name:?} has threadgroups of more than 1024 threads"
            ));
        }
    }
    Ok(())
}

fn is_possible_access(access: &AccessProfile) -> bool {
    access.lanes <= access.all_lanes
        && access.least_turns <= access.turns
        && access.least_lines_of_128 <= access.lines_of_128
}

fn is_possible_branch(branch: &BranchProfile) -> bool {
    branch.lanes <= branch.all_lanes
        && branch.taken <= branch.lanes
        && branch.diverged <= branch.executions
}

fn is_possible_meeting(meeting: &MeetingProfile) -> bool {
    meeting.lanes <= meeting.all_lanes && meeting.work <= meeting.full_work
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CoreLimits, Gpu, optimization_recommendations};
    use serde_json::json;

    /// A profile of one kernel with one access and one barrier.
    fn profile() -> Value {
        let at = json!({"file": "k.metal", "line": 1, "function": "k", "instruction": 4});
        let mut access = json!({
            "space": "buffer", "object": "x", "argument": 0, "size": 4, "writes": false, "atomic": false,
            "collective": false, "executions": 2, "lanes": 64, "all_lanes": 64, "bytes": 256, "lines_of_64": 4,
            "lines_of_128": 2, "least_lines_of_128": 2, "misaligned": 0, "turns": 0, "least_turns": 0, "broadcast": 0,
            "sequential": 2, "strided": 0, "gathered": 0, "strides": [[-(1i64 << 46), 1]], "unmatched": 0,
        });
        let mut barrier =
            json!({"executions": 1, "lanes": 64, "all_lanes": 64, "work": 8, "full_work": 8});
        let mut operation =
            json!({"float": 8, "half": 0, "bfloat": 0, "int": 4, "long": 0, "functions": 1});
        let mut branch = json!({
            "executions": 2, "lanes": 60, "all_lanes": 64, "taken": 30, "diverged": 1, "unmatched": 0,
        });
        for value in [&mut access, &mut barrier, &mut operation, &mut branch] {
            let members = value.as_object_mut().unwrap();
            members.extend(at.as_object().unwrap().clone());
        }
        json!({"version": 1, "kernels": [{
            "name": "k", "launches": 1, "threadgroups": 1, "simdgroups": 2, "threads": 64, "grid": [64, 1, 1],
            "threads_per_threadgroup": [64, 1, 1], "threadgroup_memory": 0, "accesses": [access], "barriers": [barrier],
            "simd_functions": [], "operations": [operation], "branches": [branch], "objects": [],
        }]})
    }

    #[test]
    fn what_was_counted_is_plausible() {
        let read = Profile::from_json(&profile().to_string()).unwrap();
        assert_eq!(read.kernels[0].accesses[0].lanes, 64);
        assert_eq!(read.kernels[0].all_operations().floating_point(), 9);
    }

    #[test]
    fn figures_that_nobody_counted_are_refused() {
        let strides = json!(vec![(4, 1); MOST_STRIDES + 1]);
        for (place, figure) in [
            ("/kernels/0/accesses/0/all_lanes", json!(63)),
            ("/kernels/0/accesses/0/least_turns", json!(1)),
            ("/kernels/0/accesses/0/least_lines_of_128", json!(3)),
            ("/kernels/0/accesses/0/bytes", json!(u64::MAX)),
            ("/kernels/0/accesses/0/strides", strides),
            ("/kernels/0/accesses/0/strides/0/1", json!(LARGEST + 1)),
            ("/kernels/0/barriers/0/full_work", json!(7)),
            ("/kernels/0/branches/0/all_lanes", json!(59)),
            ("/kernels/0/branches/0/taken", json!(61)),
            ("/kernels/0/branches/0/diverged", json!(3)),
            ("/kernels/0/operations/0/float", json!(LARGEST + 1)),
            ("/kernels/0/simdgroups", json!(LARGEST + 1)),
            (
                "/kernels/0/threads_per_threadgroup",
                json!([u32::MAX, u32::MAX, u32::MAX]),
            ),
        ] {
            let mut wrong = profile();
            *wrong.pointer_mut(place).unwrap() = figure;
            let error = Profile::from_json(&wrong.to_string()).unwrap_err();
            assert!(
                matches!(error, crate::Error::InvalidArgument(_)),
                "{place}: {error}"
            );
        }
    }

    #[test]
    fn the_largest_figures_give_advice() {
        let mut large = profile();
        let kernel = &mut large["kernels"][0];
        for figure in [
            "launches",
            "threadgroups",
            "simdgroups",
            "threads",
            "threadgroup_memory",
        ] {
            kernel[figure] = json!(LARGEST);
        }
        for (list, figures) in [
            (
                "accesses",
                &[
                    "executions",
                    "lanes",
                    "all_lanes",
                    "bytes",
                    "lines_of_64",
                    "lines_of_128",
                    "turns",
                ][..],
            ),
            (
                "barriers",
                &["executions", "lanes", "all_lanes", "work", "full_work"],
            ),
            (
                "operations",
                &["float", "half", "bfloat", "int", "long", "functions"],
            ),
            (
                "branches",
                &["executions", "lanes", "all_lanes", "taken", "diverged"],
            ),
        ] {
            for figure in figures {
                kernel[list][0][figure] = json!(LARGEST);
            }
            let entry = kernel[list][0].clone();
            kernel[list] = json!(vec![entry; MOST_ENTRIES]);
        }
        let read = Profile::from_json(&large.to_string()).unwrap();
        let m1 = Gpu::named("M1").unwrap();
        assert!(!optimization_recommendations(&read, &CoreLimits::apple7(8), &m1).is_empty());
        let kernel = &read.kernels[0];
        assert_eq!(kernel.accesses_by_line().len(), 1);
        assert_eq!(kernel.branches_by_line().len(), 1);
        let most = LARGEST * MOST_ENTRIES as u64;
        assert_eq!(kernel.all_operations().floating_point(), 4 * most);
    }
}
