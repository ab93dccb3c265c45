//! Runs Nsight Compute on this program: it profiles one launch of each rung and writes the metrics as CSV, which this
//! module reads.
//!
//! The card's settings are not changed. `--clock-control none` leaves its clocks unchanged. If the driver does not
//! allow the user to read counters, the module only reports this.

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use table::{ProfiledLaunch, read};

use super::metrics::did_you_mean;
use crate::Error;
use engine::launch::Launch;
use engine::registry::Rung;
use engine::selection::Selection;
use engine::size::dims;
use profile::counters::Numbers;
use toolkit::Tool;

/// The exit code and the output of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The standard output.
    pub out: String,
    /// The standard error.
    pub err: String,
}

/// Runs a program and waits until it exits. [`System`] starts a process; tests replay recorded output.
pub trait Runner {
    /// Runs the program.
    ///
    /// # Errors
    /// Returns the system's error when the program cannot be started.
    fn run(&self, program: &Path, args: &[OsString]) -> std::io::Result<ProgramOutput>;
}

/// Runs programs as processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Runner for System {
    fn run(&self, program: &Path, args: &[OsString]) -> std::io::Result<ProgramOutput> {
        // This locale writes numbers with a decimal point.
        let output = Command::new(program).args(args).env("LC_ALL", "C").output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(ProgramOutput { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
    }
}

/// Nsight Compute and the program that it profiles.
pub struct Ncu<'a> {
    /// The path of `ncu`.
    pub program: PathBuf,
    /// The path of the program to profile, which is this program.
    pub profiled: PathBuf,
    /// The GPU's name, for error messages.
    pub device: String,
    /// The runner that starts `ncu`.
    pub runner: &'a dyn Runner,
}

/// Returns the path of `ncu`: the named file, or else the file that [`toolkit::find`] finds.
///
/// # Errors
/// Returns [`Error::Request`] when the named file does not exist, and [`Error::NoNcu`] when no `ncu` is found.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Error> {
    match named {
        Some(named) if named.is_file() => Ok(named.to_owned()),
        Some(named) => Err(start_error(named, "there is no such file")),
        None => Ok(toolkit::find(Tool::Ncu).map_err(Error::NoNcu)?.path),
    }
}

fn start_error(program: &Path, why: impl Display) -> Error {
    let why = format!("{why}; give the path of Nsight Compute's `ncu` with --ncu");
    Error::file("start", program, why)
}

/// The metrics to collect.
#[derive(Clone, Debug, Default)]
pub struct MetricSet {
    /// The metrics that the chip must have.
    pub needed: BTreeSet<String>,
    /// The metrics that are left out if the chip does not have them.
    pub optional: BTreeSet<String>,
}

impl Ncu<'_> {
    /// Profiles each of these launches of a ladder once and returns their numbers in the same order.
    ///
    /// # Errors
    /// Returns [`Error`] when `ncu` cannot be started, is not allowed to read the counters, does not know a required
    /// metric, or fails. Also returns [`Error`] when its table cannot be read or lacks a launch.
    pub fn profile(
        &self,
        selection: &Selection,
        launches: &[(&'static Rung, Launch)],
        block: Option<[u32; 3]>,
        wanted: &MetricSet,
    ) -> Result<Vec<Numbers>, Error> {
        let entries: Vec<&str> = launches.iter().map(|(_, launch)| launch.entry.as_str()).collect();
        self.profile_entries(&entries, &program_args(selection, launches, block), wanted)
    }

    /// Profiles the program with these arguments. The program must launch each of these entries once. Returns their
    /// numbers in the same order.
    ///
    /// # Errors
    /// Returns the errors of [`Ncu::profile`].
    pub fn profile_entries(
        &self,
        entries: &[&str],
        program_args: &[OsString],
        wanted: &MetricSet,
    ) -> Result<Vec<Numbers>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut metrics: BTreeSet<&String> = wanted.needed.union(&wanted.optional).collect();
        let output = loop {
            let output = self.run(&args(entries, &metrics, &self.profiled, program_args))?;
            // The loop ends because each attempt requests fewer metrics.
            let unknown = unknown_metrics(&output, &metrics);
            let is_needed = |name: &&&String| wanted.needed.contains(**name);
            self.refuse_absent(unknown.iter().filter(is_needed))?;
            if unknown.is_empty() {
                break output;
            }
            metrics = &metrics - &unknown;
        };
        let complains = |text: &str| text.lines().any(|line| line.starts_with("==ERROR=="));
        if output.code != Some(0) || complains(&output.out) || complains(&output.err) {
            return Err(Error::Failed { version: self.version(), status: output.code, said: said(&output) });
        }
        let form = |why| Error::Form { version: self.version(), why, text: format!("{}\n{}", output.out, output.err) };
        let is_requested = |name: &str| metrics.iter().any(|metric| *metric == name);
        let profiled = read(&output.out, is_requested).map_err(form)?;
        let numbers = |entry: &str| {
            let of_entry: Vec<_> = profiled.iter().filter(|launch| launch.kernel == entry).collect();
            let [launch] = of_entry[..] else {
                let count = of_entry.len();
                return Err(form(format!("its table has {count} launches of {entry}, not one")));
            };
            let is_absent = |name: &&String| !launch.numbers.contains_key(*name) && !launch.without.contains(name);
            self.refuse_absent(wanted.needed.iter().filter(is_absent))?;
            Ok(launch.numbers.clone())
        };
        entries.iter().copied().map(numbers).collect()
    }

    /// Returns an error if the chip lacks required metrics.
    fn refuse_absent(&self, absent: impl Iterator<Item = impl ToString>) -> Result<(), Error> {
        let metrics: Vec<String> = absent.map(|name| name.to_string()).collect();
        match metrics.is_empty() {
            true => Ok(()),
            false => Err(Error::NotOnChip { hint: did_you_mean(&metrics), metrics, device: self.device.clone() }),
        }
    }

    fn run(&self, args: &[OsString]) -> Result<ProgramOutput, Error> {
        let output = self.runner.run(&self.program, args);
        let output = output.map_err(|error| start_error(&self.program, error))?;
        match said(&output).contains("ERR_NVGPUCTRPERM") {
            true => Err(Error::Refused),
            false => Ok(output),
        }
    }

    /// Returns the name of `ncu` and the version that it reports, if any.
    pub fn version(&self) -> String {
        let output = self.runner.run(&self.program, &["--version".into()]);
        let output = output.unwrap_or_default().out;
        let lines = output.lines().map(str::trim);
        let version = lines.filter_map(|line| line.strip_prefix("Version ")).next_back();
        match version {
            Some(version) => format!("ncu {version}"),
            None => format!("{} of an unknown version", self.program.display()),
        }
    }
}

