//! The launches of a program, and the file that explains them.

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

/// The most launches that are explained, the most kernels that are listed, and the most messages that are kept.
const MOST_EXPLAINED: usize = 200;
const MOST_KERNELS: usize = 2000;
const MOST_MESSAGES: usize = 100;
/// A file is written again when its last writing took less than this part of the time since then.
const WRITING: u32 = 20;

/// The form of a report's file.
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
    /// The form of a file with this name.
    ///
    /// # Errors
    /// What to write instead, when the name ends in none of `.html`, `.json` and `.csv`.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(OsStr::to_str) {
            Some("html") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            _ => Err(format!("{} does not end in .html, .json or .csv", path.display())),
        }
    }

    /// Whether this is the contents of a report in this form, which a new one may replace.
    fn is_report(self, contents: &[u8]) -> bool {
        let mark: &str = match self {
            Self::Html => page::GENERATOR,
            Self::Json => r#""predicted_total_ns""#,
            Self::Csv => r#""ID","Process ID""#,
        };
        String::from_utf8_lossy(contents).contains(mark)
    }
}

/// Returns what a kernel uses of a multiprocessor of an architecture, if a tool that knows this is here.
pub type UsageOf = fn(&Function, &str) -> Option<devices::occupancy::Usage>;

/// The report of a program: it runs the program's launches, and explains the first of each kernel and geometry.
///
/// The file is written after the first launch, then again while launches come, and by [`finish`](Self::finish).
pub struct Report {
    path: PathBuf,
    form: Form,
    /// What was run.
    program: String,
    /// The device that times are predicted for.
    device: Description,
    /// Of each kernel and geometry, the first launch and then each launch of this number is explained; 0 for the first alone.
    every: u64,
    usage: UsageOf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    kernels: IndexMap<Key, Launches>,
    explained: usize,
    /// The launches of kernels that are not listed.
    unlisted: u64,
    messages: Vec<String>,
    files: SourceFiles,
    is_changed: bool,
    /// When the file was written last, and how long that took.
    written: Option<(Instant, Duration)>,
}

/// A kernel of a text, by the text's hash, with a geometry.
type Key = (String, u64, Geometry);

/// The launches of a kernel with one geometry.
#[derive(Default)]
struct Launches {
    calls: u64,
    /// The explained ones, with their numbers.
    sections: Vec<(u64, Section)>,
    /// Why the kernel failed, and what else there is to say.
    failures: Vec<String>,
}

