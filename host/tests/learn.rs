//! `ladder learn NAME --watch`, which runs until the learner quits.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::program::{command, not_tested};

/// A process that is killed at the end of a test, even if the test fails.
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
    // Returns the output of one check.
    let next = || {
        let next_line = || receiver.recv_timeout(Duration::from_secs(120)).unwrap();
        let lines = std::iter::repeat_with(next_line);
        lines.take_while(|line| !line.contains("save the file to check it again")).collect::<Vec<_>>().join("\n")
    };

    let first = next();
    assert!(first.contains("Edit your copy: ") && first.contains("`output[1]` was not written"), "{first}");
    let unsolved = fs::read_to_string(&file).unwrap();
    fs::write(&file, unsolved.replace("let i = 0;", "let i = thread::thread_idx_x()")).unwrap();
    let broken = next();
    assert!(broken.contains("error: expected `;`") && broken.contains("first_kernel.rs:"), "{broken}");
    // Some editors write a new file and rename it.
    let replacement = folder.path().join("other");
    fs::write(&replacement, unsolved.replace("let i = 0;", "let i = thread::thread_idx_x();")).unwrap();
    fs::rename(replacement, &file).unwrap();
    let solved = next();
    assert!(solved.contains("correct for n = ") && solved.contains("\nsolved"), "{solved}");
}

/// On a terminal, keys show a hint, the list, or the next exercise. Afterwards the terminal has its former mode.
#[test]
fn keys_work_on_a_terminal() {
    for quit in ["q", "\x03"] {
        let folder = tempfile::tempdir().unwrap();
        let program = command("no/such/libcuda.so").get_program().to_str().unwrap().to_owned();
        let folder = folder.path().display();
        let shell =
            format!("{program} learn first_kernel --watch --folder {folder}; stty -a | tr ' ' '\n' | grep icanon");
        let mut script = Command::new("script");
        script.args(["--quiet", "--command", &shell, "/dev/null"]).env("TERM", "xterm");
        let Ok(script) = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            return not_tested("no `script`");
        };
        let mut script = Watching(script);
        let (mut keys, out) = (script.0.stdin.take().unwrap(), script.0.stdout.take().unwrap());
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        for (key, answer) in [("", "q: quit"), ("h", "Hint 1 of 2: "), ("l", "ladder learn TOPIC"), ("n", "q: quit")] {
            keys.write_all(key.as_bytes()).unwrap();
            assert!(lines.any(|line| line.contains(answer)), "{key}");
        }
        keys.write_all(quit.as_bytes()).unwrap();
        // In canonical mode, a terminal delivers whole lines. While the program waits for keys, the terminal is in
        // `-icanon` mode.
        assert_eq!(lines.find(|line| line.contains("icanon")).as_deref().map(str::trim), Some("icanon"), "{quit:?}");
    }
}

#[test]
fn the_session_in_the_docs_matches_the_output() {
    let docs = fs::read_to_string("../docs/exercises.md").unwrap();
    let printed = fs::read_to_string("tests/cli/learn.txt").unwrap();
    let session = docs.split_once("A session:").unwrap().1;
    let blocks = session.split("```console\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut count = 0;
    for line in blocks.flat_map(str::lines) {
        let line = line
            .replace("exercises/mine", "[dir]/mine")
            .replace("$ ladder learn", "$ ladder learn --folder [dir]/mine");
        assert!(printed.lines().any(|printed_line| printed_line.starts_with(&line)), "nothing prints {line}");
        count += 1;
    }
    assert!(count > 10);
}
