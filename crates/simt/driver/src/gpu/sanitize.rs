//! The sanitizers for programs that request them, and their findings in all launches of a process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use simt::{FaultKind, Launch, LaunchError, Simulator};
use simt_check::diagnostic::Diagnostic;
use simt_check::{Check, Checks, Extra, Finding, Sanitized};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::abi::report;
use crate::abi::watch::watcher;
use crate::gpu::ranges::{self, Kind};

/// The environment variable that selects the sanitizers: `memory`, `init`, `race` and `sync`, separated by commas, or
/// `all`. By default, nothing is checked. Options such as `leaks` and `barriers` change what the sanitizers look for
/// ([`Extra`]).
pub const SANITIZE: &str = "LADDER_SANITIZE";

/// The environment variable with the exit code of a process whose kernels have findings, 1 to 255. By default, findings
/// do not change the exit code. A process with an invalid [`SANITIZE`] also ends with this code.
pub const SANITIZE_EXIT: &str = "LADDER_SANITIZE_EXIT";

/// The environment variable with the number of random schedules in which each launch is tried before it runs, up to
/// 1000. The effects of these runs are undone.
pub const SCHEDULES: &str = "LADDER_SCHEDULES";

/// The maximum number of schedules for a launch.
const MOST_SCHEDULES: u32 = 1000;

/// The maximum number of findings that a process reports in full. Further findings are counted, and the summary lists
/// their lines.
const SHOWN: usize = 100;
/// The maximum number of distinct findings that are tracked, and the maximum number of leaks that are reported.
const KNOWN: usize = 10_000;
const LEAKS: usize = 20;
/// The maximum number of source lines in the summary.
const LINES: usize = 50;

/// The identity of a finding: the check, the kernel, and one or two lines of the source, or of the PTX if there is no
/// source.
type Places = (Check, String, (String, u32), Option<(String, u32)>);

/// The sanitizers of a driver's launches.
#[derive(Default)]
pub(crate) struct Sanitizer {
    checks: Checks,
    schedules: u32,
    found: Mutex<Found>,
}

/// The findings of all launches.
#[derive(Default)]
struct Found {
    launches: u64,
    /// The number of occurrences of each finding. A program may launch the same kernel many times.
    times: HashMap<Places, u64>,
    /// The number of findings that were reported in full.
    shown: usize,
    /// Notes about what could not be checked, each with its kernel.
    noted: BTreeSet<(String, String)>,
    leaks: u64,
}

/// The exit code of a process with findings; 0 before the first finding, or if findings do not change the exit code.
static EXIT_CODE: AtomicU8 = AtomicU8::new(0);

/// Returns the exit code for findings, if there are any and the environment sets a code.
pub(crate) fn code_of_findings() -> Option<u8> {
    Some(EXIT_CODE.load(Ordering::Relaxed)).filter(|code| *code > 0)
}

/// Returns the value of an environment variable, unless the value is empty.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|text| text.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
}

/// Returns the exit code that the environment sets, or `None`.
fn exit_code() -> Result<Option<u8>> {
    let Some(text) = variable(SANITIZE_EXIT) else { return Ok(None) };
    match text.parse() {
        Ok(code @ 1..) => Ok(Some(code)),
        _ => Err(refused(
            format!("{SANITIZE_EXIT}={text} is not an exit code for failures"),
            "give a number from 1 to 255".to_owned(),
        )),
    }
}

/// Returns the number of schedules that the environment sets.
fn schedules() -> Result<u32> {
    let Some(text) = variable(SCHEDULES) else { return Ok(0) };
    match text.parse() {
        Ok(count @ 0..=MOST_SCHEDULES) => Ok(count),
        _ => Err(refused(
            format!("{SCHEDULES}={text} is not a number of schedules"),
            format!("give a number from 0 to {MOST_SCHEDULES}"),
        )),
    }
}

/// Returns the error for a variable with an invalid value.
fn refused(title: String, help: String) -> Error {
    let diagnostic = Diagnostic::without_place(None, title.clone(), Vec::new(), help);
    Error { diagnostic: Some(Box::new(diagnostic)), ..Error::new(Code::INVALID_VALUE, title) }
}

