//! `LADDER_PROFILE`: a report of the program's launches.

use std::path::Path;
use std::sync::{LazyLock, Mutex};

use devices::occupancy::Usage;
use driver::Watcher;
use report::Report;
use simt::{Function, Launch, Simulator};
use simt_check::{Checks, Sanitized};

/// The environment variable that names the file of the report: `report.html`, `report.json` or `report.csv`.
const PROFILE: &str = "LADDER_PROFILE";
/// The environment variable with the distance between two launches of a kernel that are explained. By default, only the
/// first launch is explained.
const EVERY: &str = "LADDER_PROFILE_EVERY";
/// The environment variable that identifies a run of several processes. Each process writes a separate file.
const RUN: &str = "LADDER_PROFILE_RUN";

/// The report, or `None` if it cannot be written.
struct Opened {
    report: Option<Report>,
    /// The problem with opening the report, until it is reported.
    problem: Mutex<Option<String>>,
}

/// The report, which is opened when the program first launches a kernel or gets a message.
static REPORT: LazyLock<Opened> = LazyLock::new(|| {
    let path = std::env::var_os(PROFILE).unwrap_or_default();
    let path = match std::env::var(RUN) {
        Ok(run) => report::files::numbered(Path::new(&path), &run),
        Err(_) => path.into(),
    };
    let (every, problem) = match std::env::var(EVERY).map(|text| (text.parse(), text)) {
        Err(_) => (0, None),
        Ok((Ok(every), _)) => (every, None),
        Ok((Err(_), text)) => (0, Some(format!("{EVERY}={text} is not a number of launches; the first is explained"))),
    };
    let mut words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut() {
        *program = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    }
    let open = |path: &Path| Report::new(path, words.join(" "), driver::description()?, every, usage);
    match open(&path) {
        Ok(report) => Opened { report: Some(report), problem: Mutex::new(problem) },
        Err(why) => {
            let fallback = std::env::temp_dir().join(format!("ladder-report-{}.html", std::process::id()));
            let message = format!("{PROFILE}: {why}; the report will be in {}", fallback.display());
            Opened { report: open(&fallback).ok(), problem: Mutex::new(Some(message)) }
        }
    }
});

/// Returns the report, if there is one. The first call reports any problem.
fn report() -> Option<&'static Report> {
    let Opened { report, problem } = &*REPORT;
    let problem = problem.lock().ok().and_then(|mut problem| problem.take());
    if let Some(problem) = problem {
        driver::tell(&problem);
    }
    report.as_ref()
}

struct Profiler;

impl Watcher for Profiler {
    fn launch(&self, simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Sanitized<()> {
        match report() {
            Some(report) => report.launch(simulator, launch, checks).map(drop),
            None => checks.launch(simulator, launch).map(drop),
        }
    }

    fn message(&self, text: &str) {
        if let Some(report) = report() {
            report.message(text);
        }
    }
}

/// Returns the resource usage of a kernel according to `ptxas`, if `ptxas` is available.
fn usage(function: &Function, arch: &str) -> Option<Usage> {
    let used = toolkit::ptxas::usage_of(function.ptx(), function.name(), function.target(), arch).ok()?;
    Some(Usage { registers: used.registers, shared_bytes: used.shared_bytes, barriers: used.barriers })
}

/// Begins the report if the program requests one. The report ends with the program.
pub(crate) fn begin() {
    if std::env::var_os(PROFILE).is_some_and(|path| !path.is_empty()) {
        driver::watch(Box::new(Profiler));
        report::at_exit(end);
    }
}

extern "C" fn end() {
    // If the program had no launch and no message, the report was never opened.
    let report = LazyLock::get(&REPORT).and_then(|opened| opened.report.as_ref());
    if let Some(Ok(said) | Err(said)) = report.and_then(Report::finish) {
        driver::tell(&said);
    }
}
