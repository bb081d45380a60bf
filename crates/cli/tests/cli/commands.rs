//! Every command without a file of its own: what it prints, what it refuses, what it says without a Metal.

use std::process::{Command, Output, Stdio};

pub const MODEL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../models/tiny-stories/tiny-stories-q8_0.gguf"
);

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn assert_code(output: &Output, code: i32) {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

// Without a Metal there is no device, which some of these commands look for first.
#[cfg(all(metal_backend, target_os = "linux"))]
#[test]
fn files_without_an_end_are_refused() {
    let written = "/dev/zero: it has more than 64 MiB";
    let collected = "/dev/zero: it has more than 1024 MiB";
    for (arguments, says) in [
        (
            &["perplexity", "-m", MODEL, "-f", "/dev/zero"][..],
            collected,
        ),
        (&["analyze", "--profile", "/dev/zero"], collected),
        (
            &["generate", "-m", MODEL, "--grammar", "/dev/zero", "x"],
            written,
        ),
        (
            &["generate", "-m", MODEL, "--json-schema", "/dev/zero", "x"],
            written,
        ),
        (&["chat", "-m", MODEL, "--template", "/dev/zero"], written),
        (
            &["serve", "-m", MODEL, "--api-key-file", "/dev/zero"],
            written,
        ),
        (
            &["generate", "-m", MODEL],
            "the prompt: it has more than 64 MiB",
        ),
    ] {
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let output = command(arguments).stdin(zeros).output().unwrap();
        assert_code(&output, 1);
        assert!(
            text(&output.stderr).contains(says),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [
        &[][..],
        &["nonsense"],
        &["generate", "x"],
        &["bench"],
        &["generate", "-m", MODEL, "--top-k", "x"],
        &["serve", "-m", MODEL, "--slots", "0"],
        &["serve", "-m", MODEL, "--cache-tokens", "x"],
        &["stress", "--transfers", "0"],
        &["stress", "--transfers", "18446744073709551615"],
    ] {
        let output = run(arguments);
        assert_code(&output, 2);
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    let output = run(&["--help"]);
    assert_code(&output, 0);
    for part in [
        "generate",
        "chat",
        "serve",
        "perplexity",
        "info",
        "topology",
        "bench",
        "stress",
        "Exit codes",
    ] {
        assert!(text(&output.stdout).contains(part));
    }
    assert!(text(&run(&["--version"]).stdout).contains(env!("CARGO_PKG_VERSION")));
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["--version"], &["help", "info"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        assert_code(&output, 1);
        assert!(text(&output.stderr).contains("No space left on device"));
    }
}

#[cfg(not(metal_backend))]
#[test]
fn without_a_metal_every_command_exits_with_3() {
    const TEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    for arguments in [
        &["info"][..],
        &["topology"],
        &["generate", "-m", MODEL, "x"],
        &["bench", "-m", MODEL],
        &["chat", "-m", MODEL],
        &["serve", "-m", MODEL],
        &["perplexity", "-m", MODEL, "--file", TEXT],
    ] {
        let output = run(arguments);
        assert_code(&output, 3);
        assert_eq!(
            text(&output.stderr),
            "metal-bridge: there is no Metal device\n"
        );
    }
}

#[cfg(metal_backend)]
mod with_a_metal {
    use std::io::Write;

    use super::*;

    #[test]
    fn generate_continues_a_story_and_ends_by_itself() {
        let output = run(&["generate", "--model", MODEL, "Once upon a time"]);
        assert_code(&output, 0);
        let story = text(&output.stdout);
        assert!(
            story.starts_with("Once upon a time") && story.ends_with(".\n"),
            "{story:?}"
        );
        assert!(story.len() > 200);
        let summary = text(&output.stderr);
        for part in [
            "prefill",
            "decode",
            "tokens/s",
            "the model ended the text",
            "command buffers",
            "live",
        ] {
            assert!(summary.contains(part), "{summary}");
        }
        // No progress bar where nobody watches.
        assert!(
            !summary.contains('\u{1b}') && !summary.contains("loading"),
            "{summary:?}"
        );
    }

    #[test]
    fn the_prompt_may_come_from_standard_input() {
        let arguments = ["generate", "-m", MODEL, "--no-prompt", "--quiet", "-n", "8"];
        let mut child = command(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"Once upon a time\n")
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_code(&output, 0);
        assert!(output.stderr.is_empty());
        let continuation = text(&output.stdout).to_owned();
        let output = run(&[&arguments[..], &["Once upon a time"]].concat());
        assert_eq!(text(&output.stdout), continuation);
        assert!(continuation.starts_with(' ') && continuation.ends_with('\n'));
    }

    /// With a seed, the software Metal runs dispatches that no barrier orders in a random order, which shows a missing
    /// barrier.
    #[test]
    fn the_order_of_unordered_dispatches_does_not_matter() {
        // It repeats itself, so there are drafts.
        let prompt = "Once upon a time, once upon a time, once upon";
        let story = |shuffle: Option<&str>, option: Option<&str>| {
            let mut command = command(&["generate", "-m", MODEL, "-n", "24", prompt]);
            command.args(option);
            if let Some(seed) = shuffle {
                command.env("SOFTWARE_METAL_SHUFFLE", seed);
            }
            let output = command.output().unwrap();
            assert_code(&output, 0);
            let summary = text(&output.stderr);
            assert!(summary.contains(" us a decoded token, to encode and commit"));
            let has_drafts = summary.contains("tokens accepted");
            assert_eq!(has_drafts, option == Some(DRAFTS), "{summary}");
            output.stdout
        };
        const DRAFTS: &str = "--draft-tokens=6";
        let (replayed, drafted) = (Some("--replay"), Some(DRAFTS));
        let expected = story(None, None);
        assert_eq!(text(&story(None, replayed)), text(&expected));
        for (seed, option) in [("1", None), ("2", replayed), ("3", drafted), ("4", drafted)] {
            let shuffled = story(Some(seed), option);
            assert_eq!(text(&shuffled), text(&expected), "seed {seed}, {option:?}");
        }
        let rounded = Some("--activations=int8");
        let expected = story(None, rounded);
        for seed in ["5", "6"] {
            assert_eq!(text(&story(Some(seed), rounded)), text(&expected), "{seed}");
        }
    }

    #[test]
    fn sampled_texts_repeat_with_their_seed() {
        let story = |seed: &str| {
            let settings = [
                "--temperature",
                "1",
                "--top-k",
                "50",
                "--top-p",
                "0.9",
                "--seed",
                seed,
                "-n",
                "20",
            ];
            let output = run(&[&["generate", "-m", MODEL, "Once"], &settings[..]].concat());
            assert_code(&output, 0);
            assert!(text(&output.stderr).contains(&format!("seed     {seed}\n")));
            output.stdout
        };
        assert_eq!(story("5"), story("5"));
        assert_ne!(story("5"), story("6"));
        for (option, value, message) in [
            ("-t", "-1", "temperature -1 is not a number from 0 up"),
            ("-t", "nan", "temperature NaN is not a number from 0 up"),
            ("-t", "hot", "invalid float literal"),
            ("--top-p", "2", "top-p 2 is not between 0 and 1"),
        ] {
            let refused = run(&["generate", "-m", MODEL, "Once", option, value]);
            assert_code(&refused, 2);
            assert!(text(&refused.stderr).contains(message), "{value}");
            assert!(refused.stdout.is_empty());
        }
    }

    #[test]
    fn failures_are_one_line_and_exit_with_1() {
        let directory = tempfile::tempdir().unwrap();
        let garbage = directory.path().join("garbage.gguf");
        std::fs::write(&garbage, b"this is not a model").unwrap();
        let cut = directory.path().join("cut.gguf");
        std::fs::write(&cut, &std::fs::read(MODEL).unwrap()[..100_000]).unwrap();
        let long = "a ".repeat(2000);
        for (model, prompt, part) in [
            (
                "/no/such/file.gguf",
                "x",
                "/no/such/file.gguf: No such file or directory",
            ),
            (
                garbage.to_str().unwrap(),
                "x",
                "garbage.gguf: not a GGUF file: it begins with \"this\"",
            ),
            (cut.to_str().unwrap(), "x", "cut.gguf: tensor"),
            (MODEL, &long, "exceed the context of 512"),
        ] {
            let output = run(&["generate", "--no-prompt", "-m", model, prompt]);
            assert_code(&output, 1);
            let message = text(&output.stderr);
            assert!(
                message.starts_with("metal-bridge: ") && message.lines().count() == 1,
                "{message}"
            );
            assert!(message.contains(part), "{message}");
        }
        // The command refuses the prompt before it makes one, which would take 16 GiB.
        let output = run(&["bench", "-m", MODEL, "-p", "4294967295"]);
        assert_code(&output, 1);
        assert!(text(&output.stderr).contains("4294967295 tokens after 0 exceed the context"));
        let output = run(&["info", "--json", "--device", "7"]);
        assert_code(&output, 2);
        let output = run(&["generate", "-m", MODEL, "--device", "77", "x"]);
        assert_code(&output, 3);
    }

    #[cfg(software_metal)]
    #[test]
    fn several_devices_tell_the_same_story() {
        let generate = |choice: &[&str]| {
            let mut command = command(&["generate", "-m", MODEL, "-n", "20", "Once upon a time"]);
            command.args(choice).env("SOFTWARE_METAL_DEVICES", "2");
            command.output().unwrap()
        };
        let story = |output: &Output| {
            assert_code(output, 0);
            text(&output.stdout).to_owned()
        };
        let one = generate(&[]);
        let both = generate(&["--devices", "0,1"]);
        assert_eq!(story(&one), story(&both));
        // A command buffer for each device and token.
        assert!(text(&one.stderr).contains("GPU      20 command buffers"));
        assert!(text(&both.stderr).contains("GPU      40 command buffers"));
        assert_eq!(
            story(&one),
            story(&generate(&["--devices", "0,1", "--replay"]))
        );
        assert_code(&generate(&["--devices", "0,1", "--device", "0"]), 2);
        assert_code(&generate(&["--devices", "0,7"]), 3);
        let output = generate(&["--devices", "0,0,0,1,1"]);
        assert_code(&output, 1);
        assert!(text(&output.stderr).contains("takes from 1 to 4 devices, not 5"));
    }

    #[test]
    fn nobody_reading_is_not_a_failure() {
        let mut child = command(&["generate", "-m", MODEL, "Once upon a time"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_code(&output, 0);
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    }

    #[cfg(software_metal)]
    #[test]
    fn a_check_that_nobody_reads_still_tells() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.metal"), "kernel void bad() { x; }").unwrap();
        for arguments in [
            &["check", "-", "bad.metal"][..],
            &["check", "--json", "bad.metal"],
        ] {
            // The other end is gone.
            let (_, closed) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut command = command(arguments);
            command.current_dir(folder.path()).stdin(Stdio::null());
            let output = command.stdout(std::os::fd::OwnedFd::from(closed)).output();
            assert_code(&output.unwrap(), 1);
        }
    }

    #[test]
    fn info_lists_devices_as_text_and_as_json() {
        let output = run(&["info"]);
        assert_code(&output, 0);
        assert!(text(&output.stdout).starts_with("0: "));
        let output = run(&["info", "--json"]);
        assert_code(&output, 0);
        let devices: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let device = &devices[0];
        assert!(!device["name"].as_str().unwrap().is_empty());
        assert!(device["max_buffer_length"].as_u64().unwrap() > 1 << 20);
    }

    #[test]
    fn stress_finds_no_growth() {
        let output = run(&["stress", "--seconds", "1"]);
        assert_code(&output, 0);
        assert!(text(&output.stdout).contains("no growth in"));
    }
}
