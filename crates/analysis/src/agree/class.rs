//! The classes of agreement between two numbers, and the reasons why they may differ.

use serde::{Deserialize, Serialize};
use toolkit::access::Change;

use super::metrics::{ComparedMetric, Rule};

/// The agreement of the simulator's number with the GPU's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// They are the same, to as many places as Nsight Compute writes.
    #[serde(rename = "exact")]
    Exact,
    /// They differ by at most 1 %.
    #[serde(rename = "within 1 %")]
    Within,
    /// The GPU counts at most 6 % more wavefronts of shared memory, because it also counts arbitration.
    #[serde(rename = "arbitration")]
    Arbitration,
    /// They differ, and `ptxas` changed instructions that the metric counts.
    #[serde(rename = "explained")]
    Explained,
    /// They differ, and the GPU's own number changes from run to run: the kernel waits for other blocks, and the
    /// number of times that it polls is not determined by its code.
    #[serde(rename = "waits")]
    Waits,
    /// They differ, and no reason was found.
    #[serde(rename = "unexplained")]
    Unexplained,
    /// They count different things.
    #[serde(rename = "information")]
    Information,
}

/// The relative difference up to which two numbers are close.
const CLOSE: f64 = 0.01;
/// The relative amount by which the GPU's wavefronts may exceed the simulator's.
const ARBITRATION: f64 = 0.06;
/// Half of the last place that Nsight Compute writes.
const LAST_PLACE: f64 = 0.005;
/// The relative rounding error of numbers that are not written exactly.
const ROUNDING: f64 = 1e-9;

impl Class {
    /// The name in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Within => "within 1 %",
            Self::Arbitration => "arbitration",
            Self::Explained => "explained",
            Self::Waits => "waits",
            Self::Unexplained => "unexplained",
            Self::Information => "information",
        }
    }

    /// The class of two numbers by themselves; `None` when a difference needs an explanation. A missing number differs
    /// from any number.
    pub fn of(rule: Rule, sim: Option<f64>, gpu: Option<f64>) -> Option<Self> {
        if rule == Rule::Information {
            return Some(Self::Information);
        }
        let (Some(sim), Some(gpu)) = (sim, gpu) else {
            return (sim.is_none() && gpu.is_none()).then_some(Self::Exact);
        };
        let difference = (gpu - sim).abs();
        let same = match rule {
            Rule::TwoPlaces => LAST_PLACE + ROUNDING,
            _ => 0.0,
        };
        if difference <= same {
            Some(Self::Exact)
        } else if difference <= CLOSE * sim.abs() {
            Some(Self::Within)
        } else if rule == Rule::Arbitrated && gpu > sim && difference <= ARBITRATION * sim {
            Some(Self::Arbitration)
        } else {
            None
        }
    }
}

