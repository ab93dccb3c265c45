//! The program `simt` as a process.

#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn the_process_exits_with_the_code() {
    let program = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_simt")).args(args).output().unwrap();
    let launch = "run ../simt/examples/saxpy.ptx --entry saxpy --grid 1 --block 2 --arg f32:2 f32[1] f32[1] u32:2";
    let fault = program(&launch.split(' ').collect::<Vec<_>>());
    assert_eq!(fault.status.code(), Some(1));
    assert!(fault.stdout.is_empty());
    let help = program(&["run", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("SplitMix64"));
    assert_eq!(program(&[]).status.code(), Some(2));
}
