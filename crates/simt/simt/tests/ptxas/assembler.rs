//! Collects ptxas's verdicts on many instructions at once.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use locate::nvidia::{Found, Tool, find as find_tool};

use super::cases;

/// The targets for which modules can be assembled.
const KNOWN: [&str; 5] = ["sm_75", "sm_90", "sm_90a", "sm_100", "sm_100f"];

/// The number of instructions in one text.
const IN_TEXT: usize = 800;

/// Finds the assembler. Without one, returns `None` and prints why, except in CI.
pub(crate) fn find() -> Option<Found> {
    match find_tool(Tool::Ptxas) {
        Ok(found) => Some(found),
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns for each instruction why ptxas refuses it, or `None` if ptxas accepts it.
pub(crate) fn verdicts(ptxas: &Found, target: &str, all: &[String]) -> Vec<Option<String>> {
    verdicts_in(ptxas, target, &cases::frame(target), all)
}

/// Like [`verdicts`], in modules with the text `frame` before and after the instructions.
pub(crate) fn verdicts_in(
    ptxas: &Found,
    target: &str,
    frame: &(String, String),
    all: &[String],
) -> Vec<Option<String>> {
    let texts: Vec<&[String]> = all.chunks(IN_TEXT).collect();
    in_two_threads(&texts, |cases| batch(ptxas, target, frame, cases)).concat()
}

/// Returns all of ptxas's errors for each instruction, in a module with the text `frame` before and after the
/// instructions.
pub(crate) fn complaints(ptxas: &Found, target: &str, frame: &(String, String), all: &[String]) -> Vec<Vec<String>> {
    // ptxas stops reading after an operand `_`, which old PTX versions do not have.
    let texts: Vec<&[String]> =
        all.chunk_by(|one, next| ![one, next].iter().any(|text| text.contains(" _,"))).collect();
    let texts: Vec<&[String]> = texts.iter().flat_map(|part| part.chunks(IN_TEXT)).collect();
    let complaints = |cases: &&[String]| {
        let (before, after) = frame;
        let first = before.lines().count() + 1;
        let mut found = errors(ptxas, target, &format!("{before}{}\n{after}", cases.join("\n")));
        (0..cases.len()).map(|at| found.remove(&(first + at)).unwrap_or_default()).collect::<Vec<_>>()
    };
    in_two_threads(&texts, complaints).concat()
}

/// Returns for each module why ptxas refuses it.
pub(crate) fn modules(ptxas: &Found, all: &[String]) -> Vec<Option<String>> {
    in_two_threads(all, |text| {
        let targets = text.split(' ').filter(|word| word.starts_with("sm_"));
        // ptxas cannot assemble for every target that a text may name.
        let target = targets.take(1).find(|target| KNOWN.contains(target));
        let found = errors(ptxas, target.unwrap_or("sm_90"), text);
        found.into_values().flatten().next()
    })
}

/// Returns the results for all items, computed by two threads.
fn in_two_threads<T: Sync, R: Send>(all: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (one, other) = all.split_at(all.len() / 2);
    let half = |items: &[T]| items.iter().map(&run).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| half(one));
        let second = half(other);
        let mut all = first.join().unwrap();
        all.extend(second);
        all
    })
}

/// Assembles the instructions that are not refused yet, until ptxas refuses no more of them.
fn batch(ptxas: &Found, target: &str, frame: &(String, String), cases: &[String]) -> Vec<Option<String>> {
    let mut refused: Vec<Option<String>> = vec![None; cases.len()];
    let (before, after) = frame;
    let first = before.lines().count() + 1;
    loop {
        let lines = cases.iter().zip(&refused).map(|(case, why)| match why {
            None => case.as_str(),
            Some(_) => "",
        });
        let text = format!("{before}{}\n{after}", lines.collect::<Vec<_>>().join("\n"));
        let found = errors(ptxas, target, &text);
        if found.is_empty() {
            return refused;
        }
        let mut outside = None;
        for (line, mut why) in found {
            let why = why.swap_remove(0);
            match line.checked_sub(first).and_then(|at| refused.get_mut(at)) {
                Some(refused) => *refused = Some(why),
                None => outside = Some(why),
            }
        }
        // ptxas reports late errors at the line of the kernel; bisection finds the instruction.
        let left: Vec<usize> = (0..cases.len()).filter(|&at| refused[at].is_none()).collect();
        if let Some(why) = outside {
            if let [only] = left[..] {
                refused[only] = Some(why);
                return refused;
            }
            let (one, other) = left.split_at(left.len() / 2);
            for half in [one, other] {
                let cases: Vec<String> = half.iter().map(|&at| cases[at].clone()).collect();
                for (at, why) in half.iter().zip(batch(ptxas, target, frame, &cases)) {
                    refused[*at] = why;
                }
            }
            return refused;
        }
    }
}

/// Returns the lines that ptxas refuses, with all reasons.
fn errors(ptxas: &Found, target: &str, text: &str) -> HashMap<usize, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.ptx");
    std::fs::write(&source, text).unwrap();
    // On some texts, ptxas uses all memory and does not end; the memory limit turns this into a refusal.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000 && exec \"$@\"", "sh"]).arg(&ptxas.path);
    command.args([&format!("-arch={target}"), "-O0", "-o"]);
    command.args([&folder.path().join("a.cubin"), &source]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    let mut found = HashMap::<usize, Vec<String>>::new();
    for line in messages.lines() {
        if let Some((_, rest)) = line.split_once("uses 32-bit address on line '") {
            let (number, _) = rest.split_once('\'').unwrap();
            found.entry(number.parse().unwrap()).or_default().push("32-bit address".to_owned());
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
        found.entry(number.parse().unwrap()).or_default().push(why.trim().to_owned());
    }
    if !output.status.success() && found.is_empty() {
        // ptxas crashed.
        found.insert(0, vec![format!("{}: {messages}", output.status)]);
    }
    found
}