/// The changes, in words, that can explain why the GPU's number differs from the simulator's in this direction.
pub fn explanations(
    metric: &ComparedMetric,
    sim: Option<f64>,
    gpu: Option<f64>,
    changes: &[Change],
) -> Vec<String> {
    let higher = gpu.unwrap_or(0.0) > sim.unwrap_or(0.0);
    let fitting = changes
        .iter()
        .filter(|change| metric.is_explained_by(change, higher));
    fitting.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use toolkit::access::{Effect, Kind};

    use super::*;
    use crate::agree::metrics::find;

    #[test]
    fn numbers_by_themselves() {
        let class = |rule, sim, gpu| Class::of(rule, Some(sim), Some(gpu));
        use Rule::{Arbitrated, Counts, Information, Requests, TwoPlaces};
        for (rule, sim, gpu, expected) in [
            (Counts, 1000.0, 1000.0, Some(Class::Exact)),
            (Counts, 0.0, 0.0, Some(Class::Exact)),
            (Counts, 1000.0, 1010.0, Some(Class::Within)),
            (Requests, 1000.0, 990.0, Some(Class::Within)),
            (Counts, 1000.0, 1011.0, None),
            (Counts, 1000.0, 989.0, None),
            (Counts, 0.0, 1.0, None),
            (Counts, 1.0, 0.0, None),
            (TwoPlaces, 25.098_425, 25.1, Some(Class::Exact)),
            (TwoPlaces, 25.094_9, 25.1, Some(Class::Within)),
            (TwoPlaces, 25.0, 26.0, None),
            (Arbitrated, 1000.0, 1060.0, Some(Class::Arbitration)),
            (Arbitrated, 1000.0, 1061.0, None),
            (Arbitrated, 1000.0, 1009.0, Some(Class::Within)),
            // Arbitration takes passes and gives none.
            (Arbitrated, 1000.0, 960.0, None),
            (Counts, 1000.0, 1060.0, None),
            (Information, 1.0, 2.0, Some(Class::Information)),
        ] {
            assert_eq!(class(rule, sim, gpu), expected, "{rule:?} {sim} {gpu}");
        }
        assert_eq!(Class::of(Counts, None, None), Some(Class::Exact));
        assert_eq!(Class::of(TwoPlaces, None, Some(50.0)), None);
        assert_eq!(Class::of(TwoPlaces, Some(50.0), None), None);
    }

    #[test]
    fn changes_explain_what_they_touch_and_in_their_direction() {
        let change = |kind, effect| Change {
            kind,
            effect,
            ptx: 64,
            sass: 40,
        };
        let loads = find("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum").unwrap();
        let sectors = find("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum").unwrap();
        let used = find("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct").unwrap();
        let waves = find("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum").unwrap();
        let stores = find("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum").unwrap();
        let atom = find("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum").unwrap();
        let red = find("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum").unwrap();
        let warps = find("smsp__warps_launched.sum").unwrap();
        for (metric, kind, effect, fewer, more) in [
            (loads, Kind::Ldg, Effect::Widened, true, false),
            (loads, Kind::Ldg, Effect::Removed, true, false),
            (loads, Kind::Ldg, Effect::Split, false, true),
            (loads, Kind::Ldg, Effect::Copied, false, true),
            (loads, Kind::Ldgsts, Effect::Split, false, true),
            (loads, Kind::Ldg, Effect::Predicated, false, false),
            (loads, Kind::Lds, Effect::Widened, false, false),
            (loads, Kind::Stg, Effect::Copied, false, false),
            (sectors, Kind::Ldg, Effect::Widened, true, true),
            (sectors, Kind::Ldg, Effect::Removed, true, false),
            (sectors, Kind::Ldg, Effect::Copied, false, true),
            (used, Kind::Ldg, Effect::Copied, true, true),
            (used, Kind::Ldg, Effect::Predicated, false, false),
            (waves, Kind::Lds, Effect::Widened, true, true),
            (waves, Kind::Sts, Effect::Widened, false, false),
            (stores, Kind::Lds, Effect::Widened, false, false),
            (atom, Kind::Atom, Effect::Resultless, true, false),
            (red, Kind::Atom, Effect::Resultless, false, true),
            (waves, Kind::Atom, Effect::Resultless, false, false),
            (warps, Kind::Ldg, Effect::Copied, false, false),
        ] {
            let changes = [change(kind, effect)];
            let explained =
                |gpu| !explanations(metric, Some(100.0), Some(gpu), &changes).is_empty();
            let name = &metric.name;
            assert_eq!(
                explained(50.0),
                fewer,
                "{name}: fewer by {kind:?} {effect:?}"
            );
            assert_eq!(
                explained(200.0),
                more,
                "{name}: more by {kind:?} {effect:?}"
            );
        }
        let words = explanations(
            waves,
            Some(64.0),
            Some(32.0),
            &[
                change(Kind::Stg, Effect::Copied),
                change(Kind::Lds, Effect::Widened),
            ],
        );
        assert_eq!(words, ["64 LDS of the PTX are 40 wider ones in SASS"]);
    }
}
