use super::*;
use crate::analysis::{MeetingProfile, Object, ObjectProfile, OperationProfile, Operations};

fn m1() -> Gpu {
    Gpu::named("m1").unwrap()
}

fn object() -> Object {
    Object {
        space: Space::Buffer,
        name: "in".to_owned(),
        argument: 0,
    }
}

/// 10 SIMD-groups read 100 lines at a stride, where 10 would do.
fn strided() -> KernelProfile {
    let access = r#"{"file": "f", "line": 3, "function": "k", "instruction": 9, "space": "buffer", "object": "in",
        "argument": 0, "size": 4, "writes": false, "atomic": false, "collective": false, "executions": 10, "lanes": 320,
        "all_lanes": 320, "bytes": 1280, "lines_of_64": 100, "lines_of_128": 100, "least_lines_of_128": 10,
        "misaligned": 0, "turns": 0, "least_turns": 0, "broadcast": 0, "sequential": 0, "strided": 10, "gathered": 0,
        "strides": [[40, 10]], "unmatched": 0}"#;
    KernelProfile {
        name: "k".to_owned(),
        launches: 1,
        threadgroups: 10,
        simdgroups: 10,
        threads: 320,
        threads_per_threadgroup: [32, 1, 1],
        accesses: vec![serde_json::from_str(access).unwrap()],
        ..KernelProfile::default()
    }
}

/// 40 lines that are read five times each.
fn read_object() -> ObjectProfile {
    ObjectProfile {
        object: object(),
        launches: 1,
        length: 4096,
        asked_to_read: 5120,
        asked_to_write: 0,
        read: 1024,
        written: 0,
        lines_read: 40,
        lines_written: 0,
        complete: true,
    }
}

/// So many operations of `float` on a line.
fn operations(line: u32, float: u64) -> OperationProfile {
    OperationProfile {
        at: SourceLine {
            file: "f".to_owned(),
            line,
            ..SourceLine::default()
        },
        operations: Operations {
            float,
            ..Operations::default()
        },
    }
}

/// Each advice with its gain in percent.
fn advice(kernel: KernelProfile) -> Vec<(Advice, f64)> {
    let profile = Profile {
        version: 1,
        kernels: vec![kernel],
    };
    let all = optimization_recommendations(&profile, &CoreLimits::apple7(8), &m1());
    let rounded = |one: Recommendation| (one.advice, (100.0 * one.gain).round());
    all.into_iter().map(rounded).collect()
}

#[test]
fn each_figure_leads_to_its_advice() {
    assert_eq!(advice(strided()), [(Advice::Coalesce, 90.0)]);

    let mut kernel = strided();
    kernel.accesses[0].lanes = 160;
    assert_eq!(
        advice(kernel),
        [(Advice::Coalesce, 90.0), (Advice::Converge, 50.0)]
    );

    let mut kernel = strided();
    kernel.accesses[0].atomic = true;
    kernel.accesses[0].broadcast = 10;
    assert_eq!(advice(kernel), [(Advice::CombineAtomics, 97.0)]);

    let mut kernel = strided();
    kernel.accesses[0].strided = 0;
    kernel.accesses[0].sequential = 10;
    kernel.accesses[0].strides.clear();
    kernel.accesses[0].lines_of_128 = 20;
    kernel.accesses[0].misaligned = 10;
    assert_eq!(advice(kernel), [(Advice::Align, 50.0)]);

    // 100 turns, where 10 would do.
    let mut kernel = strided();
    kernel.accesses[0].object.space = Space::Threadgroup;
    kernel.accesses[0].lines_of_64 = 0;
    kernel.accesses[0].lines_of_128 = 0;
    kernel.accesses[0].least_lines_of_128 = 0;
    kernel.accesses[0].turns = 100;
    kernel.accesses[0].least_turns = 10;
    assert_eq!(advice(kernel), [(Advice::AvoidBankConflicts, 90.0)]);

    let mut kernel = strided();
    kernel.threads = 80;
    assert_eq!(
        advice(kernel),
        [(Advice::Coalesce, 90.0), (Advice::FillSimdgroups, 75.0)]
    );
}

