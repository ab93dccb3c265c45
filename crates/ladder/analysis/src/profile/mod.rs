//! Profiles: the counters of a rung from Nsight Compute on a GPU and from the simulator. Both use the same names. A
//! profile also names the resource that bounds the rung.
//!
//! - [`metrics`] lists the metrics, and the source of each on both devices.
//! - [`plan`] plans the launches; [`on_sim`] counts them on the simulator; [`ncu`] counts them with Nsight Compute,
//!   which runs this program.
//! - [`statements`] checks claims in the ladders' source texts against the numbers.
//! - [`next_rung`] finds the rung that applies the fix of the [verdict](::profile::verdict).
//!
//! A profile does not check results; `ladder run` and `ladder check` do.
//!
//! ```
//! use analysis::profile::{metrics, on_sim, plan};
//! use host::selection::select_with;
//! use host::{CATALOG, KERNELS, device};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = [("rows", "64".to_owned())];
//! let selected = select_with(&CATALOG, &["transpose_naive".to_owned()], &options)?;
//! let mut sim = device::open(device::Choice::Sim, &KERNELS)?;
//! let plan = plan(&selected[0], None, sim.info().properties())?;
//! let numbers = on_sim(&mut *sim, &plan, |_| ())?;
//!
//! let name = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";
//! let stores = metrics::find(name, false)?;
//! assert_eq!(stores.sim.of(name, &numbers[0]), Some(32.0));
//! # Ok(())
//! # }
//! ```

pub mod metrics;
pub mod ncu;
pub mod statements;
#[cfg(test)]
mod tests;

use crate::Error;
use ::profile::checklist::{Optimization, Pair};
use ::profile::counters::{Numbers, counted};
use ::profile::metrics::{Metric, Side};
use ::profile::verdict::BoundVerdict;

use engine::device::Device;
use engine::launch::Launch;
use engine::registry::{DeviceProperties, Ladder, Rung};
use engine::run::{Plan, Session};
use engine::selection::Selection;

/// The profile of a rung.
#[derive(Clone, Debug)]
pub struct RungProfile {
    /// The rung.
    pub rung: &'static Rung,
    /// The launch of the rung.
    pub launch: Launch,
    /// The launch's counters.
    pub numbers: Numbers,
    /// The verdict on the resource that bounds the rung.
    pub verdict: Option<BoundVerdict>,
}

impl RungProfile {
    /// Returns the metric's number, as counted by this device.
    pub fn number(&self, metric: &Metric, side: Side) -> Option<f64> {
        metric.source(side).of(&metric.name, &self.numbers)
    }
}

/// The profile of a ladder, or of some of its rungs.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The device that counted.
    pub side: Side,
    /// The problem in words.
    pub title: String,
    /// The rungs, in the ladder's order.
    pub rows: Vec<RungProfile>,
    /// The reasons why other rungs are left out.
    pub left_out: Vec<String>,
}

/// Plans the problem of a selection and one launch of each rung for a device.
///
/// # Errors
/// Returns [`Error::Engine`] when the options, the block or a named rung are not supported, and [`Error::Request`] when
/// no rung of the ladder computes the problem.
pub fn plan(selection: &Selection, block: Option<[u32; 3]>, device: DeviceProperties) -> Result<Plan, Error> {
    let plan = selection.plan(block, None, device)?;
    match plan.launches().is_empty() {
        true => {
            let ladder = selection.ladder.name;
            Err(Error::Request(format!("there is nothing to profile: no rung of {ladder} computes this problem")))
        }
        false => Ok(plan),
    }
}

/// Counts one launch of each rung of a plan on a device that can count launches. `progress` is called with each rung
/// before its launch.
///
/// # Errors
/// Returns [`Error::Engine`] when the problem does not fit into the device's memory, and when the device fails.
pub fn on_sim(device: &mut dyn Device, plan: &Plan, mut progress: impl FnMut(&Rung)) -> Result<Vec<Numbers>, Error> {
    device.set_counting(true);
    let restorable = plan.launches().iter().any(|(rung, _)| rung.in_place);
    let mut session = Session::new(device, plan.problem(), restorable)?;
    let mut all = Vec::new();
    for (rung, launch) in plan.launches() {
        progress(rung);
        let ran = session.once(rung, launch)?;
        all.push(counted(&ran.counters));
    }
    Ok(all)
}

/// Returns the next rung of the ladder that applies this optimization. This is the rung that the checklist pairs with
/// `rung` for the optimization, or otherwise the first later rung in the optimization's pairs.
pub fn next_rung(ladder: &Ladder, rung: &Rung, optimization: Optimization) -> Option<&'static str> {
    let entry = optimization.entry();
    if let Some(pair) = entry.pair(ladder.name, rung.name) {
        return Some(&pair.after);
    }
    let place = |name: &str| ladder.rungs.iter().position(|other| other.name == name);
    let rung_place = place(rung.name)?;
    let is_later = |pair: &&Pair| place(&pair.after).is_some_and(|after| after > rung_place);
    let mut pairs = entry.pairs.iter().filter(|pair| pair.ladder == ladder.name);
    pairs.find(is_later).map(|pair| pair.after.as_str())
}
