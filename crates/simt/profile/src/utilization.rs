//! The share of each of a device's limits that a launch reaches, as measured by Nsight Compute or as predicted by
//! [`model`](crate::model).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::Geometry;
use crate::counters::{Expression, Numbers, embedded};
use crate::model::{Estimate, Resource};
use crate::verdict::Utilization;
use devices::{Description, Limits};

/// The size of the problem's data. Expressions use it like a counter.
const PROBLEM_BYTES: &str = "problem_bytes";

/// Expressions of the fields of [`Utilization`], by name.
type Fields = BTreeMap<String, Expression>;

/// The contents of the TOML file that defines the expressions.
#[derive(Deserialize)]
struct File {
    both: Fields,
    gpu: Fields,
    sim: Fields,
    model: ModelInputs,
}

/// The input that a prediction needs in addition to the model.
#[derive(Deserialize)]
struct ModelInputs {
    shared_wavefronts: Expression,
}

static FILE: LazyLock<File> = LazyLock::new(|| embedded("utilization.toml", include_str!("utilization.toml")));

/// Returns the metrics that Nsight Compute collects in addition to the shown metrics. The verdict ignores a metric that
/// the chip does not have.
pub fn metrics() -> BTreeSet<String> {
    let fields = FILE.both.values().chain(FILE.gpu.values());
    let mut metrics: BTreeSet<String> = fields.flat_map(Expression::counters).collect();
    metrics.remove(PROBLEM_BYTES);
    metrics
}

/// Computes the fields for a launch whose problem has this many bytes.
fn counted(fields: &Fields, numbers: &Numbers, problem_bytes: u64) -> Utilization {
    let number = |name: &str| match name {
        PROBLEM_BYTES => Some(problem_bytes as f64),
        _ => numbers.get(name).copied(),
    };
    let fields = FILE.both.iter().chain(fields);
    let values = fields.filter_map(|(name, field)| Some((name.clone(), field.of(&number)?.into())));
    serde_json::from_value(serde_json::Value::Object(values.collect()))
        .expect("the file has only fields of Utilization, as a test checks")
}

impl Utilization {
    /// Returns the utilization that Nsight Compute measured for a launch whose problem has this many bytes.
    pub fn from_ncu(numbers: &Numbers, problem_bytes: u64) -> Self {
        counted(&FILE.gpu, numbers, problem_bytes)
    }

    /// Returns the utilization from the model's prediction for a device and from the simulator's counters. The share of
    /// a resource is the time that the resource alone would take, divided by the predicted time. The model treats L1
    /// and shared memory as one resource. Its time is attributed to shared memory if the launch has wavefronts of
    /// shared memory, and to L1 otherwise. The integer pipe counts as part of the issue slots.
    pub fn from_model(
        device: &Description,
        estimate: &Estimate,
        numbers: &Numbers,
        launch: Geometry,
        problem_bytes: u64,
    ) -> Self {
        let share = |resource| Some(estimate.share(resource));
        let multiprocessors = f64::from(device.multiprocessors);
        let blocks = launch.blocks() as f64;
        let warps_of_block = launch.threads().div_ceil(32) as f64;
        let resident = f64::from(estimate.resident.max(1));
        let waves = blocks / (resident * multiprocessors);
        let active_warps = resident.min(blocks / multiprocessors) * warps_of_block;
        let limits = Limits::named(&device.arch);
        let wavefronts = FILE.model.shared_wavefronts.of(&|name| numbers.get(name).copied());
        let has_shared = wavefronts.is_some_and(|all| all > 0.0);
        let l1_or_shared = share(Resource::Shared);
        Self {
            dram: share(Resource::Memory),
            l2: share(Resource::L2),
            l2_atomics: share(Resource::Atomics),
            l1: l1_or_shared.filter(|_| !has_shared),
            shared: l1_or_shared.filter(|_| has_shared),
            issue: Some(estimate.share(Resource::Issue).max(estimate.share(Resource::Integers))),
            fma: share(Resource::Floats),
            special: share(Resource::Special),
            tensor: share(Resource::Matrix),
            warps_active: limits.ok().map(|all| active_warps / f64::from(all.warps)),
            waves: Some(waves),
            barrier: Some(estimate.at_barriers / estimate.us),
            predicted_ns: Some(estimate.us * 1e3),
            ..counted(&FILE.sim, numbers, problem_bytes)
        }
    }
}