impl Sanitizer {
    /// Returns the sanitizers that the environment selects.
    ///
    /// # Errors
    /// Returns `CUDA_ERROR_INVALID_VALUE` when a variable has an invalid value.
    pub(crate) fn from_environment() -> Result<Self> {
        let (code, schedules) = (exit_code()?, schedules()?);
        let Some(text) = variable(SANITIZE) else {
            for (name, is_set) in [(SANITIZE_EXIT, code.is_some()), (SCHEDULES, schedules > 0)] {
                if is_set {
                    report::tell(&format!(
                        "warning: {name} has no effect without {SANITIZE}\nhelp: set {SANITIZE}=all"
                    ));
                }
            }
            return Ok(Self::default());
        };
        let checks = text.parse::<Checks>().map_err(|why| {
            EXIT_CODE.store(code.unwrap_or(0), Ordering::Relaxed);
            let (title, help) = why.split_once("; ").unwrap_or((&why, "use `none` alone, or remove it from the list"));
            refused(format!("{SANITIZE}: {title}"), help.to_owned())
        })?;
        Ok(Self { checks, schedules, ..Self::default() })
    }

    /// Runs a kernel and reports the findings.
    pub(crate) fn run(&self, simulator: &mut Simulator, launch: &Launch<'_>) -> std::result::Result<(), LaunchError> {
        let Sanitized { result, findings, notes } = match watcher() {
            Some(watcher) => watcher.launch(simulator, launch, self.checks),
            None if self.checks.is_empty() => return simulator.launch(launch),
            None => self.checks.launch_in_orders(simulator, launch, self.schedules).map(drop),
        };
        let mut found = lock(&self.found);
        found.launches += 1;
        let before = found.shown;
        let new: Vec<&Finding> = findings.iter().filter(|finding| found.add(finding)).collect();
        let (is_full, name) = (before < SHOWN && found.shown >= SHOWN, launch.function.name().to_owned());
        let is_new = |note: &String| found.noted.len() < KNOWN && found.noted.insert((name.clone(), note.clone()));
        let notes: Vec<String> = notes.into_iter().filter(is_new).collect();
        drop(found);
        if !new.is_empty() {
            self.fail();
            let mut diagnostics = Diagnostic::of_findings(new);
            diagnostics.truncate(SHOWN.saturating_sub(before));
            if !diagnostics.is_empty() {
                report::diagnostics("the sanitizers report findings", &diagnostics);
            }
            if is_full {
                report::tell("further findings are only counted; the summary at the end lists their lines");
            }
        }
        for note in notes {
            report::tell(&format!("{name}: {note}"));
        }
        result
    }

    /// Returns whether faults of this kind are reported as findings.
    pub(crate) fn finds(&self, fault: &FaultKind) -> bool {
        Check::of(fault).is_some_and(|check| self.checks.contains(check))
    }

    /// Makes the process end with the exit code for findings, if the environment sets one.
    fn fail(&self) {
        if let Ok(Some(code)) = exit_code() {
            EXIT_CODE.store(code, Ordering::Relaxed);
        }
    }

