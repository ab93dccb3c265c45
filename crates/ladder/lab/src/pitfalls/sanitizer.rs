//! NVIDIA's compute-sanitizer, and its findings for common bugs.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use analysis::pitfalls::TOOLS;
use cli::isolated::{Failure, Isolated, command};
use cli::{Env, Error};
use rayon::prelude::*;

/// The prefix of each line of compute-sanitizer's output.
const MARGIN: &str = "========= ";

/// Runs the tools of compute-sanitizer in parallel, each on a child of this process that launches the kernel. Returns
/// each tool's first message, or `nothing`.
///
/// # Errors
/// Returns an error when compute-sanitizer cannot be started.
pub(super) fn sanitize(
    sanitizer: &Path,
    kernel: &str,
    limit: Duration,
    env: &Env<'_>,
) -> Result<Vec<(&'static str, String)>, Error> {
    let child = command(env, &kernel)?;
    let run_tool = |tool| {
        let mut process = Command::new(sanitizer);
        // Driver errors are not reported, because they only repeat the launch's error, which is also measured without a
        // tool.
        process.args(["--tool", tool, "--report-api-errors", "no"]).arg(child.get_program()).args(child.get_args());
        process.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let (output, in_time) = output(process, limit)?;
        Ok((tool, report(&output, in_time)))
    };
    TOOLS.into_par_iter().map(run_tool).collect()
}

/// Returns the version of compute-sanitizer.
///
/// # Errors
/// Returns an error when compute-sanitizer cannot be started.
pub(super) fn version(sanitizer: &Path) -> Result<String, Error> {
    let mut process = Command::new(sanitizer);
    process.arg("--version");
    let (output, _) = output(process, Duration::from_secs(30))?;
    let line = output.lines().find(|line| line.contains("ersion"));
    Ok(line.unwrap_or("compute-sanitizer").trim().to_owned())
}

/// Returns the output of a process, and whether it exited within `limit`.
fn output(process: Command, limit: Duration) -> Result<(String, bool), Error> {
    let name = process.get_program().to_owned();
    let started = Isolated::start(process);
    let cannot = |why| Error::Request(format!("cannot start {}: {why}", name.display()));
    let (mut process, start, mut output) = (started.map_err(cannot)?, Instant::now(), String::new());
    loop {
        match process.line(start, limit)? {
            Ok(line) => output += &(line + "\n"),
            Err(why) => return Ok((output, matches!(why, Failure::Exit(_)))),
        }
    }
}

/// Extracts a tool's finding from its output, which contains `ERROR SUMMARY: 2 errors` or `RACECHECK SUMMARY: 1 hazard
/// displayed …`. A tool that exceeds its time limit writes no summary, so its first message is returned.
fn report(output: &str, in_time: bool) -> String {
    let lines = || output.lines().filter_map(|line| line.strip_prefix(MARGIN)).map(str::trim);
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
    let text = match (finds, first, in_time) {
        (true, Some(first), _) => first,
        (true, None, _) => "an error",
        (false, _, true) => "nothing",
        (false, _, false) => "nothing, and timed out",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_finds_what_its_summary_counts() {
        let found = "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n\
                     =========     at f+0x10\n{\"result\":\"right\"}\n========= ERROR SUMMARY: 1 error\n";
        assert_eq!(report(found, true), "Invalid __global__ read of size 4 bytes");
        let none = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(report(none, true), "nothing");
        let race = "========= COMPUTE-SANITIZER\n========= Error: Race reported between Write access\n\
                    ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";
        assert_eq!(report(race, true), "Error: Race reported between Write access");
        let race = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(report(race, true), "nothing");
        assert_eq!(report("========= COMPUTE-SANITIZER\n", false), "nothing, and timed out");
        assert_eq!(
            report("========= COMPUTE-SANITIZER\n========= Barrier error detected\n", false),
            "Barrier error detected"
        );
    }
}
