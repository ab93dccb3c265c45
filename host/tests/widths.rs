//! Everyday commands fit the terminal: no line is too wide, no name is broken, and the output is short.

use crate::common::program::{env, has, run_in};
use cli::Env;
use host::device::{Choice, Sim};
use host::{CATALOG, Device, Error, KERNELS};
use toolkit::Tool;

/// Everyday commands on small problems.
const EVERYDAY: [&str; 27] = [
    "list",
    "list reduce",
    "list matmul",
    "list reduce_shfl",
    "devices",
    "learn",
    "learn warps",
    "ptx",
    "ptx transpose",
    "why --checklist",
    "why reduce --n 65536",
    "why reduce_shfl --n 65536",
    "why reduce --counters --n 65536",
    "why reduce_shfl --counters --n 65536",
    "why reduce --roofline --n 65536",
    "why reduce --occupancy",
    "why reduce_shfl --figures",
    "why transpose_smem --figures",
    "why matmul_tiled --figures",
    "why transpose_naive --dram --rows 256 --cols 256",
    "why --dram",
    "run reduce --n 1000",
    "run transpose --rows 64 --cols 64",
    "run histogram --n 1000",
    "run matmul --m 64 --n 64 --k 64",
    "check transpose --rows 33 --cols 9",
    "check reduce histogram --n 1000",
];

/// The largest number of lines for an everyday command.
const LINES: usize = 60;

fn open(_: Choice) -> Result<Box<dyn Device>, Error> {
    Ok(Box::new(Sim::open(&KERNELS, 1)?))
}

/// Returns the output of a command at this width. It is empty if the command needs ptxas and ptxas is not installed.
fn printed(command: &str, width: usize) -> String {
    let ended = run_in(&Env { width, ..env(&open) }, command);
    if ended.err.contains("no ptxas was found") && !has(Tool::Ptxas) {
        return String::new();
    }
    ended.printed()
}

#[track_caller]
fn check(command: &str, width: usize) {
    let text = printed(command, width);
    let context = format!("`{command}` in {width} columns:\n{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= LINES, "{} lines: {context}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= width, "too wide: {line}\n{context}");
    }
    // If a word is broken into single letters in a cell, consecutive lines have nothing else.
    let is_letter = |line: &str| (1..=2).contains(&line.trim().len()) && line.trim().chars().all(char::is_alphabetic);
    assert!(!lines.windows(2).any(|two| two.iter().all(|line| is_letter(line))), "stacked letters: {context}");
    let rungs = || CATALOG.ladders.iter().flat_map(|ladder| ladder.rungs).map(|rung| rung.name);
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| word.contains('_'))
    {
        let is_start = rungs().any(|name| name.starts_with(word));
        // Exercises have names like those of rungs.
        assert!(
            !is_start || command.starts_with("learn") || rungs().any(|name| name == word),
            "broken name: {word}\n{context}"
        );
    }
}

#[test]
fn everyday_commands_fit() {
    for command in EVERYDAY {
        [80, 100, 140].into_iter().for_each(|width| check(command, width));
    }
}

#[test]
fn every_rung_of_a_ladder_is_named() {
    for command in ["list reduce", "run reduce --n 1000", "why reduce --n 65536", "why reduce --counters --n 65536"] {
        for width in [40, 80, 100] {
            let text = printed(command, width);
            let reduce = CATALOG.ladders.iter().find(|ladder| ladder.name == "reduce").unwrap();
            for rung in reduce.rungs {
                let is_named = text.lines().any(|line| line.split_whitespace().next() == Some(rung.name));
                assert!(is_named, "{} in {width} columns:\n{text}", rung.name);
            }
        }
    }
}

#[test]
fn columns_that_are_left_out_are_mentioned() {
    let narrow = printed("run transpose --rows 64 --cols 64", 80);
    assert!(narrow.ends_with("more columns: --wide, --json\n"), "{narrow}");
    let wide = printed("run transpose --rows 64 --cols 64 --wide", 80);
    assert!(!wide.contains("more columns"), "{wide}");
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max();
    assert!(width(&wide) > width(&narrow), "{wide}");
}
