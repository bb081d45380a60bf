//! Collectives of several processes. This program starts itself under `mpirun`, once for each scenario and number of ranks.
//!
//! Usage: ranks [PART OF A NAME]...

mod failures;
mod forms;
mod launch;
mod mistakes;
mod model;
mod random;
mod ranks;
mod speed;
mod under_way;

use std::process::ExitCode;

use ranks::Ranks;

/// What the ranks of one `mpirun` do.
struct Scenario {
    name: &'static str,
    /// Numbers of ranks.
    sizes: &'static [usize],
    run: fn(&Ranks),
    /// How many ranks end otherwise than by returning.
    victims: usize,
}

const ALL: &[usize] = &[1, 2, 3, 4, 8];
const SOME: &[usize] = &[2, 3];

const SCENARIOS: &[Scenario] = &[
    works("random_sequences", ALL, random::sequences),
    works("forms", ALL, forms::all),
    works("mistakes", SOME, mistakes::all),
    works("under_way", &[1, 2, 4], under_way::all),
    works("slow_ranks", SOME, failures::slow_rank),
    works("gpu_failures", SOME, failures::gpu),
    works("aborts", SOME, failures::abort),
    works("leaves", SOME, failures::leave),
    works("timeouts", SOME, failures::timeout),
    works("late_ranks", SOME, failures::late),
    kills("killed_before", SOME, failures::killed_before),
    kills(
        "killed_while_it_waits",
        SOME,
        failures::killed_while_it_waits,
    ),
    kills("killed_in_a_transfer", SOME, failures::killed_in_a_transfer),
];

/// Run only if they are named.
const MEASUREMENTS: &[Scenario] = &[
    works("latency", &[2], speed::latency),
    works("plain_mpi", &[2], |_| {
        unreachable!("it has no communicator")
    }),
];

const fn works(name: &'static str, sizes: &'static [usize], run: fn(&Ranks)) -> Scenario {
    Scenario {
        name,
        sizes,
        run,
        victims: 0,
    }
}

const fn kills(name: &'static str, sizes: &'static [usize], run: fn(&Ranks)) -> Scenario {
    Scenario {
        name,
        sizes,
        run,
        victims: 1,
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    if let Ok(name) = std::env::var(launch::SCENARIO) {
        run(&name);
        return ExitCode::SUCCESS;
    }
    if !metal_bridge::is_available() {
        println!("ranks: there is no Metal");
        return ExitCode::SUCCESS;
    }
    let is_named = |scenario: &&Scenario| arguments.iter().any(|part| scenario.name.contains(part));
    let measurements = MEASUREMENTS.iter().filter(is_named);
    let scenarios = SCENARIOS
        .iter()
        .filter(|scenario| arguments.is_empty() || is_named(scenario));
    let runs = scenarios.chain(measurements).flat_map(|scenario| {
        scenario
            .sizes
            .iter()
            .map(|size| (scenario.name, *size, scenario.victims))
    });
    launch::all(runs)
}

/// As one rank.
fn run(name: &str) {
    if name == "plain_mpi" {
        return speed::plain();
    }
    let mut all = SCENARIOS.iter().chain(MEASUREMENTS);
    let scenario = all
        .find(|scenario| scenario.name == name)
        .expect("a scenario");
    let ranks = Ranks::join();
    (scenario.run)(&ranks);
    ranks.passed();
}
