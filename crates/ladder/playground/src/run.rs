//! One launch of a kernel: its results, its counters, and the trace of one block.

use serde::Serialize;
use simt::counters::Counters;
use simt::{Config, Function, LaunchError, LoadError, Simulator};
use simt_check::{Checks, Finding};

use crate::request::Argument;
use crate::trace::{Recorder, Trace};

/// The maximum number of warp instructions in a launch. A browser executes them in a second or two.
pub(crate) const MOST_INSTRUCTIONS: u64 = 1 << 23;
/// The maximum number of bytes of device memory.
pub(crate) const MOST_MEMORY: u64 = 384 << 20;
/// The maximum number of bytes of a buffer that the page shows.
const SHOWN_BYTES: u64 = 1 << 16;

/// An error message for the user.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Problem {
    /// The message.
    pub(crate) text: String,
    /// The line of the pasted PTX that causes the error, starting at 1.
    pub(crate) line: Option<u32>,
    /// The column in that line, starting at 1.
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

/// A buffer of a launch, with its contents before and after the launch.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct BufferView {
    /// The name of the buffer: `input`, `argument 0`.
    pub(crate) name: String,
    /// The type of the elements, such as `f32` or `u64`, or `None` if it is unknown.
    pub(crate) kind: Option<String>,
    /// The address of the first byte.
    pub(crate) address: u64,
    /// The size in bytes.
    pub(crate) bytes: u64,
    /// The first bytes before the launch, with two hexadecimal digits per byte.
    pub(crate) before: String,
    /// The first bytes after the launch, in the same form.
    pub(crate) after: String,
}

/// The results of a launch.
pub(crate) struct Run {
    /// The problem in words.
    pub(crate) title: String,
    /// The launch as CUDA writes it: `reduce_smem_128<<<8, 128, 0>>>`.
    pub(crate) launch: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The bytes of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// Arguments like those of the launch, for the editor.
    pub(crate) arguments: Vec<Argument>,
    pub(crate) function: Function,
    /// The PTX of the kernel.
    pub(crate) ptx: String,
    /// The counters, or `None` if the launch failed.
    pub(crate) counters: Option<Counters>,
    /// The error, if the launch failed.
    pub(crate) error: Option<LaunchError>,
    /// The trace of the recorded block.
    pub(crate) trace: Option<Trace>,
    pub(crate) buffers: Vec<BufferView>,
    /// Whether the result is right, with a reason if it is wrong. `None` if the correct result is unknown.
    pub(crate) verdict: Option<Result<(), String>>,
    /// The text that the kernel printed.
    pub(crate) printed: String,
}

/// The findings of the sanitizers.
#[derive(Serialize)]
pub(crate) struct Checked {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<String>,
}

/// Creates a simulator with one thread and little memory.
pub(crate) fn simulator() -> Result<Simulator, Problem> {
    let config =
        Config { threads: 1, max_instructions: MOST_INSTRUCTIONS, max_memory_bytes: MOST_MEMORY, ..Config::default() };
    Simulator::new(config).map_err(|error| Problem::new(error.to_string()))
}

/// The results of a recorded launch.
pub(crate) struct Recorded {
    pub(crate) counters: Result<Counters, LaunchError>,
    pub(crate) trace: Option<Trace>,
    pub(crate) printed: String,
}

/// Launches a kernel, counts the launch, and records the block with this index.
pub(crate) fn record(simulator: &mut Simulator, launch: &simt::Launch<'_>, block: u64) -> Recorded {
    let (recorder, slot) = Recorder::new(launch.function, block);
    let observer = (Counters::new(launch.function), recorder);
    let counters = simulator.launch_observed(launch, observer).map(|(counters, _)| counters);
    let trace = slot.lock().ok().and_then(|mut slot| slot.take());
    let printed = String::from_utf8_lossy(&simulator.take_printed()).into_owned();
    Recorded { counters, trace, printed }
}

/// Launches a kernel with all sanitizers.
pub(crate) fn check(simulator: &mut Simulator, launch: &simt::Launch<'_>) -> (Checked, Result<Counters, LaunchError>) {
    let sanitized = Checks::ALL.launch(simulator, launch);
    (Checked { findings: sanitized.findings, notes: sanitized.notes }, sanitized.result)
}

/// Returns the first bytes of an allocation as hexadecimal digits.
pub(crate) fn first_bytes(simulator: &Simulator, address: u64) -> String {
    let Some(allocation) = simulator.memory().at(address) else { return String::new() };
    let mut bytes = vec![0; allocation.bytes.min(SHOWN_BYTES) as usize];
    allocation.read(0, &mut bytes);
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
