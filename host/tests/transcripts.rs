//! The output of the programs. `cli/*.txt` are transcripts of a shell; the test runs their commands again and compares
//! the output.
//!
//! `$ ` starts a command. The lines after it are `? 2`, its exit code if that is not 0, and its output, with `! `
//! before each line of standard error. `…` stands for any text within a line, or alone in a line for any lines. `[dir]`
//! is an empty folder. Variables before `ladder`, or in a line without a command for all later commands, are those of
//! [`ladder`]. With `UPDATE_TRANSCRIPTS=1`, the test writes the new output into the files.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::common::Fake;
use crate::common::program::{Ended, env, has, on_driver, run_in, run_without_driver};
use crate::common::replay::{KnownChanges, Replay};
use crate::common::toy::TOYS;
use crate::stand_in::clocked::Clocked;
use host::device::{Choice, DeviceInfo, Sim};
use host::{Device, Error, KERNELS};
use toolkit::Tool;

macro_rules! transcripts {
    ($($name:ident)*) => {
        mod files {
            $(#[test]
            fn $name() {
                super::replay_file(stringify!($name));
            })*
        }

        #[test]
        fn every_transcript_is_replayed() {
            let listed = [$(concat!(stringify!($name), ".txt")),*];
            for file in fs::read_dir("tests/cli").unwrap() {
                let name = file.unwrap().file_name();
                assert!(listed.iter().any(|file| name == *file), "{name:?} is not in transcripts.rs");
            }
        }
    };
}

transcripts! {
    agree checklist counters document dram driver figures file json lab learn list occupancy predict ptx refused refused_tools report roofline run several shuffle times why
}

/// The variables before `ladder`, by name.
type Variables<'t> = BTreeMap<&'t str, &'t str>;

fn replay_file(name: &str) {
    let path = format!("tests/cli/{name}.txt");
    let text = fs::read_to_string(&path).unwrap();
    if text.starts_with("# Needs ptxas") && !has(Tool::Ptxas) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let (head, blocks) = text.trim_end().split_once("\n$ ").unwrap();
    let (mut written, mut differences) = (head.to_owned() + "\n", String::new());
    let mut variables = Variables::from([("GPU", "none")]);
    for block in blocks.split("\n$ ") {
        let (command, rest) = block.split_once('\n').map_or((block, None), |(command, rest)| (command, Some(rest)));
        // Comments before the next command are not part of the output.
        let lines: Vec<&str> = rest.into_iter().flat_map(|rest| rest.split('\n')).collect();
        let is_between = |line: &&str| line.is_empty() || line.starts_with("# ");
        let output = lines.len() - lines.iter().rev().take_while(|line| is_between(line)).count();
        let (expected, separators) = lines.split_at(output);

        let ended = run(command, dir, &mut variables);
        let code = if ended.code == 0 { String::new() } else { format!("? {}\n", ended.code) };
        let err: String = ended.err.lines().map(|line| format!("! {line}\n")).collect();
        let found = (code + &ended.out + &err).replace(dir, "[dir]");
        let found: Vec<&str> = found.trim_end().lines().map(str::trim_end).collect();
        let is_same = are_alike(expected, &found);
        if !is_same {
            differences += &format!("$ {command}\n{}\n", found.join("\n"));
        }
        let kept = if is_same { expected } else { &found };
        written += &[&[&*format!("$ {command}")], kept, separators].concat().join("\n");
        written += "\n";
    }
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        fs::write(&path, written).unwrap();
    }
    assert!(differences.is_empty(), "{path} differs from the output:\n{differences}");
}

fn are_alike(expected: &[&str], found: &[&str]) -> bool {
    match (expected, found) {
        (["…", rest @ ..], _) => (0..=found.len()).any(|skipped| are_alike(rest, &found[skipped..])),
        ([line, rest @ ..], [found_line, found_rest @ ..]) => is_alike(line, found_line) && are_alike(rest, found_rest),
        _ => expected.is_empty() && found.is_empty(),
    }
}

fn is_alike(expected: &str, found: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else { return expected == found };
    let Some(tail) = found.strip_prefix(start) else { return false };
    (0..=tail.len()).any(|skipped| tail.is_char_boundary(skipped) && is_alike(rest, &tail[skipped..]))
}

/// Runs `ladder` or `lab` and pipes its output through a filter, or runs any other command in a shell. Variables
/// without a command are kept.
fn run<'t>(line: &'t str, dir: &str, variables: &mut Variables<'t>) -> Ended {
    let in_place = |text: &str| text.replace("[dir]", dir);
    let shell = |command: &str, input: &str| {
        let file = format!("{dir}/input");
        fs::write(&file, input).unwrap();
        let input = fs::File::open(file).unwrap();
        Ended::of(Command::new("sh").args(["-c", &in_place(command)]).stdin(input).output().unwrap())
    };
    let (command, filter) = line.split_once(" | ").map_or((line, None), |(command, filter)| (command, Some(filter)));
    let mut line_variables = variables.clone();
    let mut words = command.split_whitespace().peekable();
    while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
        line_variables.insert(name, value);
        words.next();
    }
    match words.next() {
        None => {
            *variables = line_variables;
            Ended { code: 0, out: String::new(), err: String::new() }
        }
        Some(program @ ("ladder" | "lab")) => {
            let prefix = if program == "lab" { "lab " } else { "" };
            let ended = ladder(&line_variables, &format!("{prefix}{}", in_place(&words.collect::<Vec<_>>().join(" "))));
            let out = filter.map(|filter| shell(filter, &ended.out).out);
            Ended { out: out.unwrap_or(ended.out), ..ended }
        }
        Some(_) => shell(line, ""),
    }
}

/// Runs the program. With `DRIVER`, it runs in a separate process on the stand-in for a driver, and `DRIVER` names the
/// fault. Otherwise it runs in this process. `GPU` is `none`, `closed` if the program must not open a device, `clock`
/// for the simulator with a clock, or a name for [`Fake::named`]. `LADDERS=toys` selects the ladders of toy.rs.
/// `NCU=program` provides everything that `lab agree` needs, and `NCU=replay` provides an Nsight Compute that reports
/// the simulator's counts.
fn ladder(variables: &Variables<'_>, args: &str) -> Ended {
    let variable = |name| variables.get(name).copied().unwrap_or_default();
    if variables.contains_key("DRIVER") {
        return if variable("DRIVER") == "none" {
            run_without_driver(args)
        } else {
            on_driver(variable("DRIVER"), args)
        };
    }
    let open = |choice| -> Result<Box<dyn Device>, Error> {
        Ok(match (variable("GPU"), choice) {
            ("closed", _) => panic!("the program must not open a device"),
            ("none", Choice::Gpu) => return Err(Error::NoGpu { what: "no CUDA driver on this machine".to_owned() }),
            ("none", _) | (_, Choice::Sim) => Box::new(Sim::open(&KERNELS, 1)?),
            ("clock", _) => {
                let info = DeviceInfo { peak_bytes_per_s: Some(10e9), ..DeviceInfo::default() };
                Box::new(Clocked::new(info, |place, _, _| 1e5 * (place + 1) as f64))
            }
            (name, _) => Box::new(Fake::named(name)),
        })
    };
    let replay = Replay::default();
    let mut env = env(&open);
    if variable("LADDERS") == "toys" {
        env.catalog = &TOYS;
    }
    if variables.contains_key("NCU") {
        env.explain = &|_| Ok(Box::new(KnownChanges(Vec::new())));
    }
    if variable("NCU") == "replay" {
        env.runner = &replay;
    }
    run_in(&env, args)
}
