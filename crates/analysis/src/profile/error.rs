//! The errors of making a profile.

use super::metrics::nearest;
use engine::names::near;

/// The reason why a profile cannot be made. Each message is one line and says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// No metric has this name.
    #[error("no metric is named `{name}`; {}", near(.nearest, "`ladder profile --explain` names those that are shown"))]
    UnknownMetric {
        /// The name that was asked for.
        name: String,
        /// The most similar names, nearest first.
        nearest: Vec<String>,
    },
    /// The metric is one of Nsight Compute's, and there is no GPU to count it.
    #[error(
        "the SIMT machine does not count {name}; --device gpu asks Nsight Compute for it, if it has it"
    )]
    NotOnSim {
        /// The name that was asked for.
        name: String,
    },
    /// No rung of a selected ladder is launched for the problem.
    #[error("nothing is left to profile: {why}")]
    Nothing {
        /// The reasons why the rungs were left out.
        why: String,
    },
    /// Nsight Compute is missing or too old.
    #[error("{0}; --ncu names one, --device sim needs none")]
    NoNcu(#[from] toolkit::Error),
    /// The program that was named as `ncu` cannot be started.
    #[error("cannot start {program}: {why}; name Nsight Compute's `ncu` with --ncu")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        why: String,
    },
    /// The driver does not allow this user to read the counters.
    #[error(
        "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM): run as root, or have the \
         machine's owner load the driver with the option NVreg_RestrictProfilingToAdminUsers=0 (in a container: \
         grant CAP_SYS_ADMIN); --device sim needs neither"
    )]
    Refused,
    /// The chip does not have these metrics.
    #[error(
        "{device} has no metric {}; {}`ncu --query-metrics` lists what it has",
        .metrics.join(", "),
        did_you_mean(.metrics)
    )]
    NotOnChip {
        /// Their names.
        metrics: Vec<String>,
        /// The GPU.
        device: String,
    },
    /// `ncu`, or the program that it ran, failed.
    #[error("{version} failed{}: {}", with_code(.status), lines(.said))]
    Failed {
        /// Its version.
        version: String,
        /// Its exit status, if it has one.
        status: Option<i32>,
        /// Its output.
        said: String,
    },
    /// The output of `ncu` has an unknown format.
    #[error("cannot read what {version} wrote: {why}; it begins: {}", lines(.text))]
    Form {
        /// Its version.
        version: String,
        /// The error in it.
        why: String,
        /// The output.
        text: String,
    },
}

/// The number of lines that an error shows of another program's output.
const SHOWN_LINES: usize = 6;

/// The number of characters that it shows of each line.
const SHOWN_CHARACTERS: usize = 120;

/// The first lines, joined into one.
fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let shown: Vec<String> = lines.take(SHOWN_LINES).map(begin).collect();
    if shown.is_empty() {
        "(nothing)".to_owned()
    } else {
        shown.join(" | ")
    }
}

fn begin(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Suggestions for names that a chip does not have, put in front of the message.
fn did_you_mean(metrics: &[String]) -> String {
    // A name that we know is not misspelled: the chip lacks the metric.
    let unknown = metrics.iter().map(|name| (name, nearest(name)));
    let unknown = unknown.filter(|(name, nearest)| !nearest.contains(name));
    let nearest: Vec<String> = unknown.flat_map(|(_, nearest)| nearest).collect();
    match near(&nearest, "") {
        hint if hint.is_empty() => hint,
        hint => format!("{hint} "),
    }
}

fn with_code(status: &Option<i32>) -> String {
    match status {
        Some(code) => format!(" with exit code {code}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_nsight_compute_it_is_said_how_to_get_it() {
        let error = ProfileError::from(toolkit::Error::NotFound {
            tool: toolkit::Tool::Ncu,
        });
        assert_eq!(
            error.to_string(),
            "no ncu was found; it comes with NVIDIA's CUDA toolkit, and alone as the package nsight-compute; --ncu \
             names one, --device sim needs none"
        );
    }

    #[test]
    fn what_another_program_said_becomes_part_of_one_line() {
        let error = ProfileError::Form {
            version: "ncu 2025.3".into(),
            why: "no table".into(),
            text: "\na\n  b \n".into(),
        };
        assert_eq!(
            error.to_string(),
            "cannot read what ncu 2025.3 wrote: no table; it begins: a | b"
        );
        let error = ProfileError::Failed {
            version: "ncu".into(),
            status: Some(1),
            said: String::new(),
        };
        assert_eq!(error.to_string(), "ncu failed with exit code 1: (nothing)");
    }
}
