//! One launch of a kernel: what it left, what was counted, and what one of its blocks did.

use serde::Serialize;
use simt::counters::Counters;
use simt::{Config, Function, LaunchError, LoadError, Simulator};
use simt_check::{Checks, Finding};

use crate::request::Argument;
use crate::trace::{Recorder, Trace};

/// The most instructions of warps in a launch: a second or two in a browser.
pub(crate) const MOST_INSTRUCTIONS: u64 = 1 << 23;
/// The most bytes of device memory.
pub(crate) const MOST_MEMORY: u64 = 384 << 20;
/// The bytes of a buffer that are kept to be shown.
const SHOWN_BYTES: u64 = 1 << 16;

/// Why something cannot be done, for a person.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Problem {
    /// In words.
    pub(crate) text: String,
    /// The line of the pasted PTX that it is about, from 1.
    pub(crate) line: Option<u32>,
    /// And the column, from 1.
    pub(crate) column: Option<u32>,
}

impl Problem {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl From<engine::Error> for Problem {
    fn from(error: engine::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<LoadError> for Problem {
    fn from(error: LoadError) -> Self {
        let (place, text) = match &error {
            LoadError::Parse(at) => (Some(at), at.message.clone()),
            LoadError::Refused { entry, error: at, .. } => {
                (Some(at), format!("kernel `{}`: {}", simt::demangled(entry), at.message))
            }
            _ => (None, error.to_string()),
        };
        Self { text, line: place.map(|at| at.line), column: place.map(|at| at.column) }
    }
}

/// A buffer of a launch, with what the kernel left in it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BufferView {
    /// What it is: `input`, `argument 0`.
    pub(crate) name: String,
    /// The type of its elements: `f32`, `u64`; `None` where nothing says it.
    pub(crate) kind: Option<String>,
    /// Its first address.
    pub(crate) address: u64,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its first bytes as they were before the launch, and as they are now, each as numbers of two digits.
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A launch that was run.
pub(crate) struct Run {
    /// The problem in words.
    pub(crate) title: String,
    /// The launch as CUDA writes it: `reduce_smem_128<<<8, 128, 0>>>`.
    pub(crate) launch: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// Arguments like those of the launch, for the editor.
    pub(crate) arguments: Vec<Argument>,
    pub(crate) function: Function,
    /// The text that it was loaded from.
    pub(crate) ptx: String,
    /// What was counted; nothing of a launch that failed.
    pub(crate) counters: Option<Counters>,
    /// Why it failed.
    pub(crate) error: Option<LaunchError>,
    /// What one of its blocks did.
    pub(crate) trace: Option<Trace>,
    pub(crate) buffers: Vec<BufferView>,
    /// Whether the results are right, and if not, why; `None` where nobody knows.
    pub(crate) verdict: Option<Result<(), String>>,
    /// What the kernel printed.
    pub(crate) printed: String,
}

/// What the checks found.
#[derive(Serialize)]
pub(crate) struct Checked {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

/// A machine with one thread and little memory.
pub(crate) fn simulator() -> Result<Simulator, Problem> {
    let config =
        Config { threads: 1, max_instructions: MOST_INSTRUCTIONS, max_memory_bytes: MOST_MEMORY, ..Config::default() };
    Simulator::new(config).map_err(|error| Problem::new(error.to_string()))
}

/// What a recorded launch gives.
pub(crate) struct Recorded {
    pub(crate) counters: Result<Counters, LaunchError>,
    pub(crate) trace: Option<Trace>,
    pub(crate) printed: String,
}

/// Launches a kernel, counts, and records the block of this number.
pub(crate) fn record(simulator: &mut Simulator, launch: &simt::Launch<'_>, block: u64) -> Recorded {
    let (recorder, slot) = Recorder::new(launch.function, block);
    let observer = (Counters::new(launch.function), recorder);
    let counters = simulator.launch_observed(launch, observer).map(|(counters, _)| counters);
    let trace = slot.lock().ok().and_then(|mut slot| slot.take());
    let printed = String::from_utf8_lossy(&simulator.take_printed()).into_owned();
    Recorded { counters, trace, printed }
}

/// Launches a kernel with all checks.
pub(crate) fn check(simulator: &mut Simulator, launch: &simt::Launch<'_>) -> (Checked, Result<Counters, LaunchError>) {
    let sanitized = Checks::ALL.launch(simulator, launch);
    (Checked { findings: sanitized.findings, notes: sanitized.notes }, sanitized.result)
}

/// The first bytes of an allocation, to be shown.
pub(crate) fn first_bytes(simulator: &Simulator, address: u64) -> String {
    let Some(allocation) = simulator.memory().at(address) else { return String::new() };
    let mut bytes = vec![0; allocation.bytes.min(SHOWN_BYTES) as usize];
    allocation.read(0, &mut bytes);
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
