//! What ptxas says of many instructions at once.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use locate::nvidia::{Found, Tool, find as find_tool};

use crate::cases;

/// Instructions in one text.
const IN_TEXT: usize = 800;

/// The assembler; `None`, with words, on a machine that has none.
pub fn find() -> Option<Found> {
    match find_tool(Tool::Ptxas) {
        Ok(found) => Some(found),
        Err(error) => {
            eprintln!("not tested: {error}");
            None
        }
    }
}

/// For each instruction, why ptxas refuses it; `None` if it takes it.
pub fn verdicts(ptxas: &Found, target: &str, all: &[String]) -> Vec<Option<String>> {
    let texts: Vec<&[String]> = all.chunks(IN_TEXT).collect();
    let halves = texts.split_at(texts.len() / 2);
    let run = |texts: &[&[String]]| -> Vec<Option<String>> {
        texts
            .iter()
            .flat_map(|cases| batch(ptxas, target, cases))
            .collect()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(halves.0));
        let second = run(halves.1);
        let mut first = other.join().unwrap();
        first.extend(second);
        first
    })
}

/// Assembles the instructions that are not refused yet, until no other is.
fn batch(ptxas: &Found, target: &str, cases: &[String]) -> Vec<Option<String>> {
    let mut refused: Vec<Option<String>> = vec![None; cases.len()];
    let (before, behind) = cases::frame(target, true);
    let first = before.lines().count() + 1;
    loop {
        let lines = cases.iter().zip(&refused).map(|(case, why)| match why {
            None => case.as_str(),
            Some(_) => "",
        });
        let text = format!("{before}{}\n{behind}", lines.collect::<Vec<_>>().join("\n"));
        let found = errors(ptxas, target, &text);
        if found.is_empty() {
            return refused;
        }
        let mut outside = None;
        for (line, why) in found {
            match line.checked_sub(first).and_then(|at| refused.get_mut(at)) {
                Some(refused) => *refused = Some(why),
                None => outside = Some(why),
            }
        }
        // What is refused late has the line of the kernel: halves find it.
        let left: Vec<usize> = (0..cases.len())
            .filter(|&at| refused[at].is_none())
            .collect();
        if let Some(why) = outside {
            if let [only] = left[..] {
                refused[only] = Some(why);
                return refused;
            }
            let (one, other) = left.split_at(left.len() / 2);
            for half in [one, other] {
                let cases: Vec<String> = half.iter().map(|&at| cases[at].clone()).collect();
                for (at, why) in half.iter().zip(batch(ptxas, target, &cases)) {
                    refused[*at] = why;
                }
            }
            return refused;
        }
    }
}

/// The lines that ptxas refuses, and why.
pub fn errors(ptxas: &Found, target: &str, text: &str) -> HashMap<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.ptx");
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(&ptxas.path);
    command.args([&format!("-arch={target}"), "-O0", "-o"]);
    command.args([&folder.path().join("a.cubin"), &source]);
    let done = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let mut found = HashMap::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("uses 32-bit address on line '") {
            let (number, _) = rest.split_once('\'').unwrap();
            found.insert(number.parse().unwrap(), "32-bit address".to_owned());
        }
        let Some((_, rest)) = line.split_once(", line ") else {
            continue;
        };
        let Some((number, why)) = rest.split_once(';') else {
            continue;
        };
        if why.trim_start().starts_with("warning") || why.trim_start().starts_with("info") {
            continue;
        }
        found
            .entry(number.parse().unwrap())
            .or_insert_with(|| why.trim().to_owned());
    }
    if !done.status.success() && found.is_empty() {
        // It has died.
        found.insert(0, format!("{}: {said}", done.status));
    }
    found
}
