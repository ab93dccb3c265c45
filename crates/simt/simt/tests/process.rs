//! The program `simt` as a process.

#![allow(clippy::unwrap_used)]

use std::process::Command;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cli/small.ptx");

#[test]
fn the_process_ends_with_the_code() {
    let program = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_simt")).args(args).output().unwrap();
    let fault = program(&["run", FILE, "--entry", "fill", "--grid", "1", "--block", "2", "--arg", "u32[1]"]);
    assert_eq!(fault.status.code(), Some(1));
    assert!(fault.stdout.is_empty());
    let help = program(&["run", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("SplitMix64"));
    assert_eq!(program(&[]).status.code(), Some(2));
}
