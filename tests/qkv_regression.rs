//! The regression that this crate exists for: the buffers of Q, K and V projections, made, used and dropped on any thread,
//! must leave nothing behind and corrupt nothing.
//!
//! Each scenario runs in a process of its own, so that a crash is one failed test, the live objects are its own, and what
//! the Objective-C runtime says on standard error is seen. There it runs on the main thread, then on a thread without a
//! pool, with every way to drop; results are compared with float64.

#[cfg(not(metal_backend))]
fn main() {}

#[cfg(metal_backend)]
fn main() -> std::process::ExitCode {
    metal_bridge_test_support::main(&regression::CASES)
}

#[cfg(metal_backend)]
mod regression {
    use std::thread;

    use metal_bridge::Device;
    use metal_bridge_test_support::{
        Case, ChildOutput, SLACK, count_objects, live_objects, metal_without_pool,
        print_live_objects, resting_objects, settled_handles, settled_objects,
    };
    use metal_bridge_workloads::stress::{Drops, MAX_DEVIATION, Runner, Scenario};

    pub const CASES: [Case; 10] = [
        case("q_alone", || regression(ONE, projections(1, 1, 1))),
        case("q_and_k", || regression(ONE, projections(2, 1, 1))),
        case("q_k_and_v_for_one_token_and_one_layer", || {
            regression(ONE, ONE)
        }),
        case("five_tokens_through_22_layers", || {
            regression(ONE, projections(3, 5, 22))
        }),
        case("eighteen_buffers_alive", || {
            regression(Scenario::Alive(2), Scenario::Alive(18))
        }),
        case("a_hundred_buffers_alive", || {
            regression(Scenario::Alive(2), Scenario::Alive(100))
        }),
        case("ten_thousand_buffers_alive", || {
            regression(Scenario::Alive(2), Scenario::Alive(10_000))
        }),
        case("a_hundred_thousand_buffers_in_sequence", || {
            regression(Scenario::Sequence(100), Scenario::Sequence(100_000));
        }),
        case("a_million_buffers_in_sequence", || {
            regression(Scenario::Sequence(100), Scenario::Sequence(1_000_000));
        }),
        Case {
            name: "without_a_pool_it_is_seen",
            run: without_a_pool,
            check: it_is_seen,
            leaks: true,
        },
    ];

    const ONE: Scenario = projections(3, 1, 1);

    const fn projections(projections: usize, tokens: usize, layers: usize) -> Scenario {
        Scenario::Projections {
            projections,
            tokens,
            layers,
        }
    }

    const fn case(name: &'static str, run: fn()) -> Case {
        Case {
            name,
            run,
            check: ChildOutput::assert_clean,
            leaks: false,
        }
    }

    /// Runs `scenario` everywhere and in every way, and checks that it leaves nothing behind. `warm_up` fills the caches of
    /// everything below first.
    fn regression(warm_up: Scenario, scenario: Scenario) {
        count_objects();
        let device = Device::system_default().unwrap();
        let runner = Runner::new(&device).unwrap();
        run(&runner, warm_up);
        let objects = resting_objects();
        let handles = Device::live_objects();
        let allocated = device.current_allocated_size();

        run(&runner, scenario);

        let left = settled_objects(objects);
        if left > objects + SLACK {
            print_live_objects();
        }
        assert!(
            left <= objects + SLACK,
            "live objects went from {objects} to {left}"
        );
        let left = settled_handles(&handles);
        assert!(
            left.same_live(&handles),
            "handles went from {handles} to {left}"
        );
        assert!(device.current_allocated_size() <= allocated + SLACK as u64);
    }

    /// Runs `scenario` on this thread, the main one, and on one that never had a pool, with every way to drop.
    fn run(runner: &Runner, scenario: Scenario) {
        let all = || {
            for drops in Drops::ALL {
                let deviation = runner.run(scenario, drops).unwrap();
                assert!(
                    deviation <= MAX_DEVIATION,
                    "{scenario:?}, {drops:?}: off by {deviation:e} from float64"
                );
            }
        };
        all();
        thread::scope(|scope| scope.spawn(all).join()).expect("the scenario's thread panicked");
    }

    /// Command buffers that the negative control runs without a pool.
    const WITHOUT_POOL: usize = 100;

    /// Without a pool, the same Metal shows what the cases above look for: the reports, and the growth.
    fn without_a_pool() {
        count_objects();
        let thread = thread::spawn(|| {
            // Once first, for what is made once.
            metal_without_pool(1);
            let before = live_objects();
            assert_eq!(metal_without_pool(WITHOUT_POOL), WITHOUT_POOL);
            println!("left behind: {}", resting_objects() - before);
        });
        thread.join().unwrap();
    }

    fn it_is_seen(output: &ChildOutput) {
        assert!(output.status.success(), "{}", output.text);
        let reports = output.missing_pools();
        assert!(
            reports >= WITHOUT_POOL,
            "{reports} reports:\n{}",
            output.text
        );
        // Apple's runtime has a pool of last resort, which the end of the thread drains: nothing to count there.
        if cfg!(software_metal) {
            let counted = output
                .text
                .lines()
                .find_map(|line| line.strip_prefix("left behind: "));
            let left: usize = counted.expect("the child counts").parse().unwrap();
            assert!(
                left >= WITHOUT_POOL,
                "{left} objects left behind by {WITHOUT_POOL} command buffers"
            );
        }
    }
}
