//! `ladder learn NAME --watch`, which only ends when somebody ends it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::program::command;

/// Ends the program also where a test fails.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_answer_is_checked_whenever_it_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("first_kernel.rs");
    let mut command = command("no/such/libcuda.so");
    command.args(["learn", "first_kernel", "--watch", "--folder"]).arg(folder.path()).stdout(Stdio::piped());
    let mut watching = Watching(command.spawn().unwrap());
    let lines = BufReader::new(watching.0.stdout.take().unwrap()).lines();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || lines.map_while(Result::ok).all(|line| sender.send(line).is_ok()));
    // What is printed for one check.
    let next = || {
        let next_line = || receiver.recv_timeout(Duration::from_secs(120)).unwrap();
        let lines = std::iter::repeat_with(next_line);
        lines.take_while(|line| !line.contains("save the file to check it again")).collect::<Vec<_>>().join("\n")
    };

    let first = next();
    assert!(first.contains("This file is yours now") && first.contains("error[race]: "), "{first}");
    let unsolved = fs::read_to_string(&file).unwrap();
    fs::write(&file, unsolved.replace("let i = 0;", "let i = thread::thread_idx_x()")).unwrap();
    let broken = next();
    assert!(broken.contains("error: expected `;`") && broken.contains("first_kernel.rs:"), "{broken}");
    // As editors do that write another file and rename it.
    let other = folder.path().join("other");
    fs::write(&other, unsolved.replace("let i = 0;", "let i = thread::thread_idx_x();")).unwrap();
    fs::rename(other, &file).unwrap();
    let solved = next();
    assert!(solved.contains("right for n = ") && solved.contains("\nsolved"), "{solved}");
}

#[test]
fn the_session_of_the_docs_is_what_is_printed() {
    let docs = fs::read_to_string("../docs/exercises.md").unwrap();
    let printed = fs::read_to_string("tests/cli/learn.txt").unwrap();
    let session = docs.split_once("A session:").unwrap().1;
    let blocks = session.split("```console\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut count = 0;
    for line in blocks.flat_map(str::lines) {
        let line = line
            .replace("exercises/mine", "[dir]/mine")
            .replace("$ ladder learn", "$ ladder learn --folder [dir]/mine");
        assert!(printed.lines().any(|own| own.starts_with(&line)), "nothing prints {line}");
        count += 1;
    }
    assert!(count > 10);
}
