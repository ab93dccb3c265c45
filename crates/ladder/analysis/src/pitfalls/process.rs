//! Kernels that may fault or hang, each launched by a process of its own.

use std::ffi::OsString;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Outcome;
use crate::Error;

/// What stands before each line of compute-sanitizer's.
const MARGIN: &str = "========= ";

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProcessOutput {
    /// What it printed, to both outputs.
    said: String,
    /// Whether it ended by itself, within its time.
    in_time: bool,
}

/// Runs a program and ends it when it takes longer than `limit`.
fn run(program: &Path, args: &[OsString], limit: Duration) -> std::io::Result<ProcessOutput> {
    let mut output = tempfile::tempfile()?;
    let mut command = Command::new(program);
    command.args(args).env("LC_ALL", "C").stdin(Stdio::null());
    let mut child = command.stdout(output.try_clone()?).stderr(output.try_clone()?).spawn()?;
    let start = Instant::now();
    let in_time = loop {
        if child.try_wait()?.is_some() {
            break true;
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break false;
        }
        sleep(Duration::from_millis(10));
    };
    output.flush()?;
    output.rewind()?;
    let mut said = Vec::new();
    output.read_to_end(&mut said)?;
    Ok(ProcessOutput { said: String::from_utf8_lossy(&said).into_owned(), in_time })
}

/// Runs this program with these arguments, of which it prints an [`Outcome`] in a line, as JSON. A process that prints
/// none, or is not over after `limit`, has an outcome too.
///
/// # Errors
/// [`Error::Request`] when the program cannot be started.
pub fn measure(program: &Path, args: &[OsString], limit: Duration) -> Result<Outcome, Error> {
    let ended = run(program, args, limit).map_err(|why| Error::file("start", program, why))?;
    let outcome = ended.said.lines().find_map(|line| serde_json::from_str(line).ok());
    Ok(outcome.unwrap_or_else(|| match ended.in_time {
        false => Outcome::TimeOut,
        true => {
            let last = ended.said.lines().last().unwrap_or("the process ended without a word");
            Outcome::Error { says: last.to_owned() }
        }
    }))
}

/// What a tool of compute-sanitizer reports about this program with these arguments: its first words, or `nothing`.
///
/// # Errors
/// [`Error::Request`] when compute-sanitizer cannot be started.
pub fn sanitize(
    sanitizer: &Path,
    tool: &str,
    program: &Path,
    args: &[OsString],
    limit: Duration,
) -> Result<String, Error> {
    // The driver's errors are those of the launch, which is measured without a tool.
    let own = ["--tool", tool, "--report-api-errors", "no"].map(OsString::from);
    let mut all = own.to_vec();
    all.push(program.into());
    all.extend_from_slice(args);
    let ended = run(sanitizer, &all, limit).map_err(|why| Error::file("start", sanitizer, why))?;
    Ok(said(&ended))
}

/// The version of compute-sanitizer.
///
/// # Errors
/// [`Error::Request`] when it cannot be started.
pub fn version(sanitizer: &Path) -> Result<String, Error> {
    let limit = Duration::from_secs(30);
    let ended = run(sanitizer, &["--version".into()], limit).map_err(|why| Error::file("start", sanitizer, why))?;
    let line = ended.said.lines().find(|line| line.contains("ersion"));
    Ok(line.unwrap_or("compute-sanitizer").trim().to_owned())
}

/// What a tool found, by what it printed: `ERROR SUMMARY: 2 errors`, `RACECHECK SUMMARY: 1 hazard displayed …`. A tool
/// that was ended has no summary, and what it said before counts.
fn said(ended: &ProcessOutput) -> String {
    let lines = || ended.said.lines().filter_map(|line| line.strip_prefix(MARGIN)).map(str::trim);
    let is_summary = |line: &&str| line.contains("SUMMARY: ");
    let count = |line: &str| {
        let (_, after) = line.split_once("SUMMARY: ")?;
        after.split_whitespace().next()?.parse::<u64>().ok()
    };
    let is_frame = |line: &&str| line.is_empty() || line.starts_with("COMPUTE-SANITIZER") || line.starts_with("Target");
    let first = lines().find(|line| !is_frame(line) && !is_summary(line));
    let finds = match lines().find(is_summary).and_then(count) {
        Some(count) => count > 0,
        None => first.is_some(),
    };
    let says = match (finds, first, ended.in_time) {
        (true, Some(first), _) => first,
        (true, None, _) => "an error",
        (false, _, true) => "nothing",
        (false, _, false) => "nothing, and had to be ended",
    };
    says.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(text: &str, in_time: bool) -> String {
        said(&ProcessOutput { said: text.to_owned(), in_time })
    }

    #[test]
    fn a_tool_finds_what_its_summary_counts() {
        let found = "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n\
                     =========     at f+0x10\n{\"result\":\"right\"}\n========= ERROR SUMMARY: 1 error\n";
        assert_eq!(of(found, true), "Invalid __global__ read of size 4 bytes");
        let none = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(of(none, true), "nothing");
        let race = "========= COMPUTE-SANITIZER\n========= Error: Race reported between Write access\n\
                    ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
        assert_eq!(of(race, true), "Error: Race reported between Write access");
        let race = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(of(race, true), "nothing");
        assert_eq!(of("========= COMPUTE-SANITIZER\n", false), "nothing, and had to be ended");
        assert_eq!(
            of("========= COMPUTE-SANITIZER\n========= Barrier error detected\n", false),
            "Barrier error detected"
        );
    }

    #[test]
    fn a_process_is_ended_after_its_time() {
        let shell = |script: &str, seconds: f64| {
            let args = ["-c", script].map(OsString::from);
            measure(Path::new("/bin/sh"), &args, Duration::from_secs_f64(seconds)).unwrap()
        };
        assert_eq!(shell("sleep 30", 0.1), Outcome::TimeOut);
        assert_eq!(shell("echo '{\"result\":\"right\"}'; exit 1", 30.0), Outcome::Right);
        assert_eq!(shell("echo out; echo broken >&2", 30.0), Outcome::Error { says: "broken".to_owned() });
        assert!(measure(Path::new("no/such/program"), &[], Duration::from_secs(1)).is_err());
    }
}
