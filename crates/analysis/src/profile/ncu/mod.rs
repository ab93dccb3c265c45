//! Nsight Compute, run on this very program: it profiles one launch of each rung, and its metrics are read back as
//! CSV.
//!
//! The card's settings are not changed: `--clock-control none` leaves its clocks as they are, and when the driver does
//! not allow the user to read counters, this is only reported.

mod find;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use find::find;
pub use table::{Profiled, read};

use super::error::ProfileError;
use crate::counters::Numbers;
use engine::launch::Launch;
use engine::registry::Rung;
use engine::selection::Selection;
use engine::size::dims;

/// The exit code and the output of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// Runs a program and waits for its end. [`System`] starts a process; tests replay recorded output.
pub trait Runner {
    /// Runs it.
    ///
    /// # Errors
    /// The system's error when it cannot be started.
    fn run(&self, program: &Path, args: &[OsString]) -> std::io::Result<Ended>;
}

/// Runs programs as processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Runner for System {
    fn run(&self, program: &Path, args: &[OsString]) -> std::io::Result<Ended> {
        // This locale writes numbers with a decimal point.
        let output = Command::new(program)
            .args(args)
            .env("LC_ALL", "C")
            .output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ended {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        })
    }
}

/// Nsight Compute and the program that it profiles.
pub struct Ncu<'a> {
    /// `ncu`.
    pub program: PathBuf,
    /// This program.
    pub own: PathBuf,
    /// The GPU's name, for errors.
    pub device: String,
    /// Starts it.
    pub runner: &'a dyn Runner,
}

/// The metrics to collect.
#[derive(Clone, Debug, Default)]
pub struct MetricSet {
    /// The metrics that the chip must have.
    pub needed: BTreeSet<String>,
    /// The metrics that are left out when the chip does not have them.
    pub optional: BTreeSet<String>,
}

