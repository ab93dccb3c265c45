//! The errors of running ladders. Each message says what to do about it.

use std::fmt;

use rung::NotCompiled;

use crate::launch::Launch;
use crate::names::did_you_mean;

/// Everything that can keep a ladder from being run.
///
/// Each message is one line and ends with a hint. The variants are the kinds that a program may treat differently;
/// [`Error::is_failure`] distinguishes failures of the device from mistakes of the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name is not known: of a ladder, a rung, an option or a word that an option takes.
    #[error("{0}")]
    UnknownName(String),
    /// A ladder does not take a value or a block.
    #[error("{0}")]
    BadValue(String),
    /// A rung was not compiled for this block or for this variant of the problem.
    #[error(transparent)]
    NotCompiled(#[from] NotCompiled),
    /// The launch needs more shared memory than a block can have.
    #[error("{0}")]
    TooMuchShared(String),
    /// The rung does not compute this variant of the ladder's problem.
    #[error("{0}")]
    NotOffered(String),
    /// The problem refuses the rung: [`Problem::refuses`](crate::Problem::refuses).
    #[error("{rung} cannot compute this: {reason}")]
    Refused {
        /// The rung.
        rung: &'static str,
        /// What is in its way, and what would do.
        reason: String,
    },
    /// The kernels of a program that was built for development are gone.
    #[error(
        "cannot read the kernels in {path}: {reason}; build the program again, or with --release to have them in it"
    )]
    NoKernels {
        /// The file of PTX.
        path: &'static str,
        /// The system's words.
        reason: String,
    },
    /// The kernels do not compile for an architecture that was first needed while the program ran.
    #[error("the kernels do not compile for {arch}\n\n{messages}")]
    Compile {
        /// The architecture: `compute_80`.
        arch: String,
        /// The compiler's messages.
        messages: String,
    },
    /// The buffers do not fit into the device's or the host's memory.
    #[error("{0}")]
    NotEnoughMemory(String),
    /// Somebody has asked for the end: [`simt::run::interruption`].
    #[error("interrupted")]
    Interrupted,
    /// There is no CUDA driver, or the driver finds no GPU.
    #[error("{what}; `cargo xtask doctor` shows what is missing, --device sim needs no GPU")]
    NoGpu {
        /// The reason why there is none.
        what: String,
    },
    /// The driver cannot compile the PTX.
    #[error(
        "the driver cannot load the PTX: {reason}{}; a driver older than the PTX's .version does this, a newer driver mends it",
        log_suffix(.log)
    )]
    Ptx {
        /// The driver's error.
        reason: String,
        /// The log of its PTX compiler.
        log: String,
    },
    /// The kernel is compiled for newer devices only, or for those of one compute capability.
    #[error("{needs}; {}--device sim runs it", instead.map_or(String::new(), |rung| format!("{rung} runs here, and ")))]
    NeedsNewer {
        /// What the kernel needs, and what the device has.
        needs: Needs,
        /// The last rung of the ladder that the device runs, if that is known.
        instead: Option<&'static str>,
    },
    /// The device refused a launch, or the kernel failed while it ran.
    #[error("{launch} failed: {reason}")]
    Launch {
        /// The launch that failed.
        launch: Box<Launch>,
        /// The device's error, and a hint where to learn more about it.
        reason: String,
    },
    /// A [call](crate::Device::call) of code that is not one of this program's kernels failed.
    #[error("{what} failed: {reason}")]
    Call {
        /// The name of the code: `CUB DeviceReduce`.
        what: String,
        /// Its own message, or the device's error.
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

/// The compute capability that a kernel needs, and the one that a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The kernel.
    pub entry: String,
    /// The oldest compute capability that has the kernel.
    pub capability: (u32, u32),
    /// Whether no other has it, not even a newer one.
    pub only: bool,
    /// The device's compute capability.
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
                write!(f, "{entry} needs compute capability {major}.{minor}, the device has {device_major}.{device_minor}")
            }
        }
    }
}

impl Error {
    /// Returns the error of a launch that was refused or failed.
    pub(crate) fn launch(launch: &Launch, reason: impl ToString) -> Self {
        Self::Launch { launch: Box::new(launch.clone()), reason: first_line(&reason.to_string()) }
    }

    /// Returns the error for a name that is not among those that are `known`: the `problem`, and the nearest names or all of
    /// them. `kind` is what they are, in the plural.
    pub(crate) fn unknown(problem: &str, name: &str, kind: &str, known: &[&'static str]) -> Self {
        Self::UnknownName(format!("{problem}; {}", did_you_mean(name, kind, known)))
    }

    /// Returns the error for a value that an option of this ladder does not take. `takes` says in words what it takes.
    pub fn out_of_bounds(ladder: &str, option: &str, value: u64, takes: &str) -> Self {
        Self::BadValue(format!("{option} = {value} is out of bounds for the ladder {ladder}: it takes {takes}"))
    }

    /// Returns the error for sizes that are possible each, but not together. `what` names them, as in `3 × 4`.
    pub fn too_large(ladder: &str, what: &str, most_elements: u64) -> Self {
        Self::BadValue(format!("{what} is too large for the ladder {ladder}: it takes up to {most_elements} elements"))
    }

    /// Returns the error of a device that failed in an operation.
    pub(crate) fn device(doing: &'static str, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Device { doing, reason }
    }

    /// Returns the same error of a device with another reason. Whatever has failed of a launch, it is the launch that failed.
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

    /// Returns whether the device failed. Any other error means that the request cannot be fulfilled, and the user has to ask
    /// for something else.
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

/// Messages here are lines. A fault's further ones list the calls that led to it.
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
