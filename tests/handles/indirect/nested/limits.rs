//! Queues that overflow, levels that do not suffice, and what is refused.

use metal_bridge::indirect::MAX_INDIRECT_COMMANDS;
use metal_bridge::indirect::nested::MAX_NESTED_BUFFERS;

use super::*;

fn invalid_argument(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

/// A root that launches `children`, which launch as many each, of this function and these sizes.
fn spread(children: u32, function: u32, threads: u32, group: u32) -> NestedLaunch {
    NestedLaunch::new(0, 4, 4, &[children, function, threads, group]).unwrap()
}

#[test]
fn overflows_of_the_queue_and_of_levels_are_errors() {
    for by_gpu in [true, false] {
        let launched = filled(&[0u32, 0xabcd]);
        let run = |kernels: &NestedKernels, roots: &[NestedLaunch]| {
            launched.wait_copy_from_slice(0, &[0u32]).unwrap();
            let result = run_from(kernels, by_gpu, roots, &[&launched]);
            (result, launched.wait_read::<u32>().unwrap()[0])
        };
        // 1 + 3 + 9 + 27 launches.
        let exact = kernels("spread", 40, 4);
        let (result, ran) = run(&exact, &[spread(3, 0, 4, 4)]);
        assert_error(
            result,
            out_of_range,
            "the queue has places for 40 launches: 81 more",
        );
        assert_eq!(ran, 40);
        let few = kernels("spread", 39, 4);
        let (result, ran) = run(&few, &[spread(3, 0, 4, 4)]);
        assert_error(result, out_of_range, "dropped");
        assert_eq!(ran, 39);
        let shallow = kernels("spread", 200, 3);
        let (result, ran) = run(&shallow, &[spread(3, 0, 4, 4)]);
        assert_error(result, out_of_range, "27 launches are left after 3 levels");
        assert_eq!(ran, 13);
        // The next run begins anew, also with several roots and with none.
        let (result, ran) = run(&shallow, &[spread(0, 0, 1, 1), spread(0, 0, 1, 1)]);
        let result = result.unwrap();
        assert_eq!((result.levels, result.launches, ran), (1, 2, 2));
        let (result, ran) = run(&shallow, &[]);
        assert_eq!((result.unwrap().launches, ran), (0, 0));
    }
}

#[test]
fn before_a_run_there_is_no_outcome() {
    let kernels = kernels("spread", 4, 1);
    let no_run = |error: &Error| matches!(error, Error::InvalidState(_));
    assert_error(kernels.outcome(), no_run, "no run was encoded");
    let launched = filled(&[0u32]);
    let too_many = [spread(0, 0, 1, 1); 5];
    run_from(&kernels, true, &too_many, &[&launched]).unwrap_err();
    assert_error(kernels.outcome(), no_run, "no run was encoded");
    run_from(&kernels, true, &[], &[&launched]).unwrap();
    assert_eq!(kernels.outcome().unwrap().launches, 0);
}

#[test]
fn launches_that_cannot_run_are_counted() {
    for by_gpu in [true, false] {
        let launched = filled(&[0u32]);
        let kernels = kernels("spread", 20, 3);
        for (function, threads, group, refused) in [
            (1, 4, 4, true),
            (u32::MAX, 4, 4, true),
            (0, 4, 0, true),
            (0, 4, 1 << 20, true),
            (0, 0, 0, false),
        ] {
            launched.wait_copy_from_slice(0, &[0u32]).unwrap();
            let root = spread(2, function, threads, group);
            let result = run_from(&kernels, by_gpu, &[root], &[&launched]);
            match refused {
                true => assert_error(result, invalid_argument, "2 launches were refused"),
                false => assert_eq!(result.unwrap().launches, 3),
            }
            assert_eq!(launched.wait_read::<u32>().unwrap()[0], 1);
        }
    }
}

#[test]
fn a_program_that_cannot_be_is_refused() {
    let new = |functions: &[ComputePipeline], launches, levels| {
        let limits = NestedLimits { launches, levels };
        NestedKernels::new(device(), functions, limits)
    };
    let function = || indirect("increment");
    assert_error(new(&[], 1, 1), out_of_range, "0 functions");
    assert_error(new(&[function()], 0, 1), out_of_range, "0 launches");
    assert_error(new(&[function()], 1, 0), out_of_range, "0 levels");
    let many = MAX_INDIRECT_COMMANDS + 1;
    assert_error(new(&[function()], many, 1), out_of_range, "16385 launches");
    assert_error(
        new(&[pipeline("increment")], 1, 1),
        invalid_argument,
        "indirect",
    );
    let arguments = NestedLaunch::new(0, 1, 1, &[0; 9]);
    assert_error(arguments, out_of_range, "9 arguments");
    let threads = NestedLaunch::new(0, 1 << 32, 1, &[]);
    assert_error(threads, out_of_range, "4294967296");

    let kernels = kernels("spread", 4, 2);
    let launched = filled(&[0u32]);
    let run = |roots: usize, buffers: usize| {
        let roots = vec![spread(0, 0, 1, 1); roots];
        run_from(&kernels, true, &roots, &vec![&launched; buffers])
    };
    assert_error(run(5, 1), out_of_range, "5 launches");
    assert_error(run(1, MAX_NESTED_BUFFERS + 1), out_of_range, "9 buffers");
    let mut command_buffer = queue().command_buffer().unwrap();
    let root = [spread(0, 0, 1, 1)];
    // SAFETY: the kernel adds to the one number that there is.
    unsafe {
        kernels
            .encode(&mut command_buffer, &root, &[&launched])
            .unwrap()
    };
    assert_error(run(1, 1), in_use, "");
    command_buffer.commit().unwrap();
    assert_eq!(kernels.outcome().unwrap().launches, 1);
    assert_eq!(run(1, MAX_NESTED_BUFFERS).unwrap().launches, 1);
    if let Some(far) = other_device() {
        let wrong = |e: &Error| matches!(e, Error::WrongDevice(_));
        let limits = NestedLimits {
            launches: 1,
            levels: 1,
        };
        assert_error(
            NestedKernels::new(far, &[function()], limits),
            wrong,
            "device",
        );
    }
}

/// Each run counts its launches in a buffer of its own.
#[test]
fn threads_do_not_run_each_others_launches() {
    for by_gpu in [true, false] {
        let shared = kernels("spread", 40, 3);
        std::thread::scope(|scope| {
            for children in 1..=3u32 {
                let shared = &shared;
                scope.spawn(move || {
                    let expected = 1 + children + children * children;
                    for _ in 0..300 {
                        let launched = filled(&[0u32]);
                        let roots = [spread(children, 0, 4, 4)];
                        match run_from(shared, by_gpu, &roots, &[&launched]) {
                            // The launches of the last level are those that are left.
                            Err(Error::OutOfRange(failure)) => {
                                let left = children.pow(3);
                                let text = format!("{left} launches are left after 3 levels");
                                assert!(failure.to_string().contains(&text), "{failure}");
                                assert_eq!(launched.wait_read::<u32>().unwrap()[0], expected);
                            }
                            Err(Error::InUse(_)) => {
                                assert_eq!(launched.wait_read::<u32>().unwrap()[0], 0);
                            }
                            result => panic!("{result:?}"),
                        }
                    }
                });
            }
        });
    }
}
