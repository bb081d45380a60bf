//! Thousands of random programs (`program.rs`), also on a software Metal that reorders what it may, or is late.

use metal_bridge_test_support::in_child_with;

use crate::program::Program;

/// Two stages of continuous integration run these programs, with and without AddressSanitizer. So that each program runs once,
/// `METAL_BRIDGE_PROGRAMS` names those with `even` or with `odd` seeds; without it all run.
fn run(devices: usize, seeds: std::ops::Range<u64>) {
    let chosen = std::env::var("METAL_BRIDGE_PROGRAMS").ok();
    let runs = |seed: &u64| match chosen.as_deref() {
        None => true,
        Some("even") => seed % 2 == 0,
        Some("odd") => seed % 2 == 1,
        Some(other) => panic!("METAL_BRIDGE_PROGRAMS is `even` or `odd`, not `{other}`"),
    };
    let mut program = Program::new(devices);
    for seed in seeds.filter(runs) {
        program.run(seed);
    }
}

#[test]
fn programs_agree_with_the_model() {
    // A process of its own: other tests' streams hold the legacy one up.
    in_child_with(
        "random_programs::programs_agree_with_the_model",
        &[],
        || run(1, 0..1200),
    );
}

#[test]
fn programs_agree_with_the_model_when_reordered() {
    let test = "random_programs::programs_agree_with_the_model_when_reordered";
    let variables = [
        ("SOFTWARE_METAL_SHUFFLE", "7"),
        ("SOFTWARE_METAL_POISON", "1"),
    ];
    in_child_with(test, &variables, || run(1, 10_000..11_200));
}

#[test]
fn programs_agree_with_the_model_when_late() {
    let test = "random_programs::programs_agree_with_the_model_when_late";
    in_child_with(test, &[("SOFTWARE_METAL_DELAY", "200")], || {
        run(1, 30_000..30_300)
    });
}

#[test]
fn programs_agree_with_the_model_on_two_devices() {
    let test = "random_programs::programs_agree_with_the_model_on_two_devices";
    let variables = [("SOFTWARE_METAL_DEVICES", "2")];
    in_child_with(test, &variables, || run(2, 0..500));
}

#[test]
fn programs_agree_with_the_model_on_reordered_peers() {
    let test = "random_programs::programs_agree_with_the_model_on_reordered_peers";
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_SHUFFLE", "11"),
        ("SOFTWARE_METAL_POISON", "1"),
    ];
    in_child_with(test, &variables, || run(2, 20_000..20_500));
}
