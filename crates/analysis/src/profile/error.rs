//! What keeps a profile from being made.

use super::metrics::nearest;
use engine::names::near;

/// Why there is no profile. Each message is one line and says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A rung cannot be run.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// No metric of that name.
    #[error("no metric is named `{name}`; {}", near(.nearest, "`ladder profile --explain` names those that are shown"))]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// The closest names there are, nearest first.
        nearest: Vec<String>,
    },
    /// A metric of Nsight Compute's, without a GPU to ask for it.
    #[error(
        "the SIMT machine does not count {name}; --device gpu asks Nsight Compute for it, if it has it"
    )]
    NotOnSim {
        /// What was asked for.
        name: String,
    },
    /// A problem that no rung of a selected ladder is launched for.
    #[error("nothing is left to profile: {why}")]
    Nothing {
        /// Why the rungs were left out.
        why: String,
    },
    /// Nsight Compute is not there, or too old.
    #[error("{0}; --ncu names one, --device sim needs none")]
    NoNcu(#[from] toolkit::Error),
    /// What was named as `ncu` cannot be started.
    #[error("cannot start {program}: {why}; name Nsight Compute's `ncu` with --ncu")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        why: String,
    },
    /// The driver keeps the counters from this user.
    #[error(
        "the driver does not let this user read performance counters (ERR_NVGPUCTRPERM): run as root, or have the \
         machine's owner load the driver with the option NVreg_RestrictProfilingToAdminUsers=0 (in a container: \
         grant CAP_SYS_ADMIN); --device sim needs neither"
    )]
    Refused,
    /// Metrics that the chip does not have.
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
    /// `ncu` or what it ran failed.
    #[error("{version} failed{}: {}", with_code(.status), lines(.said))]
    Failed {
        /// Its version.
        version: String,
        /// Its exit status, where it has one.
        status: Option<i32>,
        /// What it said.
        said: String,
    },
    /// `ncu` wrote something that is not known here.
    #[error("cannot read what {version} wrote: {why}; it begins: {}", lines(.text))]
    Form {
        /// Its version.
        version: String,
        /// What is wrong.
        why: String,
        /// What it wrote.
        text: String,
    },
}

/// How many lines of another program's output an error shows.
const SHOWN_LINES: usize = 6;

/// How many characters of each.
const SHOWN_CHARACTERS: usize = 120;

/// The first lines, in one.
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

/// What names that a chip does not have were most likely meant to be, in front of what else there is to say.
fn did_you_mean(metrics: &[String]) -> String {
    // One that is known here is the chip's to lack.
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