    /// Reports the unfreed memory of a context that ends, or of all contexts when the process ends, if leaks are
    /// checked.
    pub(crate) fn report_leaks(&self, context: Option<Handle>, simulator: &Simulator) {
        if !self.checks.has_extra(Extra::Leaks) {
            return;
        }
        let is_leak = |range: &&ranges::Range| {
            let is_programs = matches!(range.kind, Kind::Device | Kind::Host | Kind::Managed | Kind::Array);
            is_programs && !range.is_freed && context.is_none_or(|context| context == range.context)
        };
        let mut leaks: Vec<ranges::Range> = ranges::all().values().filter(is_leak).cloned().collect();
        leaks.sort_by_key(|range| range.id);
        let leak = |title: String, note: String, help: &str| {
            Diagnostic::without_place(Some(Check::Memory), title, vec![note], help.to_owned())
        };
        let mut diagnostics: Vec<Diagnostic> = leaks
            .iter()
            .take(LEAKS)
            .map(|range| {
                let (what, help) = match range.kind {
                    Kind::Host => ("page-locked host memory", "free it with `cudaFreeHost` (`cuMemFreeHost`)"),
                    Kind::Managed => ("managed memory", "free it with `cudaFree` (`cuMemFree`)"),
                    Kind::Array => ("an array", "free it with `cudaFreeArray` (`cuArrayDestroy`)"),
                    _ => ("device memory", "free it with `cudaFree` (`cuMemFree`)"),
                };
                let note = format!("at {:#x}, the {} allocation of the process", range.base, ordinal(range.id));
                leak(format!("leak of {} bytes of {what}", range.bytes), note, help)
            })
            .collect();
        let (blocks, bytes) = simulator.heap_in_use();
        if blocks > 0 {
            let note = format!("{blocks} blocks that kernels allocated with `malloc`");
            let help = "free each block with `free` in a kernel";
            diagnostics.push(leak(format!("leak of {bytes} bytes of the device's heap"), note, help));
        }
        if diagnostics.is_empty() {
            return;
        }
        lock(&self.found).leaks += leaks.len() as u64 + u64::from(blocks > 0);
        self.fail();
        report::diagnostics("a context or the process ended with memory still allocated", &diagnostics);
        if leaks.len() > LEAKS {
            let bytes: u64 = leaks[LEAKS..].iter().map(|range| range.bytes).sum();
            report::tell(&format!("{} more leaks, {bytes} bytes in total", leaks.len() - LEAKS));
        }
    }

    /// Returns whether all sanitizers are off.
    pub(crate) fn is_off(&self) -> bool {
        self.checks.is_empty()
    }

    /// Returns the findings of the whole process, by line.
    pub(crate) fn summary(&self) -> String {
        let found = lock(&self.found);
        let mut lines: BTreeMap<&(String, u32), BTreeMap<&str, u64>> = BTreeMap::new();
        for ((check, _, line, _), times) in &found.times {
            *lines.entry(line).or_default().entry(check.name()).or_default() += times;
        }
        let count = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let findings = found.times.len() as u64 + found.leaks;
        let mut text = match findings {
            0 => "no findings".to_owned(),
            _ if found.times.is_empty() => count(findings, "finding"),
            _ => format!("{} at {}", count(findings, "finding"), count(lines.len() as u64, "line")),
        };
        let launches = if found.launches == 1 { "launch" } else { "launches" };
        let checks = self.checks.names().join(", ");
        let _ = write!(text, " in {} {launches}; sanitizers: {checks}", found.launches);
        let here = std::env::current_dir().unwrap_or_default();
        for ((file, line), checks) in lines.iter().take(LINES) {
            let path = Path::new(file).strip_prefix(&here).unwrap_or(Path::new(file));
            let times = |(check, times): (&&str, &u64)| format!("{check} {}", count(*times, "time"));
            let checks: Vec<String> = checks.iter().map(times).collect();
            let _ = write!(text, "\n  {}:{line}: {}", path.display(), checks.join(", "));
        }
        if lines.len() > LINES {
            let _ = write!(text, "\n  {} more lines", lines.len() - LINES);
        }
        if found.leaks > 0 {
            let _ = write!(text, "\n  {} of memory", count(found.leaks, "leak"));
        }
        text
    }
}

impl Found {
    /// Counts a finding and returns whether to report it: true for the first finding at its lines.
    fn add(&mut self, finding: &Finding) -> bool {
        let places = places(finding);
        if let Some(times) = self.times.get_mut(&places) {
            *times += finding.times;
            return false;
        }
        if self.times.len() >= KNOWN {
            return false;
        }
        self.times.insert(places, finding.times);
        self.shown += 1;
        self.shown <= SHOWN
    }
}

fn places(finding: &Finding) -> Places {
    let unnamed = || format!("the PTX of {}", finding.kernel);
    let place = |source: &Option<(String, u32)>, ptx_line| source.clone().unwrap_or_else(|| (unnamed(), ptx_line));
    let other = finding.other.as_ref().map(|other| place(&other.source, other.ptx_line));
    (finding.check, finding.kernel.clone(), place(&finding.source, finding.ptx_line), other)
}

/// Returns a number as `1st`, `2nd` and so on.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
