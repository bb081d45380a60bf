//! `metal-bridge chat` with lines from a pipe: its answers are what `generate` writes after the template's text.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Output, Stdio};

use crate::commands::{MODEL, assert_code, command, run, text};

/// Says each message, and the answers as they are.
const TEMPLATE: &str = "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}: {% else %}{{ m.content }}{% endif %}{% endfor %}";

struct Template {
    _folder: tempfile::TempDir,
    path: String,
}

fn template(source: &str) -> Template {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("template.jinja");
    std::fs::write(&path, source).unwrap();
    Template {
        path: path.to_str().unwrap().to_owned(),
        _folder: folder,
    }
}

fn start(template: &Template, options: &[&str], delay: &str) -> Child {
    let mut command = command(&["chat", "-m", MODEL, "--template", &template.path]);
    command.args(options).env("SOFTWARE_METAL_DELAY", delay);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    piped.stderr(Stdio::piped()).spawn().unwrap()
}

fn chat(source: &str, options: &[&str], lines: &str) -> Output {
    let template = template(source);
    let mut child = start(&template, options, "0");
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

/// What `generate` writes after `prompt`.
fn continuation(prompt: &str, options: &[&str]) -> String {
    let output = run(&[
        &["generate", "-q", "--no-prompt", "-m", MODEL, prompt],
        options,
    ]
    .concat());
    assert_code(&output, 0);
    text(&output.stdout).to_owned()
}

#[test]
fn answers_go_on_with_the_whole_chat() {
    let eight = ["-n", "8"];
    let output = chat(
        TEMPLATE,
        &eight,
        "Once upon a time\n and\n\n/reset\nOnce upon a time\n/system Tom\nOne day\n/quit\nnever said\n",
    );
    assert_code(&output, 0);
    let first = continuation("Once upon a time", &eight);
    let told = format!("Once upon a time{} and", first.trim_end_matches('\n'));
    let second = continuation(&told, &eight);
    let after_system = format!(
        "Tom: Once upon a time{}One day",
        first.trim_end_matches('\n')
    );
    let third = continuation(&after_system, &eight);
    let expected = [&first, &second, &first, &third]
        .map(String::as_str)
        .concat();
    assert_eq!(text(&output.stdout), expected);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn unknown_commands_are_named_and_two_slashes_say_one() {
    let output = chat(
        "{{ messages | length }}{{ messages[0].content }}",
        &["-n", "4"],
        "/nonsense\n//help\n/help\n",
    );
    assert_code(&output, 0);
    assert_eq!(text(&output.stdout), continuation("1/help", &["-n", "4"]));
    let notes = text(&output.stderr);
    assert!(notes.starts_with("there is no command /nonsense"));
    assert!(notes.contains("/reset"));
}

#[test]
fn what_cannot_be_answered_is_one_clear_line() {
    let refusing = "{{ raise_exception('no such chats') }}";
    let long = "Once ".repeat(600) + "\n";
    for (source, lines, message) in [
        (
            refusing,
            "Hi\n",
            "the chat template refuses the messages: no such chats",
        ),
        (
            "{% for %}",
            "Hi\n",
            "line 1 of the chat template: syntax error",
        ),
        (
            TEMPLATE,
            long.as_str(),
            "more than the context of 512: /reset forgets the messages",
        ),
    ] {
        let output = chat(source, &[], lines);
        let message_lines = text(&output.stderr);
        assert_code(&output, 1);
        assert!(message_lines.contains(message), "{message_lines}");
        assert_eq!(message_lines.lines().count(), 1);
    }
    let output = run(&["chat", "-m", MODEL]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).contains("no chat template"));
    assert!(text(&output.stderr).contains("--template FILE"));
    let output = run(&["chat", "-m", MODEL, "--template", "missing.jinja"]);
    assert_code(&output, 1);
    assert!(text(&output.stderr).starts_with("metal-bridge: missing.jinja: No such file"));
}

/// Each token takes some tenths of a second, so an answer that is not interrupted would take a minute.
#[cfg(software_metal)]
#[test]
fn an_interrupt_ends_the_answer_and_the_chat_goes_on() {
    let whole = continuation("Once upon a time", &[]);
    let template = template(TEMPLATE);
    let mut child = start(&template, &[], "200000");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"Once upon a time\n").unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut answer = vec![0];
    output.read_exact(&mut answer).unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: the call takes numbers alone, and the child is not waited for yet, so its number is not another's.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
    output.read_until(b'\n', &mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let answer = answer.strip_suffix('\n').unwrap();
    assert!(
        whole.starts_with(answer) && answer.len() < whole.len() / 2,
        "{answer}"
    );
    input.write_all(b"/nonsense\n/quit\n").unwrap();
    let rest = child.wait_with_output().unwrap();
    assert_code(&rest, 0);
    assert!(text(&rest.stderr).contains("no command"));
}

#[test]
fn endless_lines_and_escape_sequences_are_errors() {
    // As many bytes as the program reads before it ends.
    let endless = "a".repeat((4 << 20) + 1);
    let output = chat(TEMPLATE, &[], &endless);
    assert_code(&output, 1);
    assert_eq!(
        text(&output.stderr),
        "metal-bridge: a line of standard input has more than 4 MiB\n"
    );
    let output = chat(
        "{{ raise_exception('no\u{1b}]0;title\u{7} chats') }}",
        &[],
        "Hi\n",
    );
    assert_code(&output, 1);
    assert_eq!(
        text(&output.stderr),
        "metal-bridge: the chat template refuses the messages: no]0;title chats\n"
    );
}
