//! What can go wrong, in words that say what to do about it.

use crate::launch::Launch;
use crate::names::{did_you_mean, near};

/// Anything that keeps a ladder from being climbed.
///
/// Each message is one line and ends with a hint. [`Error::is_failure`] tells the device's failures
/// from the user's mistakes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No ladder of that name.
    #[error("no ladder is named `{name}`; {}", did_you_mean(.name, "ladders", .known))]
    UnknownLadder {
        /// What was asked for.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// Neither a ladder nor a rung of any.
    #[error("no ladder or rung is named `{name}`; {}", near(.nearest, "`ladder list` names them"))]
    UnknownName {
        /// What was asked for.
        name: String,
        /// The closest names there are, nearest first.
        nearest: Vec<String>,
    },
    /// No rung of that name on this ladder.
    #[error("the ladder {ladder} has no rung `{name}`; {}", did_you_mean(.name, "rungs", .known))]
    UnknownRung {
        /// The ladder that was searched.
        ladder: &'static str,
        /// What was asked for.
        name: String,
        /// All names.
        known: Vec<&'static str>,
    },
    /// A size that cannot be read.
    #[error(
        "`{given}` is not a size: {why}; write 16777216, 1_000_000, 2^24 or 16M (k, M, G: 2^10, 2^20, 2^30)"
    )]
    BadSize {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An option that the ladder does not have.
    #[error("the ladder {ladder} has no option --{name}; {}", options_hint(.known))]
    UnknownOption {
        /// The ladder.
        ladder: &'static str,
        /// What was asked for.
        name: String,
        /// The options it has.
        known: Vec<&'static str>,
    },
    /// An option that none of the selected ladders has.
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
        /// The options that these have.
        known: Vec<&'static str>,
    },
    /// A word that an option does not take.
    #[error("`{given}` is not possible for --{option}; {}", did_you_mean(.given, "words", .known))]
    BadWord {
        /// The option.
        option: &'static str,
        /// What was given.
        given: String,
        /// All words.
        known: Vec<&'static str>,
    },
    /// A value that the ladder does not take.
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
    /// Sizes that are possible each and not together.
    #[error("{what} is too large for the ladder {ladder}: {limit}")]
    TooLarge {
        /// The ladder.
        ladder: &'static str,
        /// What was asked for.
        what: String,
        /// What is possible.
        limit: String,
    },
    /// A file that cannot be read.
    #[error("cannot read {path}: {why}; --{option} takes {takes}")]
    Unreadable {
        /// The option that named it.
        option: &'static str,
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
        /// What the option takes.
        takes: &'static str,
    },
    /// A block that cannot be read.
    #[error("`{given}` is not a block; write its threads, as in 256, or 32x16 for two dimensions")]
    BadBlock {
        /// What was given.
        given: String,
    },
    /// A block that the ladder does not take.
    #[error("a block of {block} is not possible on the ladder {ladder}: it must be {rule}")]
    BlockOutOfBounds {
        /// The ladder.
        ladder: &'static str,
        /// The block asked for.
        block: String,
        /// What its blocks are.
        rule: &'static str,
    },
    /// A const-generic rung without an entry for this.
    #[error("{rung} was not compiled for {what}: it was for {}", .compiled.join(", "))]
    NotCompiled {
        /// The rung.
        rung: &'static str,
        /// What was asked for.
        what: String,
        /// What there are entries for.
        compiled: Vec<String>,
    },
    /// More shared memory than a block can have.
    #[error(
        "{rung} with a block of {block} needs {needed} bytes of shared memory and a block has {most}; \
         the block must be {rule}"
    )]
    TooMuchShared {
        /// The rung.
        rung: &'static str,
        /// The block asked for.
        block: String,
        /// Bytes that it needs.
        needed: u32,
        /// Bytes that there are.
        most: u32,
        /// What the ladder's blocks are.
        rule: &'static str,
    },
    /// A rung that does not compute what is asked for.
    #[error("{rung} was not compiled for {variant}; it is in {}", .others.join(", "))]
    NotOffered {
        /// The rung.
        rung: &'static str,
        /// What was asked for.
        variant: String,
        /// The rungs that compute it.
        others: Vec<&'static str>,
    },
    /// The buffers do not fit.
    #[error(
        "{size} needs {} of the {place}'s memory, which has {} free; {}",
        gib(*.need), gib(*.free), fits_hint(.fits)
    )]
    NotEnoughMemory {
        /// The size asked for, in words.
        size: String,
        /// Whose memory: `device` or `host`.
        place: &'static str,
        /// Bytes that it needs there.
        need: u64,
        /// Bytes that are free there.
        free: u64,
        /// Options with which it would fit, where there are any.
        fits: Option<String>,
    },
    /// There is no driver, or no GPU behind it.
    #[error("{what}; `cargo xtask doctor` shows what is missing, --device sim needs no GPU")]
    NoGpu {
        /// What was found instead.
        what: String,
    },
    /// The driver would not compile PTX.
    #[error(
        "the driver cannot load the PTX: {reason}{}; a driver older than the PTX's .version does this, a newer driver mends it",
        log_suffix(.log)
    )]
    Ptx {
        /// The driver's error.
        reason: String,
        /// What its PTX compiler wrote.
        log: String,
    },
    /// A kernel that is compiled for newer devices only.
    #[error("{entry} needs compute capability {}.{}, the device has {}.{}; --device sim runs it", .needs.0, .needs.1, .has.0, .has.1)]
    NeedsNewer {
        /// The kernel.
        entry: String,
        /// The least that has it.
        needs: (u32, u32),
        /// What the device is.
        has: (u32, u32),
    },
    /// A launch was refused, or the kernel failed while it ran.
    #[error("{launch} failed: {reason}")]
    Launch {
        /// What was launched.
        launch: Box<Launch>,
        /// The device's error, and where more can be learned of it.
        reason: String,
    },
    /// A [call](crate::Device::call) of code that is no kernel of this program failed.
    #[error("{what} failed: {reason}")]
    Call {
        /// What was called: `CUB DeviceReduce`.
        what: String,
        /// Its own words, or the device's error.
        reason: String,
    },
    /// Any other failure of the device.
    #[error("the device failed while {doing}: {reason}")]
    Device {
        /// What was being done.
        doing: &'static str,
        /// The device's error.
        reason: String,
    },
}

impl Error {
    /// Whether the device failed. Otherwise what was asked for cannot be done, and the user has to ask for
    /// something else.
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
