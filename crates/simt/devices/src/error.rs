//! The errors of devices' names and descriptions.

/// The reason why there is no such device or architecture. Each message is one line and says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The architecture is not in the tables.
    #[error("no limits are known of `{arch}`; the architectures are {}", .known.join(", "))]
    NoSuchArchitecture {
        /// What was given as its name.
        arch: String,
        /// The names of those in the tables.
        known: Vec<String>,
    },
    /// The name is neither a known device's nor a file's.
    #[error("no device is named `{name}`; {}", hint(*.nearest, .known))]
    NoSuchDevice {
        /// What was given as its name.
        name: String,
        /// The known name that is most like it, if one is.
        nearest: Option<&'static str>,
        /// The names of the known devices.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {why}")]
    Unread {
        /// Its path.
        path: String,
        /// The reason.
        why: String,
    },
    /// The file does not describe a device.
    #[error("{path}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    Wrong {
        /// Its path.
        path: String,
        /// The line with the error, counted from 1.
        line: Option<usize>,
        /// The figure that is missing, unknown, not a number or impossible.
        problem: String,
    },
}

/// Which device may be meant.
fn hint(nearest: Option<&'static str>, known: &[&'static str]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`, or a file such as those in crates/simt/devices/known?"),
        None => format!("name one of {}, or a file such as those in crates/simt/devices/known", known.join(", ")),
    }
}
