//! Profiles: what Nsight Compute counts of a rung on a GPU and what the simulator counts of it, under the same
//! names, what the numbers mean, and which resource bounds the rung.
//!
//! - [`metrics`] is the list of what can be asked for and where each device has it from.
//! - [`plan`] finds what to profile; [`on_sim`] counts it; [`ncu`] has Nsight Compute count it, by running this
//!   program under it.
//! - [`statements`] are what the texts say that the ladders come from, checked against the numbers.
//! - [`verdict`] says what bounds a rung, from [`Shares`](verdict::Shares) of the device's limits.
//! - [`show`] writes all that down.
//!
//! A profile does not check results; `ladder run` and `ladder check` do.
//!
//! ```
//! use host::device::{self, Choice};
//! use host::profile::{metrics, on_sim, plan};
//!
//! # fn main() -> Result<(), host::Error> {
//! let chosen = plan::choose(&["transpose_naive".to_owned()], &[("rows", "64".to_owned())])?;
//! let plan = chosen[0].plan(None)?;
//! let numbers = on_sim(&mut *device::open(Choice::Sim)?, &plan, |_| ())?;
//!
//! let name = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
//! let stores = metrics::find(name, false)?;
//! assert_eq!(stores.sim.of(name, &numbers[0]), Some(32.0));
//! # Ok(())
//! # }
//! ```

pub mod bounds;
mod error;
pub mod metrics;
pub mod ncu;
pub mod plan;
pub mod statements;
#[cfg(test)]
mod tests;
pub mod verdict;

use std::collections::BTreeMap;

pub use error::ProfileError;
pub use metrics::{Metric, Source};
pub use plan::Chosen;

use engine::device::Device;
use engine::launch::Launch;
use engine::registry::{Ladder, Rung};
use engine::run::{Plan, Session};
use verdict::Verdict;

/// What was counted of a launch, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers(BTreeMap<String, f64>);

impl Numbers {
    /// The number of this name, where it was counted.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Puts a number in.
    pub fn insert(&mut self, name: impl Into<String>, number: f64) {
        self.0.insert(name.into(), number);
    }
}

impl<N: Into<String>> FromIterator<(N, f64)> for Numbers {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(numbers: I) -> Self {
        Self(
            numbers
                .into_iter()
                .map(|(name, number)| (name.into(), number))
                .collect(),
        )
    }
}

/// One of the two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The simulator.
    Sim,
    /// The GPU, through Nsight Compute.
    Gpu,
}

/// The profile of a rung.
#[derive(Clone, Debug)]
pub struct Row {
    /// The rung.
    pub rung: &'static Rung,
    /// How it was launched.
    pub launch: Launch,
    /// What the simulator counted, where it was asked.
    pub sim: Option<Numbers>,
    /// What the GPU counted, where it was asked.
    pub gpu: Option<Numbers>,
    /// What bounds it: by the GPU's numbers where there are some, else by a bound from the simulator's.
    pub verdict: Option<Verdict>,
}

impl Row {
    /// What that device counted.
    pub fn on(&self, side: Side) -> Option<&Numbers> {
        match side {
            Side::Sim => self.sim.as_ref(),
            Side::Gpu => self.gpu.as_ref(),
        }
    }

    /// The metric's number on that device.
    pub fn number(&self, metric: &Metric<'_>, side: Side) -> Option<f64> {
        metric.source(side).of(metric.name, self.on(side)?)
    }
}

impl Metric<'_> {
    /// Where that device has it from.
    pub fn source(&self, side: Side) -> &Source {
        match side {
            Side::Sim => &self.sim,
            Side::Gpu => &self.gpu,
        }
    }
}

/// The profile of a ladder, or of some of its rungs.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The problem in words.
    pub title: String,
    /// The rungs, in the ladder's order.
    pub rows: Vec<Row>,
    /// Why others are not among them.
    pub left_out: Vec<String>,
}

impl Side {
    /// What `--device` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Gpu => "gpu",
        }
    }
}

/// Counts a launch of each rung of a plan on a device that counts. `progress` hears of each before it runs.
///
/// # Errors
/// Where the problem does not fit, and what the device refuses.
pub fn on_sim(
    device: &mut dyn Device,
    plan: &Plan,
    mut progress: impl FnMut(&Rung),
) -> Result<Vec<Numbers>, ProfileError> {
    device.set_counting(true);
    let restorable = plan.launches().iter().any(|(rung, _)| rung.in_place);
    let mut session = Session::new(device, plan.problem(), restorable)?;
    let mut all = Vec::new();
    for (rung, launch) in plan.launches() {
        progress(rung);
        let ran = session.once(rung, launch)?;
        let counted = ran.counters.iter();
        all.push(
            counted
                .filter_map(|counter| Some((counter.name, counter.value.number()?)))
                .collect(),
        );
    }
    Ok(all)
}
