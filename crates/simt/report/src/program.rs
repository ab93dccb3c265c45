//! The launches of a program, and the file that explains the launches.

use std::ffi::{OsStr, c_int};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use devices::{Description, Limits};
use indexmap::IndexMap;
use profile::{Geometry, Recorder, Watch};
use rustc_hash::FxHasher;
use serde::Serialize;
use simt::counters::SiteCounters;
use simt::{Function, Launch, LaunchError, Simulator};
use simt_check::diagnostic::{Diagnostic, Style, texts};
use simt_check::{Checks, Sanitized};

use crate::launch::{LaunchRecord, Section};
use crate::sources::SourceFiles;
use crate::{csv, files, page};

/// The maximum numbers of explained launches, listed kernels and recorded messages.
const MOST_EXPLAINED: usize = 200;
const MOST_KERNELS: usize = 2000;
const MOST_MESSAGES: usize = 100;
/// A file is written again if the last write took less than 1/`WRITING` of the time since that write.
const WRITING: u32 = 20;

/// The format of a report's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A page for a browser.
    Html,
    /// The launches as data.
    Json,
    /// A table with the columns of `ncu --csv --page raw`.
    Csv,
}

impl Form {
    /// Returns the format for a file with this name.
    ///
    /// # Errors
    /// Returns a message when the name does not end in `.html`, `.json` or `.csv`.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(OsStr::to_str) {
            Some("html") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            _ => Err(format!("{} does not end in .html, .json or .csv", path.display())),
        }
    }

    /// Returns whether these are the contents of a report in this format, which a new report may replace.
    fn is_report(self, contents: &[u8]) -> bool {
        let mark: &str = match self {
            Self::Html => page::GENERATOR,
            Self::Json => r#""predicted_total_ns""#,
            Self::Csv => r#""ID","Process ID""#,
        };
        String::from_utf8_lossy(contents).contains(mark)
    }
}

/// Returns the resources of a multiprocessor that a kernel uses on an architecture, or `None` if no tool that reports
/// them is installed.
pub type UsageOf = fn(&Function, &str) -> Option<devices::occupancy::Usage>;

/// The report of a program. It runs the program's launches, and explains the first launch of each kernel and geometry.
///
/// The file is written after the first launch, repeatedly during further launches, and by [`finish`](Self::finish).
pub struct Report {
    path: PathBuf,
    form: Form,
    /// The name of the program.
    program: String,
    /// The device for which times are predicted.
    device: Description,
    /// The first launch of each kernel and geometry is explained, and then one of every `every` further launches. If
    /// this number is 0, only the first launch is explained.
    every: u64,
    usage: UsageOf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kernels: IndexMap<Key, Launches>,
    explained: usize,
    /// The number of launches of kernels that are not listed.
    unlisted: u64,
    messages: Vec<String>,
    files: SourceFiles,
    is_changed: bool,
    /// The time of the last write, and its duration.
    written: Option<(Instant, Duration)>,
}

/// A kernel name, the hash of its PTX, and a geometry.
type Key = (String, u64, Geometry);

/// The launches of a kernel with one geometry.
#[derive(Default)]
struct Launches {
    calls: u64,
    /// The explained launches, with their numbers.
    sections: Vec<(u64, Section)>,
    /// The reasons why the kernel failed or was not explained.
    failures: Vec<String>,
}

/// The JSON record of a kernel with one geometry.
#[derive(Serialize)]
struct KernelRecord<'s> {
    kernel: &'s str,
    geometry: Geometry,
    calls: u64,
    predicted_total_ns: f64,
    failures: &'s [String],
    /// The explained launches, by their numbers from 1.
    launches: IndexMap<u64, &'s LaunchRecord>,
}

