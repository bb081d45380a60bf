//! The side that calls `mpirun`.

use std::env;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// Names the scenario to a rank.
pub const SCENARIO: &str = "METAL_BRIDGE_RANKS_SCENARIO";

/// What a rank says at its end.
pub const PASSED: &str = "has passed";

/// Longer than any scenario takes on a machine that is busy.
const LIMIT: &str = "900";

/// Runs these scenarios, each with a number of ranks, of which some may be killed.
pub fn all<'s>(runs: impl Iterator<Item = (&'s str, usize, usize)>) -> ExitCode {
    let (mut count, mut failed) = (0, 0);
    for (name, size, victims) in runs {
        let start = Instant::now();
        let output = one(name, size);
        let passed = output.matches(PASSED).count();
        count += 1;
        if passed == size - victims && !output.contains("panicked") {
            println!(
                "test {name} with {size} ranks ... ok ({:.1} s)",
                start.elapsed().as_secs_f64()
            );
            if env::var_os("METAL_BRIDGE_RANKS_OUTPUT").is_some() {
                println!("{output}");
            }
        } else {
            failed += 1;
            println!(
                "test {name} with {size} ranks ... FAILED: {passed} ranks have passed\n{output}"
            );
        }
    }
    println!("ranks: {} of {count} passed", count - failed);
    ExitCode::from(u8::from(failed > 0))
}

/// What the ranks of one `mpirun` print.
fn one(name: &str, size: usize) -> String {
    let program = env::current_exe().expect("a path");
    // A rank that is killed is not to kill the others: they have to find out.
    let output = Command::new("timeout")
        .args([
            LIMIT,
            "mpirun",
            "--enable-recovery",
            "--oversubscribe",
            "--tag-output",
        ])
        .args(["--mca", "mpi_yield_when_idle", "1", "--bind-to", "none"])
        .args(["--mca", "btl_base_warn_component_unused", "0"])
        .args(["-n", &size.to_string()])
        .arg(program)
        .env(SCENARIO, name)
        .env("RUST_BACKTRACE", "0")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .stdin(Stdio::null())
        .output()
        .expect("mpirun: `scripts/setup distributed` installs it");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).into_owned()
}
