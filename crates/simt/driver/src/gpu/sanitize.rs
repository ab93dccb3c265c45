//! The machine's checks of kernels, for programs that ask for them.

use std::collections::HashSet;
use std::sync::Mutex;

use simt::diagnostic::Diagnostic;
use simt::sanitize::{Check, Checks, Finding, Sanitized};
use simt::{FaultKind, Launch, LaunchError, Machine};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::lock;
use crate::abi::report;
use crate::abi::watch::watcher;

/// The environment variable that says what to check kernels for: `memory`, `init`, `race` and `sync`, with commas between
/// them, or `all`. Nothing without it.
pub const SANITIZE: &str = "LADDER_SANITIZE";

/// What a finding is known by: the check, the kernel, and the lines of the source, or else of the PTX.
type Places = (Check, String, (String, u32), Option<(String, u32)>);

/// The checks of a driver's launches.
#[derive(Default)]
pub(crate) struct Sanitizer {
    checks: Checks,
    /// The places of what was told already. A program launches the same kernel many times.
    told: Mutex<HashSet<Places>>,
    /// What was told of what could not be checked, with the kernels.
    noted: Mutex<HashSet<(String, String)>>,
}

impl Sanitizer {
    /// The checks that the environment asks for.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when it asks for something else.
    pub(crate) fn from_environment() -> Result<Self> {
        let Some(text) = std::env::var_os(SANITIZE).filter(|text| !text.is_empty()) else {
            return Ok(Self::default());
        };
        let checks = text.to_string_lossy().parse::<Checks>();
        let checks = checks.map_err(|why| Error::new(Code::INVALID_VALUE, format!("{SANITIZE}: {why}")))?;
        Ok(Self { checks, ..Self::default() })
    }

    /// Runs a kernel, and writes what the checks find.
    pub(crate) fn run(&self, machine: &mut Machine, launch: &Launch<'_>) -> std::result::Result<(), LaunchError> {
        let Sanitized { result, findings, notes } = match watcher() {
            Some(watcher) => watcher.launch(machine, launch, self.checks),
            None if self.checks.is_empty() => return machine.launch(launch),
            None => machine.launch_sanitized(launch, self.checks).map(drop),
        };
        let mut told = lock(&self.told);
        let new: Vec<&Finding> = findings.iter().filter(|finding| !told.contains(&places(finding))).collect();
        told.extend(new.iter().map(|finding| places(finding)));
        drop(told);
        if !new.is_empty() {
            report::diagnostics("the sanitizers have findings", &Diagnostic::of_findings(new));
        }
        for note in notes {
            if lock(&self.noted).insert((launch.function.name().to_owned(), note.clone())) {
                report::tell(&format!("{}: {note}", launch.function.name()));
            }
        }
        result
    }

    /// Whether faults of this kind are among the findings.
    pub(crate) fn finds(&self, fault: &FaultKind) -> bool {
        Check::of(fault).is_some_and(|check| self.checks.contains(check))
    }
}

fn places(finding: &Finding) -> Places {
    let place = |source: &Option<(String, u32)>, ptx_line| source.clone().unwrap_or((String::new(), ptx_line));
    let other = finding.other.as_ref().map(|other| place(&other.source, other.ptx_line));
    (finding.check, finding.kernel.clone(), place(&finding.source, finding.ptx_line), other)
}
