//! The errors of running ladders. Each message says what to do about it.

use crate::launch::Launch;
use crate::names::{did_you_mean, near};

/// Everything that can keep a ladder from being run.
///
/// Each message is one line and ends with a hint. [`Error::is_failure`] distinguishes failures of the device from
/// mistakes of the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ladder has this name.
    #[error("no ladder is named `{name}`; {}", did_you_mean(.name, "ladders", .known))]
    UnknownLadder {
        /// The name that was asked for.
        name: String,
        /// The names of all ladders.
        known: Vec<&'static str>,
    },
    /// The name is neither a ladder's nor a rung's.
    #[error("no ladder or rung is named `{name}`; {}", near(.nearest, "`ladder list` names them"))]
    UnknownName {
        /// The name that was asked for.
        name: String,
        /// The most similar names, nearest first.
        nearest: Vec<String>,
    },
    /// The ladder has no rung of this name.
    #[error("the ladder {ladder} has no rung `{name}`; {}", did_you_mean(.name, "rungs", .known))]
    UnknownRung {
        /// The ladder that was searched.
        ladder: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names of all its rungs.
        known: Vec<&'static str>,
    },
    /// The text is not a size.
    #[error(
        "`{given}` is not a size: {why}; write 16777216, 1_000_000, 2^24 or 16M (k, M, G: 2^10, 2^20, 2^30)"
    )]
    BadSize {
        /// The text that was given.
        given: String,
        /// The reason why it is not a size.
        why: &'static str,
    },
    /// The ladder does not have this option.
    #[error("the ladder {ladder} has no option --{name}; {}", options_hint(.known))]
    UnknownOption {
        /// The ladder.
        ladder: &'static str,
        /// The option that was asked for.
        name: String,
        /// The options that the ladder has.
        known: Vec<&'static str>,
    },
    /// None of the selected ladders has this option.
    #[error(
        "--{option} is an option of {}, and not of {}; {}",
        .has.join(", "), .selected.join(", "), options_hint(.known)
    )]
    OptionOfOthers {
        /// The option.
        option: &'static str,
        /// The ladders that have it.
        has: Vec<&'static str>,
        /// The ladders that were selected.
        selected: Vec<&'static str>,
        /// The options of the selected ladders.
        known: Vec<&'static str>,
    },
    /// The word is not among those that the option takes.
    #[error("`{given}` is not possible for --{option}; {}", did_you_mean(.given, "words", .known))]
    BadWord {
        /// The option.
        option: &'static str,
        /// The word that was given.
        given: String,
        /// All words that the option takes.
        known: Vec<&'static str>,
    },
    /// The ladder does not take this value.
    #[error("{option} = {value} is out of bounds for the ladder {ladder}: it takes {takes}")]
    OutOfBounds {
        /// The ladder.
        ladder: &'static str,
        /// The option.
        option: &'static str,
        /// The value asked for.
        value: u64,
        /// The values it takes, in words.
        takes: String,
    },
    /// Each size is possible, but not all of them together.
    #[error("{what} is too large for the ladder {ladder}: {limit}")]
    TooLarge {
        /// The ladder.
        ladder: &'static str,
        /// The sizes that were asked for.
        what: String,
        /// The limit that they exceed.
        limit: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {why}; --{option} takes {takes}")]
    Unreadable {
        /// The option that named it.
        option: &'static str,
        /// The file.
        path: String,
        /// The reason why it cannot be read.
        why: String,
        /// The kind of file that the option takes.
        takes: &'static str,
    },
    /// The text is not the size of a block.
    #[error("`{given}` is not a block; write its threads, as in 256, or 32x16 for two dimensions")]
    BadBlock {
        /// The text that was given.
        given: String,
    },
    /// The ladder does not take blocks of this size.
    #[error("a block of {block} is not possible on the ladder {ladder}: it must be {rule}")]
    BlockOutOfBounds {
        /// The ladder.
        ladder: &'static str,
        /// The block asked for.
        block: String,
        /// The rule for blocks of this ladder.
        rule: &'static str,
    },
    /// A const-generic rung was not compiled for this request.
    #[error("{rung} was not compiled for {what}: it was for {}", .compiled.join(", "))]
    NotCompiled {
        /// The rung.
        rung: &'static str,
        /// The value that was asked for.
        what: String,
        /// The values that it was compiled for.
        compiled: Vec<String>,
    },
    /// The launch needs more shared memory than a block can have.
    #[error(
        "{rung} with a block of {block} needs {needed} bytes of shared memory and a block has {most}; \
         the block must be {rule}"
    )]
    TooMuchShared {
        /// The rung.
        rung: &'static str,
        /// The block asked for.
        block: String,
        /// The bytes that it needs.
        needed: u32,
        /// The bytes that a block can have.
        most: u32,
        /// The rule for blocks of this ladder.
        rule: &'static str,
    },
    /// The rung does not compute this variant of the ladder's problem.
    #[error("{rung} was not compiled for {variant}; it is in {}", .others.join(", "))]
    NotOffered {
        /// The rung.
        rung: &'static str,
        /// The variant that was asked for.
        variant: String,
        /// The rungs that compute this variant.
        others: Vec<&'static str>,
    },
    /// The buffers do not fit into the device's or the host's memory.
    #[error(
        "{size} needs {} of the {place}'s memory, which has {} free; {}",
        gib(*.need), gib(*.free), fits_hint(.fits)
    )]
    NotEnoughMemory {
        /// The size asked for, in words.
        size: String,
        /// The owner of the memory: `device` or `host`.
        place: &'static str,
        /// The bytes that are needed there.
        need: u64,
        /// The bytes that are free there.
        free: u64,
        /// Options with which the problem would fit, when there are any.
        fits: Option<String>,
    },
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
    /// The kernel is compiled for newer devices only.
    #[error("{entry} needs compute capability {}.{}, the device has {}.{}; --device sim runs it", .needs.0, .needs.1, .has.0, .has.1)]
    NeedsNewer {
        /// The kernel.
        entry: String,
        /// The oldest compute capability that has the kernel.
        needs: (u32, u32),
        /// The device's compute capability.
        has: (u32, u32),
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

impl Error {
    /// Whether the device failed. Any other error means that the request cannot be fulfilled, and the user has to ask
    /// for something else.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Ptx { .. } | Self::Launch { .. } | Self::Call { .. } | Self::Device { .. }
        )
    }
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

fn fits_hint(fits: &Option<String>) -> String {
    match fits {
        None => "free some of its memory first".to_owned(),
        Some(options) => format!("{options} fits"),
    }
}

fn options_hint(known: &[&'static str]) -> String {
    match known {
        [] => "it has none".to_owned(),
        known => format!("it has --{}", known.join(", --")),
    }
}

fn log_suffix(log: &str) -> String {
    let log: Vec<&str> = log
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if log.is_empty() {
        String::new()
    } else {
        format!(" ({})", log.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_log_becomes_part_of_the_one_line() {
        let error = Error::Ptx {
            reason: "InvalidPtx".into(),
            log: "\nptxas error: line 3\n  fatal\n".into(),
        };
        let text = error.to_string();
        assert!(text.contains("(ptxas error: line 3 | fatal)"), "{text}");
        assert!(!text.contains('\n'), "{text}");
        assert!(error.is_failure());
    }
}