impl Ncu<'_> {
    /// Profiles each of these launches of a ladder once, and returns their numbers in the same order.
    ///
    /// # Errors
    /// [`ProfileError`] when `ncu` cannot be started, may not read the counters, does not know a required metric, or
    /// fails, and when its table cannot be read or lacks a launch.
    pub fn profile(
        &self,
        selection: &Selection,
        launches: &[(&'static Rung, Launch)],
        block: Option<[u32; 3]>,
        wanted: &MetricSet,
    ) -> Result<Vec<Numbers>, ProfileError> {
        if launches.is_empty() {
            return Ok(Vec::new());
        }
        let entries = launches.iter().map(|(_, launch)| launch.entry.as_str());
        let entries: Vec<&str> = entries.collect();
        let own = own_args(selection, launches, block);
        let metrics = wanted.needed.union(&wanted.optional);
        let mut metrics: BTreeSet<&str> = metrics.map(String::as_str).collect();
        let ended = loop {
            let args = args(&entries, &metrics, &self.own, &own);
            let ended = self.run(&args)?;
            // The loop ends because each attempt has fewer metrics.
            let unknown = unknown_metrics(&ended, &metrics);
            let needed: Vec<&String> = unknown
                .iter()
                .filter(|name| wanted.needed.contains(*name))
                .collect();
            if !needed.is_empty() {
                return Err(ProfileError::NotOnChip {
                    metrics: needed.into_iter().cloned().collect(),
                    device: self.device.clone(),
                });
            }
            if unknown.is_empty() {
                break ended;
            }
            metrics.retain(|name| !unknown.iter().any(|unknown| unknown == name));
        };
        let complains = |text: &str| text.lines().any(|line| line.starts_with("==ERROR=="));
        if ended.code != Some(0) || complains(&ended.out) || complains(&ended.err) {
            return Err(ProfileError::Failed {
                version: self.version(),
                status: ended.code,
                said: said(&ended),
            });
        }
        let profiled = read(&ended.out, |name| metrics.contains(name))
            .map_err(|why| self.form(why, &ended))?;
        let numbers = entries.into_iter();
        numbers
            .map(|entry| self.numbers(entry, &profiled, wanted, &ended))
            .collect()
    }

    /// The numbers of the one launch of an entry.
    fn numbers(
        &self,
        entry: &str,
        profiled: &[Profiled],
        wanted: &MetricSet,
        ended: &Ended,
    ) -> Result<Numbers, ProfileError> {
        let mut of_entry = profiled.iter().filter(|one| one.kernel == entry);
        let (Some(one), None) = (of_entry.next(), of_entry.next()) else {
            let count = profiled.iter().filter(|one| one.kernel == entry).count();
            let why = format!("its table has {count} launches of {entry}, not one");
            return Err(self.form(why, ended));
        };
        let absent: Vec<String> = wanted
            .needed
            .iter()
            .filter(|name| one.numbers.get(name).is_none() && !one.without.contains(name))
            .cloned()
            .collect();
        if absent.is_empty() {
            Ok(one.numbers.clone())
        } else {
            Err(ProfileError::NotOnChip {
                metrics: absent,
                device: self.device.clone(),
            })
        }
    }

    fn run(&self, args: &[OsString]) -> Result<Ended, ProfileError> {
        let ended = self
            .runner
            .run(&self.program, args)
            .map_err(|error| ProfileError::Start {
                program: self.program.display().to_string(),
                why: error.to_string(),
            })?;
        if said(&ended).contains("ERR_NVGPUCTRPERM") {
            return Err(ProfileError::Refused);
        }
        Ok(ended)
    }

    fn form(&self, why: String, ended: &Ended) -> ProfileError {
        ProfileError::Form {
            version: self.version(),
            why,
            text: format!("{}\n{}", ended.out, ended.err),
        }
    }

    /// Its name and version, as far as it reports one.
    pub fn version(&self) -> String {
        let told = self.runner.run(&self.program, &["--version".into()]);
        let out = told.map(|ended| ended.out).unwrap_or_default();
        let version = out
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Version "))
            .next_back();
        match version {
            Some(version) => format!("ncu {version}"),
            None => format!("{} of an unknown version", self.program.display()),
        }
    }
}

/// The arguments of `ncu`: to collect these metrics of launches of these entries, while `own` runs with `own_args`.
fn args(
    entries: &[&str],
    metrics: &BTreeSet<&str>,
    own: &Path,
    own_args: &[OsString],
) -> Vec<OsString> {
    let metrics: Vec<&str> = metrics.iter().copied().collect();
    let mut args: Vec<OsString> = [
        "--clock-control",
        "none",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--kernel-name-base",
        "function",
        "--kernel-name",
    ]
    .map(OsString::from)
    .into();
    args.push(format!("regex:^({})$", entries.join("|")).into());
    args.push("--metrics".into());
    args.push(metrics.join(",").into());
    args.push(own.into());
    args.extend_from_slice(own_args);
    args
}

/// The arguments with which this program launches each of the rungs once: a check of the ladder without times, so that
/// the kernels for timing are not launched.
fn own_args(
    selection: &Selection,
    launches: &[(&'static Rung, Launch)],
    block: Option<[u32; 3]>,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["run".into(), selection.ladder.name.into(), "--rung".into()];
    args.extend(launches.iter().map(|(rung, _)| rung.name.into()));
    for (name, value) in &selection.given {
        args.push(format!("--{name}={value}").into());
    }
    if let Some(block) = block {
        args.push(format!("--block={}", dims(block)).into());
    }
    args.extend(["--no-time", "--device", "gpu"].map(OsString::from));
    args
}

/// The lines with the error messages of `ncu` and of the program that it ran; all lines when there are none.
fn said(ended: &Ended) -> String {
    let both = format!("{}\n{}", ended.err, ended.out);
    let complaints: Vec<&str> = both
        .lines()
        .filter(|line| {
            ["==ERROR==", "error", "wrong"]
                .iter()
                .any(|word| line.starts_with(word))
        })
        .collect();
    if complaints.is_empty() {
        both
    } else {
        complaints.join("\n")
    }
}

/// The metrics that `ncu` reports as not found. It names them in regular expressions, some with all possible suffixes
/// of the name.
fn unknown_metrics(ended: &Ended, metrics: &BTreeSet<&str>) -> Vec<String> {
    let both = format!("{}\n{}", ended.out, ended.err).replace('\\', "");
    let lines: Vec<&str> = both
        .lines()
        .filter(|line| line.contains("Failed to find metric"))
        .collect();
    let is_in = |name: &str| lines.iter().any(|line| line.contains(name));
    let whole: Vec<&str> = metrics.iter().copied().filter(|name| is_in(name)).collect();
    let by_base = metrics.iter().copied().filter(|name| {
        let base = name.split('.').next().unwrap_or(name);
        is_in(&format!("{base}.")) || is_in(&format!("{base}$"))
    });
    let unknown = if whole.is_empty() {
        by_base.collect()
    } else {
        whole
    };
    unknown.into_iter().map(str::to_owned).collect()
}