impl Report {
    /// Creates a report of `program` that is written to `path`.
    ///
    /// # Errors
    /// Returns a message when the path has no known format, names a file that is not a report, or cannot be written.
    pub fn new(path: &Path, program: String, device: Description, every: u64, usage: UsageOf) -> Result<Self, String> {
        let form = Form::of(path)?;
        let unwritable = |error| format!("cannot write {}: {error}", path.display());
        if std::fs::read(path).is_ok_and(|old| !old.is_empty() && !form.is_report(&old)) {
            return Err(format!(
                "cannot write {}: the file exists and is not a report; name another file",
                path.display()
            ));
        }
        let path = std::path::absolute(path).map_err(unwritable)?;
        files::check_new(&path).map_err(unwritable)?;
        let current_dir = std::env::current_dir().ok();
        let folder = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let roots: Vec<PathBuf> = current_dir.into_iter().chain(folder).collect();
        let state = State { files: SourceFiles::new(&roots), ..State::default() };
        Ok(Self { path, form, program, device, every, usage, state: Mutex::new(state) })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a launch with sanitizers and counts its instructions. Explains the launch if it is the first of its kernel
    /// and geometry.
    pub fn launch(&self, simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Sanitized<SiteCounters> {
        let key = key(launch);
        let Some(number) = self.counted(&key) else { return run(simulator, launch, checks) };
        let usage = (self.usage)(launch.function, &self.device.arch);
        let recorder = Recorder::new(simulator, launch, Watch { usage, ..Watch::new(self.device.clone()) });
        let (done, explained) = match recorder {
            Ok(recorder) => {
                let mut explained = None;
                let done = checks.launch_with(simulator, launch, recorder.observers());
                let done = done.map(|seen| {
                    let launch = explained.insert(recorder.finish(seen));
                    launch.recording.counters.clone()
                });
                (done, explained.ok_or(None))
            }
            Err(why) => (run(simulator, launch, checks), Err(Some(why.to_string()))),
        };
        let mut state = self.state();
        let state = &mut *state;
        // The launch has been counted, so the key exists.
        let launches = state.kernels.entry(key).or_default();
        match (explained, &done.result) {
            (Ok(launch), _) => launches.sections.push((number, Section::new(&launch, &mut state.files))),
            (Err(_), Err(error)) => launches.failures.push(failure(error)),
            (Err(why), Ok(_)) => launches.failures.extend(why.map(|why| format!("not explained: {why}"))),
        }
        self.write_if_due(state, done.result.is_err());
        done
    }

    /// Records a message of the driver, such as the findings of the sanitizers.
    pub fn message(&self, text: &str) {
        let mut state = self.state();
        if state.messages.len() < MOST_MESSAGES {
            state.messages.push(text.trim_end().to_owned());
            state.is_changed = true;
        }
    }

    /// Writes the file if the report has changed, and returns a line that names the file. Returns `None` if there are
    /// no launches and no messages. If the file cannot be written, the report goes to the folder for temporary files.
    ///
    /// # Errors
    /// Returns a message when neither file can be written.
    pub fn finish(&self) -> Option<Result<String, String>> {
        let mut state = self.state();
        if state.kernels.is_empty() && state.messages.is_empty() {
            return None;
        }
        let (kernels, launches) = (state.kernels.len(), state.launches());
        let summary = |path: &Path| {
            let s = if kernels == 1 { "" } else { "s" };
            let t = if launches == 1 { "" } else { "es" };
            format!("{kernels} kernel{s}, {launches} launch{t}: {}", path.display())
        };
        if !state.is_changed {
            return Some(Ok(summary(&self.path)));
        }
        let Err(error) = self.write(&mut state) else { return Some(Ok(summary(&self.path))) };
        let other = std::env::temp_dir().join(self.path.file_name().unwrap_or_default());
        let written = self.text(&state).and_then(|text| files::replace(&other, &text));
        let error = format!("cannot write {}: {error}", self.path.display());
        Some(written.map(|()| format!("{error}; the report is in {}", other.display())).map_err(|_| error))
    }

    /// Counts a launch. If the launch must be explained, returns its number among the launches of its kernel and
    /// geometry.
    fn counted(&self, key: &Key) -> Option<u64> {
        let mut state = self.state();
        state.is_changed = true;
        if !state.kernels.contains_key(key) && state.kernels.len() == MOST_KERNELS {
            state.unlisted += 1;
            return None;
        }
        let launches = state.kernels.entry(key.clone()).or_default();
        launches.calls += 1;
        let number = launches.calls;
        let is_chosen = number == 1 || (self.every > 0 && (number - 1).is_multiple_of(self.every));
        if !is_chosen || state.explained == MOST_EXPLAINED {
            return None;
        }
        state.explained += 1;
        Some(number)
    }

    fn write_if_due(&self, state: &mut State, is_urgent: bool) {
        state.is_changed = true;
        let is_due = state.written.is_none_or(|(at, took)| at.elapsed() > took * WRITING);
        if is_urgent || is_due {
            // `finish` tries again and reports the error.
            let _ = self.write(state);
        }
    }

    fn write(&self, state: &mut State) -> std::io::Result<()> {
        let begin = Instant::now();
        files::replace(&self.path, &self.text(state)?)?;
        state.is_changed = false;
        state.written = Some((Instant::now(), begin.elapsed()));
        Ok(())
    }

    /// Returns the contents of the file.
    fn text(&self, state: &State) -> std::io::Result<String> {
        let shown = state.shown();
        match self.form {
            Form::Html => {
                let about = page::About {
                    program: &self.program,
                    device: &self.device.name,
                    launches: state.launches(),
                    notes: self.notes(state),
                    messages: &state.messages,
                };
                Ok(page::launches(&about, &shown))
            }
            Form::Json => Ok(serde_json::to_string_pretty(&state.records())? + "\n"),
            Form::Csv => {
                let records: Vec<&LaunchRecord> = state
                    .kernels
                    .values()
                    .flat_map(|launches| &launches.sections)
                    .map(|(_, section)| &section.record)
                    .collect();
                let capability = Limits::named(&self.device.arch).map_or((0, 0), |limits| limits.capability);
                Ok(csv::table(&self.program, capability, &records))
            }
        }
    }

    /// Describes the launches and messages that are left out.
    fn notes(&self, state: &State) -> Vec<String> {
        let mut notes = Vec::new();
        let explained = match self.every {
            0 => "the first launch of each kernel and geometry is explained; the others are counted".to_owned(),
            every => {
                format!(
                    "for each kernel and geometry, the first launch and one of every {every} after it are explained"
                )
            }
        };
        notes.push(explained);
        if state.explained == MOST_EXPLAINED {
            notes.push(format!("at most {MOST_EXPLAINED} launches are explained; later launches are counted"));
        }
        if state.unlisted > 0 {
            notes.push(format!(
                "only {MOST_KERNELS} kernels are listed; {} launches of other kernels are left out",
                state.unlisted
            ));
        }
        if state.messages.len() == MOST_MESSAGES {
            notes.push(format!("only the first {MOST_MESSAGES} messages are kept"));
        }
        notes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in a launch does not leave partial entries.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn launches(&self) -> u64 {
        self.kernels.values().map(|launches| launches.calls).sum::<u64>() + self.unlisted
    }

    /// Returns the kernels, longest predicted time first.
    fn shown(&self) -> Vec<page::KernelShown<'_>> {
        let shown = self.kernels.iter().map(|((kernel, _, geometry), launches)| page::KernelShown {
            kernel,
            geometry: geometry.to_string(),
            calls: launches.calls,
            total_ns: launches.total_ns(),
            sections: launches.sections.iter().map(|(_, section)| section).collect(),
            failures: &launches.failures,
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        shown
    }

    fn records(&self) -> Vec<KernelRecord<'_>> {
        let records = self.kernels.iter().map(|((kernel, _, geometry), launches)| KernelRecord {
            kernel,
            geometry: *geometry,
            calls: launches.calls,
            predicted_total_ns: launches.total_ns(),
            failures: &launches.failures,
            launches: launches.sections.iter().map(|(number, section)| (*number, &section.record)).collect(),
        });
        records.collect()
    }
}

impl Launches {
    /// Returns the mean predicted time of the explained launches, multiplied by the number of all launches.
    fn total_ns(&self) -> f64 {
        let sum: f64 = self.sections.iter().map(|(_, section)| section.record.predicted_ns).sum();
        sum / self.sections.len().max(1) as f64 * self.calls as f64
    }
}

/// Runs a launch with sanitizers, and counts its instructions.
pub fn run(simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Sanitized<SiteCounters> {
    checks.launch_with(simulator, launch, SiteCounters::new(launch.function))
}

fn key(launch: &Launch<'_>) -> Key {
    let mut hasher = FxHasher::default();
    launch.function.ptx().hash(&mut hasher);
    (simt::demangled(launch.function.name()), hasher.finish(), Geometry::from(launch))
}

/// Returns the reason why a launch failed, with its location.
fn failure(error: &LaunchError) -> String {
    match error {
        LaunchError::Fault(fault) => texts(&[Diagnostic::of_fault(fault)], Style::of_terminal(false)),
        other => other.to_string(),
    }
}

unsafe extern "C" {
    /// Registers a function that is called when the process ends (C11 7.22.4.2).
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Calls a function when the process exits. The function is not called if the process is killed or skips its exit
/// handlers.
pub fn at_exit(function: extern "C" fn()) {
    // `atexit` fails only if the C library has no memory left for the function.
    let _ = atexit(function);
}