/// A kernel with one geometry in JSON.
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
    /// A report of `program` that is written to `path`.
    ///
    /// # Errors
    /// What is wrong, when the path has no known form, names a file that is not a report, or cannot be written.
    pub fn new(path: &Path, program: String, device: Description, every: u64, usage: UsageOf) -> Result<Self, String> {
        let form = Form::of(path)?;
        let unwritable = |error| format!("cannot write {}: {error}", path.display());
        if std::fs::read(path).is_ok_and(|old| !old.is_empty() && !form.is_report(&old)) {
            return Err(format!("cannot write {}: it is there and is not a report; name another file", path.display()));
        }
        let path = std::path::absolute(path).map_err(unwritable)?;
        files::check_new(&path).map_err(unwritable)?;
        let here = std::env::current_dir().ok();
        let folder = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let roots: Vec<PathBuf> = here.into_iter().chain(folder).collect();
        let state = State { files: SourceFiles::new(&roots), ..State::default() };
        Ok(Self { path, form, program, device, every, usage, state: Mutex::new(state) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a launch with sanitizers, counts what its instructions do, and explains it if it is the first of its kernel and
    /// geometry.
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
        // The key is there since it was counted.
        let own = state.kernels.entry(key).or_default();
        match (explained, &done.result) {
            (Ok(launch), _) => own.sections.push((number, Section::new(&launch, &mut state.files))),
            (Err(_), Err(error)) => own.failures.push(failure(error)),
            (Err(why), Ok(_)) => own.failures.extend(why.map(|why| format!("it is not explained: {why}"))),
        }
        self.write_if_due(state, done.result.is_err());
        done
    }

    /// Keeps a message of the driver, such as the findings of the sanitizers.
    pub fn message(&self, text: &str) {
        let mut state = self.state();
        if state.messages.len() < MOST_MESSAGES {
            state.messages.push(text.trim_end().to_owned());
            state.is_changed = true;
        }
    }

    /// Writes the file if the report has changed, and returns a line that names it. Returns `None` when nothing was launched and
    /// there is no message. If the file cannot be written, the report goes to the folder for temporary files.
    ///
    /// # Errors
    /// Why neither can be written.
    pub fn finish(&self) -> Option<Result<String, String>> {
        let mut state = self.state();
        if state.kernels.is_empty() && state.messages.is_empty() {
            return None;
        }
        let (kernels, launches) = (state.kernels.len(), state.launches());
        let said = |path: &Path| {
            let s = if kernels == 1 { "" } else { "s" };
            let t = if launches == 1 { "" } else { "es" };
            format!("{kernels} kernel{s}, {launches} launch{t}: {}", path.display())
        };
        if !state.is_changed {
            return Some(Ok(said(&self.path)));
        }
        let Err(error) = self.write(&mut state) else { return Some(Ok(said(&self.path))) };
        let other = std::env::temp_dir().join(self.path.file_name().unwrap_or_default());
        let written = self.text(&state).and_then(|text| files::replace(&other, &text));
        let error = format!("cannot write {}: {error}", self.path.display());
        Some(written.map(|()| format!("{error}; it is in {}", other.display())).map_err(|_| error))
    }

    /// Counts a launch, and returns its number among those of its kernel and geometry if it is to be explained.
    fn counted(&self, key: &Key) -> Option<u64> {
        let mut state = self.state();
        state.is_changed = true;
        if !state.kernels.contains_key(key) && state.kernels.len() == MOST_KERNELS {
            state.unlisted += 1;
            return None;
        }
        let own = state.kernels.entry(key.clone()).or_default();
        own.calls += 1;
        let number = own.calls;
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
            // `finish` tries again, and says what is wrong.
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

    /// The text of the file.
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
                let records: Vec<&LaunchRecord> =
                    state.kernels.values().flat_map(|own| &own.sections).map(|(_, own)| &own.record).collect();
                let capability = Limits::named(&self.device.arch).map_or((0, 0), |limits| limits.capability);
                Ok(csv::table(&self.program, capability, &records))
            }
        }
    }

    /// What is left out, in words.
    fn notes(&self, state: &State) -> Vec<String> {
        let mut notes = Vec::new();
        let explained = match self.every {
            0 => "the first launch of each kernel and geometry is explained; the others are counted".to_owned(),
            every => {
                format!("of each kernel and geometry, the first launch and one of every {every} after it are explained")
            }
        };
        notes.push(explained);
        if state.explained == MOST_EXPLAINED {
            notes.push(format!("{MOST_EXPLAINED} launches are explained, which is the most; later ones are counted"));
        }
        if state.unlisted > 0 {
            notes.push(format!(
                "{MOST_KERNELS} kernels are listed, which is the most; {} launches of others are left out",
                state.unlisted
            ));
        }
        if state.messages.len() == MOST_MESSAGES {
            notes.push(format!("the first {MOST_MESSAGES} messages are kept"));
        }
        notes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in a launch leaves whole entries.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn launches(&self) -> u64 {
        self.kernels.values().map(|own| own.calls).sum::<u64>() + self.unlisted
    }

    /// The kernels, those with the longest predicted time first.
    fn shown(&self) -> Vec<page::KernelShown<'_>> {
        let shown = self.kernels.iter().map(|((kernel, _, geometry), own)| page::KernelShown {
            kernel,
            geometry: geometry.to_string(),
            calls: own.calls,
            total_ns: own.total_ns(),
            sections: own.sections.iter().map(|(_, section)| section).collect(),
            failures: &own.failures,
        });
        let mut shown: Vec<_> = shown.collect();
        shown.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns));
        shown
    }

    fn records(&self) -> Vec<KernelRecord<'_>> {
        let records = self.kernels.iter().map(|((kernel, _, geometry), own)| KernelRecord {
            kernel,
            geometry: *geometry,
            calls: own.calls,
            predicted_total_ns: own.total_ns(),
            failures: &own.failures,
            launches: own.sections.iter().map(|(number, section)| (*number, &section.record)).collect(),
        });
        records.collect()
    }
}

impl Launches {
    /// The mean predicted time of the explained launches, times all launches.
    fn total_ns(&self) -> f64 {
        let sum: f64 = self.sections.iter().map(|(_, own)| own.record.predicted_ns).sum();
        sum / self.sections.len().max(1) as f64 * self.calls as f64
    }
}

/// Runs a launch with sanitizers, and counts what its instructions do.
pub fn run(simulator: &mut Simulator, launch: &Launch<'_>, checks: Checks) -> Sanitized<SiteCounters> {
    checks.launch_with(simulator, launch, SiteCounters::new(launch.function))
}

fn key(launch: &Launch<'_>) -> Key {
    let mut hasher = FxHasher::default();
    launch.function.ptx().hash(&mut hasher);
    (simt::demangled(launch.function.name()), hasher.finish(), Geometry::from(launch))
}

/// Why a launch failed, with the place.
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

/// Calls a function when the process ends. A process that is killed, or ends without its exit handlers, does not call it.
pub fn at_exit(function: extern "C" fn()) {
    // It fails when the C library has no memory left for the function.
    let _ = atexit(function);
}