/// Returns the arguments with which `ncu` runs `profiled` with `program_args` and collects these metrics for launches
/// of these entries.
fn args(entries: &[&str], metrics: &BTreeSet<&String>, profiled: &Path, program_args: &[OsString]) -> Vec<OsString> {
    let metrics: Vec<&str> = metrics.iter().map(|name| name.as_str()).collect();
    let fixed = "--clock-control none --csv --page raw --print-units base --kernel-name-base function --kernel-name";
    let mut args: Vec<OsString> = fixed.split(' ').map(OsString::from).collect();
    args.push(format!("regex:^({})$", entries.join("|")).into());
    args.push("--metrics".into());
    args.push(metrics.join(",").into());
    args.push(profiled.into());
    args.extend_from_slice(program_args);
    args
}

/// Returns the arguments with which this program launches each rung once: the ladder is checked but not timed, so that
/// timing launches are not profiled.
fn program_args(selection: &Selection, launches: &[(&'static Rung, Launch)], block: Option<[u32; 3]>) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["run".into()];
    args.extend(launches.iter().map(|(rung, _)| rung.name.into()));
    let options = selection.given.iter();
    args.extend(options.map(|(name, value)| format!("--{name}={value}").into()));
    args.extend(block.map(|block| format!("--block={}", dims(block)).into()));
    // Nsight Compute must profile only one process.
    args.extend(["--no-time", "--one-process", "--device", "gpu"].map(OsString::from));
    args
}

/// Returns the lines with the error messages of `ncu` and of the program that it ran, or all lines if there are none.
fn said(output: &ProgramOutput) -> String {
    let both = format!("{}\n{}", output.err, output.out);
    let begins = ["==ERROR==", "error", "wrong"];
    let is_complaint = |line: &&str| begins.iter().any(|word| line.starts_with(word));
    let complaints: Vec<&str> = both.lines().filter(is_complaint).collect();
    match complaints.is_empty() {
        true => both,
        false => complaints.join("\n"),
    }
}

/// Returns the metrics that `ncu` reports as not found. `ncu` names these metrics in regular expressions, some with all
/// possible suffixes of the name.
fn unknown_metrics<'a>(output: &ProgramOutput, metrics: &BTreeSet<&'a String>) -> BTreeSet<&'a String> {
    let both = format!("{}\n{}", output.out, output.err).replace('\\', "");
    let lines = both.lines().filter(|line| line.contains("Failed to find metric"));
    let lines: Vec<&str> = lines.collect();
    let is_in = |name: &str| lines.iter().any(|line| line.contains(name));
    let by_base = |name: &str| {
        let base = name.split('.').next().unwrap_or(name);
        is_in(&format!("{base}.")) || is_in(&format!("{base}$"))
    };
    let whole: BTreeSet<_> = metrics.iter().copied().filter(|name| is_in(name)).collect();
    match whole.is_empty() {
        true => metrics.iter().copied().filter(|name| by_base(name)).collect(),
        false => whole,
    }
}
