//! A verdict in words.

use profile::LaunchProfile;
use profile::checklist::Optimization;
use profile::verdict::{BoundVerdict, Resource};

/// Formats a share as a percentage: `25 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Describes what bounds a launch, in a sentence.
pub fn sentence(verdict: &BoundVerdict) -> String {
    let share = percent(verdict.share);
    match verdict.bound {
        Resource::Warps => {
            format!("bound by latency: only {share} of the possible warps are active, too few to hide latency")
        }
        Resource::Size => {
            format!(
                "bound by latency: the problem has too few blocks, so only {share} of the possible warps are active"
            )
        }
        Resource::Barriers => format!("bound by latency: warps wait at barriers for {share} of the time"),
        Resource::BankConflicts => {
            format!("bound by bank conflicts: the additional wavefronts occupy shared memory for {share} of the time")
        }
        Resource::Latency => {
            format!("bound by latency: each warp waits for its data, and no resource exceeds {share} of its limit")
        }
        other => format!("bound by {}, at {share} of its limit", other.name()),
    }
}

/// Describes how near a rung is to its bound.
pub fn how_near(verdict: &BoundVerdict) -> String {
    let share = percent(verdict.share);
    match verdict.bound {
        Resource::Warps | Resource::Size => format!("{share} occupancy"),
        Resource::Barriers | Resource::BankConflicts => format!("{share} of the time"),
        Resource::Latency => format!("nothing above {share}"),
        _ => share,
    }
}

/// Returns the assumption of a prediction without `ptxas`, to append to the prediction's origin. The text is empty if
/// `ptxas` reported the registers.
pub fn assumption(launch: &LaunchProfile) -> &'static str {
    match launch.recording.residence.has_registers {
        true => "",
        false => "; without ptxas, registers are assumed not to limit the number of blocks",
    }
}

/// Names the optimization that helps, or the reason why there is none.
pub fn fix(verdict: &BoundVerdict) -> String {
    match verdict.helps {
        Some(fix) => fix.to_string(),
        None if verdict.bound == Resource::Size => "none: a larger problem fills the device".to_owned(),
        None => "none: only the traffic or arithmetic of the problem itself remains".to_owned(),
    }
}

/// Returns the ways to apply an optimization.
pub fn ways(fix: Option<Optimization>) -> &'static [String] {
    fix.map_or(&[], |fix| &fix.entry().strategies)
}

/// Formats a time in microseconds or milliseconds.
pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds < 1e6 {
        true => format!("{:.2} µs", nanoseconds / 1e3),
        false => format!("{:.3} ms", nanoseconds / 1e6),
    }
}
