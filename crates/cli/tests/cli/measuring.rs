//! The commands that measure: `bench` and `perplexity`.

use crate::commands::{MODEL, assert_code, run, text};

#[test]
fn bench_measures_operations_as_a_table_and_as_json() {
    let words = ["--milliseconds", "1", "--only", "add"];
    let output = run(&[&["bench", "ops"], &words[..]].concat());
    assert_code(&output, 0);
    let table = text(&output.stdout);
    for part in [
        "| add | 4194304 |",
        "| add a row | 2048 x 2048 |",
        "at the peak",
    ] {
        assert!(table.contains(part), "{table}");
    }
    let output = run(&[&["bench", "ops", "--json"], &words[..]].concat());
    assert_code(&output, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{report}");
    for row in rows {
        let [time, gflops, rate, share] = [
            "gpu_milliseconds",
            "gflops",
            "gigabytes_per_second",
            "peak_share",
        ]
        .map(|name| row[name].as_f64().unwrap());
        assert!(
            time > 0.0 && gflops > 0.0 && rate > 0.0 && share > 0.0,
            "{row}"
        );
        // Four million additions.
        let expected = 4194304e-6 / time;
        assert!(
            approx::relative_eq!(gflops, expected, max_relative = 1e-6),
            "{row}"
        );
    }
    let output = run(&["bench", "ops", "--only", "nonsense"]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("softmax of rows"));
}

#[test]
fn bench_measures_in_llama_benchs_columns_and_keys() {
    let sizes = [
        "-p", "16,0", "-n", "4", "-d", "0,32", "-r", "2", "-m", MODEL,
    ];
    let output = run(&[&["bench", "--parallel", "1,3"], &sizes[..]].concat());
    assert_code(&output, 0);
    let lines: Vec<Vec<&str>> = text(&output.stdout)
        .lines()
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let head = [
        "model", "size", "params", "backend", "threads", "test", "t/s",
    ];
    assert_eq!(lines[0], head);
    let tests: Vec<_> = lines[2..].iter().map(|line| line[5]).collect();
    let several = [
        "pp16",
        "tg4",
        "tg4 x 3",
        "pp16 @ d32",
        "tg4 @ d32",
        "tg4 x 3 @ d32",
    ];
    assert_eq!(tests, several);
    assert!(lines[2][0].ends_with("Q8_0") && lines[2][6].contains(" ± "));

    let names = ["pp16", "tg4", "pp16 @ d32", "tg4 @ d32"];
    let options = ["bench", "--json", "--replay", "--cache", "f16"];
    let rounded = ["--activations", "int8"];
    let output = run(&[&options[..], &rounded, &sizes[..]].concat());
    assert_code(&output, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for (row, name) in report.as_array().unwrap().iter().zip(names) {
        assert_eq!(
            (&row["type_k"], &row["type_v"]),
            (&"f16".into(), &"f16".into())
        );
        assert_eq!(row["replay"], true);
        assert_eq!(row["activations"], "int8");
        assert!(row["host_ns_per_command_buffer"].as_f64().unwrap() > 0.0);
        assert_eq!(row["test"], name);
        let is_prompt = name.starts_with("pp");
        assert_eq!(row["n_prompt"], if is_prompt { 16 } else { 0 });
        assert_eq!(row["n_gen"], if is_prompt { 0 } else { 4 });
        let samples = row["samples_ts"].as_array().unwrap();
        let rates: Vec<f64> = samples.iter().map(|rate| rate.as_f64().unwrap()).collect();
        assert!(rates.len() == 2 && rates.iter().all(|&rate| rate > 0.0));
        let mean = (rates[0] + rates[1]) / 2.0;
        assert!((row["avg_ts"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9);
    }
    assert_eq!(report.as_array().unwrap().len(), names.len());

    // No test of one text has read so many tokens before.
    let several = ["-n", "2", "-d", "8", "-r", "1", "--parallel", "2"];
    let output = run(&[&["bench", "-m", MODEL, "-p", "0"], &several[..]].concat());
    assert_code(&output, 0);
    assert!(text(&output.stdout).contains("tg2 x 2 @ d8"));
    let output = run(&[
        "bench",
        "-m",
        MODEL,
        "-p",
        "0",
        "--replay",
        "--parallel",
        "2",
    ]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("replayed for one text, not for 2"));
    let output = run(&["bench", "-m", MODEL, "-p", "0", "-n", "0"]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("nothing to measure"));
    let output = run(&["bench", "-m", MODEL, "-d", "500", "-p", "8,13", "-n", "0"]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("13 tokens after 500 exceed the context of 512"));
}

#[test]
fn perplexity_is_a_line_or_json_with_its_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, contents: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let story = "Once upon a time there was a little girl who loved to play in the sun. ";
    let story = file("story.txt", story.repeat(4).as_bytes());
    let measure = |options: &[&str]| {
        let words = ["perplexity", "-m", MODEL, "--file", &story, "-c", "24"];
        run(&[&words[..], options].concat())
    };
    let output = measure(&["--json"]);
    assert_code(&output, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |key: &str| report[key].as_f64().unwrap();
    assert!(number("perplexity") > 1.0 && number("standard_error") > 0.0);
    assert!((number("mean_surprise").exp() / number("perplexity") - 1.0).abs() < 1e-9);
    assert_eq!(number("tokens"), number("windows") * 11.0);
    let line = format!(
        "perplexity {:.4} +/- {:.5}\n",
        number("perplexity"),
        number("standard_error")
    );
    let output = measure(&[]);
    assert_code(&output, 0);
    assert!(text(&output.stdout).starts_with(&line));
    let rounded = measure(&["--json", "--activations", "int8"]);
    let rounded: serde_json::Value = serde_json::from_slice(&rounded.stdout).unwrap();
    let off = rounded["perplexity"].as_f64().unwrap() / number("perplexity") - 1.0;
    assert!(off != 0.0 && off.abs() < 0.05, "{off} off by rounding");
    let output = measure(&["--stride", "5", "--windows", "2", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["tokens"], 10);

    let output = measure(&["--stride", "24"]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("the stride must be from 1 to 23 tokens, not 24"));
    let spelt = file("spelt.txt", "</s>".repeat(24).as_bytes());
    let output = run(&[
        "perplexity",
        "-m",
        MODEL,
        "--file",
        &spelt,
        "-c",
        "24",
        "--json",
    ]);
    assert_code(&output, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        report["windows"].as_u64() > Some(1),
        "letters, not 24 control tokens: {report}"
    );
    let (short, odd) = (file("short.txt", b"Once"), file("odd.txt", b"\xff"));
    for (path, message) in [
        (short.as_str(), "tokens, but one window takes 512"),
        (odd.as_str(), "odd.txt: the text is not UTF-8"),
        ("missing.txt", "missing.txt: No such file"),
    ] {
        let output = run(&["perplexity", "-m", MODEL, "--file", path]);
        assert_code(&output, 1);
        assert!(text(&output.stderr).contains(message));
    }
}
