//! How the process `ladder` ends when its output is closed or its user interrupts it, and when it shows colors.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::io::pipe;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn ladder(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.env("LADDER_LIBCUDA", "no/such/libcuda.so").args(args.split_whitespace());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_full_disk_is_an_error() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in ["list", "list --json", "--help", "run shuffle --device sim"] {
        let (code, err) = ended(ladder(args).stdout(full()).spawn().unwrap());
        assert_eq!(code, Some(1), "{args}: {err}");
        assert_eq!(err, "error: cannot write the output: No space left on device (os error 28)\n", "{args}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    for args in ["list", "list --json", "--help", "run shuffle --device sim"] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        assert_eq!(ended(ladder(args).stdout(writer).spawn().unwrap()), (Some(0), String::new()), "{args}");
    }
}

#[test]
fn ctrl_c_ends_a_run() {
    let run = ladder("run matmul --device sim").spawn().unwrap();
    sleep(Duration::from_secs(3));
    assert!(Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap().success());
    let expected = "error: interrupted\nnote: the output shows all completed work\n";
    assert_eq!(ended(run), (Some(130), expected.to_owned()));
}

#[test]
fn colors_are_shown_only_where_they_are_supported() {
    let err = |variables: &[(&str, &str)]| {
        let variables = variables.iter().copied();
        ended(ladder("run redcue").envs(variables).spawn().unwrap()).1
    };
    let plain = "error: no ladder or rung is named `redcue`\nhelp: did you mean `reduce`?\n";
    assert_eq!(err(&[]), plain);
    assert_eq!(err(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), plain);
    assert!(err(&[("CLICOLOR_FORCE", "1")]).starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "));
}