#[test]
fn the_whole_kernel_is_advised_too() {
    let mut kernel = strided();
    kernel.objects.push(read_object());
    kernel.barriers.push(MeetingProfile {
        at: SourceLine::default(),
        executions: 1,
        lanes: 320,
        all_lanes: 320,
        work: 30,
        full_work: 40,
    });
    kernel.threadgroups = 1000;
    kernel.threadgroup_memory = 32 << 10;
    let expected = [
        (Advice::Coalesce, 90.0),
        (Advice::Reuse, 60.0),
        (Advice::Occupy, 48.0),
        (Advice::Balance, 25.0),
    ];
    assert_eq!(advice(kernel), expected);
}

#[test]
fn nothing_is_advised_where_nothing_can_be_gained() {
    let mut kernel = strided();
    kernel.accesses[0].lines_of_128 = 10;
    assert_eq!(advice(kernel), []);
    assert_eq!(advice(KernelProfile::default()), []);
}

/// On M1 4,894.1 operations take as long as a line: 244,706 as long as 50 of the 100 lines that SIMD-groups touch, and
/// of the 40 that there are.
#[test]
fn what_limits_a_kernel_bounds_what_is_gained() {
    let of_strided = |operations: Vec<OperationProfile>| {
        let mut kernel = strided();
        kernel.objects.push(ObjectProfile {
            asked_to_read: 1280,
            ..read_object()
        });
        kernel.operations = operations;
        kernel
    };
    let all = |kernel: &KernelProfile, gpu: &str| {
        let profile = Profile {
            version: 1,
            kernels: vec![kernel.clone()],
        };
        let gpu = Gpu::named(gpu).unwrap();
        optimization_recommendations(&profile, &CoreLimits::apple7(8), &gpu)
    };
    // Memory limits: half of the 40 lines can be saved.
    let kernel = of_strided(vec![operations(4, 320)]);
    let expected = [(Advice::Coalesce, 90.0), (Advice::MoveLess, 20.0)];
    assert_eq!(advice(kernel.clone()), expected);
    assert_eq!(
        all(&kernel, "M1")[1].to_string(),
        "f:3 (kernel k): saves up to 20 %: estimated of the published peaks of M1, memory limits the kernel: 0.06 \
         operations a byte, and the ridge is 38.2; 'in' is 100 % of the bytes; let its elements take half as many bytes, \
         or compute them where they are used; less arithmetic gains nothing"
    );
    // 30 lines' worth of operations leave 70 of 90 lines to gain, and 10 of 20.
    let kernel = of_strided(vec![operations(4, 146_824)]);
    let expected = [(Advice::Coalesce, 70.0), (Advice::MoveLess, 10.0)];
    assert_eq!(advice(kernel), expected);
    // Arithmetic limits: of 50 lines' worth of operations 10 can go before memory limits it.
    let kernel = of_strided(vec![operations(4, 44_706), operations(5, 200_000)]);
    let expected = [(Advice::Coalesce, 50.0), (Advice::ComputeLess, 10.0)];
    assert_eq!(advice(kernel.clone()), expected);
    assert_eq!(
        all(&kernel, "M1")[1].to_string(),
        "f:5 (kernel k): saves up to 10 %: estimated of the published peaks of M1, arithmetic limits the kernel: \
         47.79 operations a byte, and the ridge is 38.2; 82 % of the operations are here; take out of loops what does not \
         change, or compute it once for several threads; fewer bytes gain nothing"
    );
    // Nothing is said of it where not all bytes were counted.
    let mut incomplete = kernel.clone();
    incomplete.objects[0].complete = false;
    assert_eq!(advice(incomplete), [(Advice::Coalesce, 50.0)]);
    // On a chip with a lower ridge it computes for longer, and arithmetic comes first.
    assert_eq!(all(&kernel, "M1 Pro")[0].advice, Advice::ComputeLess);
    // Ten lines' worth more than all lines: nothing is gained by lines.
    let kernel = of_strided(vec![operations(5, 538_353)]);
    assert_eq!(advice(kernel), [(Advice::ComputeLess, 64.0)]);
}
