//! The errors that running a ladder can return. Each message tells the user what to do.

use std::fmt;

use rung::NotCompiled;

use crate::launch::Launch;
use crate::names::did_you_mean;

/// The reasons why a ladder cannot run.
///
/// Each message is one line and ends with a hint. Each variant is a kind of error that a program might handle
/// differently. [`Error::is_failure`] distinguishes failures of the device from mistakes of the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of a ladder, a rung, an option or an option's value is unknown.
    #[error("{0}")]
    UnknownName(String),
    /// A ladder does not support a value or a block.
    #[error("{0}")]
    BadValue(String),
    /// A rung was not compiled for this block or for this variant of the problem.
    #[error(transparent)]
    NotCompiled(#[from] NotCompiled),
    /// The launch needs more shared memory than a block can use.
    #[error("{0}")]
    TooMuchShared(String),
    /// The rung does not support this variant of the ladder's problem.
    #[error("{0}")]
    NotOffered(String),
    /// The problem rejects the rung: [`Problem::refuses`](crate::Problem::refuses).
    #[error("{rung} cannot compute this: {reason}")]
    Refused {
        /// The rung.
        rung: &'static str,
        /// What prevents the computation, and what would work.
        reason: String,
    },
    /// The kernels of a development build no longer exist.
    #[error("cannot read the kernels in {path}: {reason}; build the program again, or with --release to embed them")]
    NoKernels {
        /// The PTX file.
        path: &'static str,
        /// The operating system's error message.
        reason: String,
    },
    /// The kernels do not compile for an architecture that is compiled on demand while the program runs.
    #[error("the kernels do not compile for {arch}\n\n{messages}")]
    Compile {
        /// The architecture, for example `compute_80`.
        arch: String,
        /// The compiler's messages.
        messages: String,
    },
    /// The buffers do not fit into the device's or the host's memory.
    #[error("{0}")]
    NotEnoughMemory(String),
    /// The user interrupted the program: [`simt::run::interruption`].
    #[error("interrupted")]
    Interrupted,
    /// There is no CUDA driver, or the driver finds no GPU.
    #[error("{what}; `cargo xtask doctor` shows what is missing, --device sim needs no GPU")]
    NoGpu {
        /// The reason why no GPU is available.
        what: String,
    },
    /// The driver cannot compile the PTX.
    #[error(
        "the driver cannot load the PTX: {reason}{}; if the driver is older than the PTX's .version, update the driver",
        log_suffix(.log)
    )]
    Ptx {
        /// The driver's error.
        reason: String,
        /// The log of the driver's PTX compiler.
        log: String,
    },
    /// The kernel is only compiled for newer devices, or only for devices of one compute capability.
    #[error("{needs}; {}--device sim runs it", instead.map_or(String::new(), |rung| format!("{rung} runs here, and ")))]
    NeedsNewer {
        /// The compute capabilities that the kernel needs and that the device has.
        needs: Needs,
        /// The last rung of the ladder that the device can run, if it is known.
        instead: Option<&'static str>,
    },
    /// The device rejected a launch, or the kernel failed while it ran.
    #[error("{launch} failed: {reason}")]
    Launch {
        /// The launch that failed.
        launch: Box<Launch>,
        /// The device's error, with a hint on how to learn more.
        reason: String,
    },
    /// A [call](crate::Device::call) of code that is not one of this program's kernels failed.
    #[error("{what} failed: {reason}")]
    Call {
        /// The name of the code, for example `CUB DeviceReduce`.
        what: String,
        /// The message of that code, or the device's error.
        reason: String,
    },
    /// The device failed in another way.
    #[error("the device failed while {doing}: {reason}")]
    Device {
        /// The operation that failed.
        doing: &'static str,
        /// The device's error.
        reason: String,
    },
}

/// The compute capability that a kernel needs, and the compute capability of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The name of the kernel's entry.
    pub entry: String,
    /// The oldest compute capability for which the kernel is compiled.
    pub capability: (u32, u32),
    /// Whether only devices of exactly this compute capability can run the kernel.
    pub only: bool,
    /// The compute capability of the device.
    pub has: (u32, u32),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, capability: (major, minor), only, has: (device_major, device_minor) } = self;
        match only {
            true => write!(
                f,
                "{entry} needs a GPU of compute capability {major}.{minor}; this one has {device_major}.{device_minor}"
            ),
            false => {
                write!(
                    f,
                    "{entry} needs compute capability {major}.{minor}, the device has {device_major}.{device_minor}"
                )
            }
        }
    }
}

impl Error {
    /// Creates the error for a launch that was rejected or that failed.
    pub(crate) fn launch(launch: &Launch, reason: impl ToString) -> Self {
        Self::Launch { launch: Box::new(launch.clone()), reason: first_line(&reason.to_string()) }
    }

    /// Creates the error for a `name` that is not in `known`. The message is `problem`, followed by the nearest names
    /// or by all names. `kind` is the plural noun for the names.
    pub(crate) fn unknown(problem: &str, name: &str, kind: &str, known: &[&'static str]) -> Self {
        Self::UnknownName(format!("{problem}; {}", did_you_mean(name, kind, known)))
    }

    /// Creates the error for a value that an option of this ladder does not accept. `takes` describes the accepted
    /// values.
    pub fn out_of_bounds(ladder: &str, option: &str, value: u64, takes: &str) -> Self {
        Self::BadValue(format!("{option} = {value} is out of bounds for the ladder {ladder}: it takes {takes}"))
    }

    /// Creates the error for sizes that are valid separately but too large together. `what` names the sizes (`3 × 4`).
    pub fn too_large(ladder: &str, what: &str, most_elements: u64) -> Self {
        Self::BadValue(format!("{what} is too large for the ladder {ladder}: the limit is {most_elements} elements"))
    }

    /// Creates the error for an operation that failed on a device.
    pub(crate) fn device(doing: &'static str, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Device { doing, reason }
    }

    /// Replaces the reason of a device's error. If there is a `launch`, the result is the error of this launch.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn because(self, launch: Option<&Launch>, reason: &str) -> Self {
        match (self, launch) {
            (Self::Launch { .. } | Self::Device { .. } | Self::Ptx { .. }, Some(launch)) => {
                Self::launch(launch, reason)
            }
            (Self::Launch { launch, .. }, None) => Self::launch(&launch, reason),
            (Self::Device { doing, .. }, None) => Self::device(doing, first_line(reason)),
            (other, _) => other,
        }
    }

    /// Returns whether the device failed. All other errors mean that the user must change the request.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Ptx { .. } | Self::Launch { .. } | Self::Call { .. } | Self::Device { .. })
    }
}

pub(crate) fn options_hint(known: &[&'static str]) -> String {
    match known {
        [] => "it has none".to_owned(),
        known => format!("it has --{}", known.join(", --")),
    }
}

/// Returns the first line of a message. The other lines of a fault's message list the calls that led to the fault.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn log_suffix(log: &str) -> String {
    let lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    match lines.collect::<Vec<_>>().join(" | ") {
        log if log.is_empty() => log,
        log => format!(" ({log})"),
    }
}

#[cfg(test)]
mod tests;
