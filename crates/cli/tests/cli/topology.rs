//! `metal-bridge topology`: what it prints of devices and pairs, and how it exits.

use std::process::{Command, Stdio};

use metal_bridge_test_support::Printed;

fn topology(arguments: &[&str], variables: &[(&str, &str)]) -> Printed {
    let mut command = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
    command.arg("topology").args(arguments);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    command.output().unwrap().into()
}

/// Words of each line, with one space between them.
fn lines(text: &str) -> Vec<String> {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(squeezed).collect()
}

#[test]
fn a_machine_has_a_topology() {
    let printed = topology(&[], &[]).exits_with(0);
    assert!(lines(&printed.out)[1].starts_with("0 X"), "{}", printed.out);
    let report = topology(&["--json"], &[]).exits_with(0).json();
    assert_eq!(report["links"][0][0], "same");
    assert!(report["devices"][0]["registry_id"].as_u64().unwrap() > 0);
    assert!(report["measured"].is_null());
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [
        &["--bytes", "4"][..],
        &["--repeats", "1"],
        &["--measure", "--bytes", "0"],
        &["--measure", "--bytes", "6"],
        &["--measure", "--bytes", "x"],
        &["--measure", "--repeats", "0"],
        &["--device", "0"],
    ] {
        let printed = topology(arguments, &[]).exits_with(2);
        assert!(printed.out.is_empty(), "{}", printed.out);
    }
    let most = (usize::MAX & !3).to_string();
    let printed = topology(&["--measure", "--bytes", &most], &[]).exits_with(1);
    assert!(printed.err.starts_with("metal-bridge: "), "{}", printed.err);
}

#[cfg(software_metal)]
mod on_software_devices {
    use super::*;

    const PEERS: [(&str, &str); 4] = [
        ("SOFTWARE_METAL_DEVICES", "3"),
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
        ("SOFTWARE_METAL_LINK", "0.5,1000"),
    ];

    #[test]
    fn links_are_a_matrix() {
        let printed = topology(&[], &PEERS).exits_with(0);
        let expected = ["0 1 2", "0 X PEER PEER", "1 PEER X PEER", "2 PEER PEER X"];
        assert_eq!(lines(&printed.out)[..4], expected, "{}", printed.out);
        let device = "1: Software Metal 2, slot 1, memory of its own, at most 0.5 GB/s to system memory, 1 of 3 in peer group ";
        let has_line = |start| printed.out.lines().any(|line| line.starts_with(start));
        assert!(has_line(device), "{}", printed.out);

        let printed = topology(&[], &PEERS[..1]).exits_with(0);
        let expected = ["0 1 2", "0 X HOST HOST", "1 HOST X HOST", "2 HOST HOST X"];
        assert_eq!(lines(&printed.out)[..4], expected, "{}", printed.out);
        let device = "1: Software Metal 2, built in 1, unified memory";
        assert!(
            printed.out.lines().any(|line| line == device),
            "{}",
            printed.out
        );
    }

    /// Another pair of devices than a device with itself takes as long as the link does.
    #[test]
    fn figures_are_matrices() {
        let words = ["--measure", "--bytes", "1048576", "--repeats", "3"];
        let report = topology(&[&words[..], &["--json"]].concat(), &PEERS);
        let report = report.exits_with(0).json();
        let device = &report["devices"][2];
        assert_eq!(device["location"], "slot");
        assert_eq!(
            (&device["location_number"], &device["peer_index"]),
            (&2.into(), &2.into())
        );
        assert_eq!(device["max_transfer_rate"], 500_000_000);
        assert_eq!(device["peer_count"], 3);
        let measured = &report["measured"];
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            let figure = |name: &str| measured[name][from][to].as_f64().unwrap();
            let bandwidth = figure("bandwidth_gigabytes_per_second");
            let latency = figure("latency_microseconds");
            assert_eq!(
                report["links"][from][to],
                if from == to { "same" } else { "peer" }
            );
            assert!(bandwidth > 0.0 && latency > 0.0, "{report}");
            assert!(
                from == to || (bandwidth <= 0.5 && latency >= 1000.0),
                "{report}"
            );
        }

        let printed = topology(&words, &PEERS).exits_with(0);
        let lines = lines(&printed.out);
        for title in ["bandwidth, GB/s,", "latency, us,"] {
            let at = lines.iter().position(|line| line.starts_with(title));
            let rows = &lines[at.unwrap() + 1..][..4];
            assert_eq!(rows[0], "0 1 2", "{}", printed.out);
            for (from, row) in rows[1..].iter().enumerate() {
                let numbers = row.split(' ').map(|number| number.parse::<f64>().unwrap());
                let numbers: Vec<f64> = numbers.collect();
                assert_eq!(
                    (numbers[0] as usize, numbers.len()),
                    (from, 4),
                    "{}",
                    printed.out
                );
            }
        }
    }
}
