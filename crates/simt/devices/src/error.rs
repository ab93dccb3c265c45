//! The errors in names and descriptions of devices.

/// The reason why a device or architecture is not available. Each message is one line and says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The architecture is not in the tables.
    #[error("unknown architecture `{arch}`; the known architectures are {}", .known.join(", "))]
    NoSuchArchitecture {
        /// The given name.
        arch: String,
        /// The names of the known architectures.
        known: Vec<String>,
    },
    /// The name is neither a known device nor a file.
    #[error("no device is named `{name}`; {}", hint(*.nearest, .known))]
    NoSuchDevice {
        /// The given name.
        name: String,
        /// The most similar known name, if a name is similar enough.
        nearest: Option<&'static str>,
        /// The names of the known devices.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {why}")]
    Unread {
        /// The path of the file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The file does not describe a device.
    #[error("{path}{}: {problem}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    Wrong {
        /// The path of the file.
        path: String,
        /// The line with the error, counted from 1.
        line: Option<usize>,
        /// The figure that is missing, unknown, not a number or out of range.
        problem: String,
    },
}

/// Suggests a device name.
fn hint(nearest: Option<&'static str>, known: &[&'static str]) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`, or a file such as those in crates/simt/devices/known?"),
        None => format!("name one of {}, or a file such as those in crates/simt/devices/known", known.join(", ")),
    }
}
