//! `LADDER_PROFILE`: a report of the program's launches.

use std::ffi::c_int;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use devices::occupancy::Usage;
use driver::Watcher;
use report::Report;
use simt::sanitize::{Checks, Sanitized};
use simt::{Function, Launch, Machine};

/// The environment variable that names the file of the report: `report.html`, `report.json` or `report.csv`.
const PROFILE: &str = "LADDER_PROFILE";
/// The environment variable that says how many launches of a kernel lie between two that are explained; without it, only the first
/// is.
const EVERY: &str = "LADDER_PROFILE_EVERY";
/// The environment variable that a run of several processes has in common, each of which writes a file.
const RUN: &str = "LADDER_PROFILE_RUN";

/// Made when the program first launches a kernel or gets a message. The error says why there is none.
static REPORT: LazyLock<Result<Report, String>> = LazyLock::new(|| {
    let path = std::env::var_os(PROFILE).unwrap_or_default();
    let every = match std::env::var(EVERY) {
        Err(_) => 0,
        Ok(text) => text.parse().map_err(|_| format!("{EVERY}={text} is not a number of launches"))?,
    };
    let path = match std::env::var(RUN) {
        Ok(run) => report::files::numbered(Path::new(&path), &run),
        Err(_) => path.into(),
    };
    let program: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    Report::new(&path, program.join(" "), driver::description()?, every, usage)
});

struct Profiler;

impl Watcher for Profiler {
    fn launch(&self, machine: &mut Machine, launch: &Launch<'_>, checks: Checks) -> Sanitized<()> {
        match &*REPORT {
            Ok(report) => report.launch(machine, launch, checks),
            Err(why) => {
                static IS_SAID: AtomicBool = AtomicBool::new(false);
                if !IS_SAID.swap(true, Ordering::Relaxed) {
                    driver::tell(&format!("{PROFILE}: {why}; the program runs without a report"));
                }
                machine.launch_sanitized(launch, checks).map(drop)
            }
        }
    }

    fn message(&self, text: &str) {
        if let Ok(report) = &*REPORT {
            report.message(text);
        }
    }
}

/// What `ptxas` says of a kernel, where there is one.
fn usage(function: &Function, arch: &str) -> Option<Usage> {
    let used = toolkit::ptxas::usage_of(function.ptx(), function.name(), function.target(), arch).ok()?;
    Some(Usage { registers: used.registers, shared_bytes: used.shared_bytes, barriers: used.barriers })
}

unsafe extern "C" {
    /// Registers a function that is called when the process ends (C11 7.22.4.2).
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Writes the report of a program that asks for one, from now on until the program ends.
pub(crate) fn begin() {
    if std::env::var_os(PROFILE).is_some_and(|path| !path.is_empty()) {
        driver::watch(Box::new(Profiler));
        atexit(end);
    }
}

extern "C" fn end() {
    // A program without a launch or a message has made none.
    if let Some(Ok(report)) = LazyLock::get(&REPORT) {
        match report.finish() {
            Some(Ok(said) | Err(said)) => driver::tell(&said),
            None => {}
        }
    }
}
