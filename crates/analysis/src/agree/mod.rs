//! Agreement: compares the simulator's counters of every rung with Nsight Compute's on a GPU.
//!
//! - [`metrics`] are the metrics that both sides have, with the rule for when they agree.
//! - [`class`] classifies two numbers, and explains differences by the changes that `ptxas` made to the PTX.
//! - [`cases`] are the runs that are compared; [`compare`] compares one.
//! - [`record`] keeps comparisons in a file, with which tests check the simulator's numbers without a GPU.
//!
//! The simulator counts PTX; a GPU counts the machine code that `ptxas` makes of it. When the two numbers differ, the
//! instructions of both are compared: a change of instructions that a metric counts explains a difference of that
//! metric, and a difference without such a change is unexplained.
//!
//! A kernel that waits for other blocks has different counts in every run, on both sides. When nothing explains a
//! difference of such a kernel, it is counted on the GPU again.

pub mod cases;
pub mod class;
pub mod metrics;
pub mod record;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use toolkit::access::{self, Change};
use toolkit::{Found, Tool};

pub use cases::Case;

use crate::Error;
use crate::counters::Numbers;
use crate::profile::ncu::{MetricSet, Ncu};
use crate::profile::on_sim;
use class::{Class, explanations};
use engine::device::{Device, DeviceInfo};
use engine::run::Plan;
use engine::size::dims;
use engine::{Kernels, Provenance, Ptx};
use metrics::{ComparedMetric, METRICS};
use record::{Circumstances, Comparison, Row, Run};

/// Finds the changes that `ptxas` made to an entry's memory instructions.
pub trait Explain {
    /// The changes to the entry's memory instructions.
    ///
    /// # Errors
    /// When one of the tools fails.
    fn changes(&self, entry: &str) -> Result<Vec<Change>, toolkit::Error>;

    /// Whether an entry may wait for the writes of other threads, so that the number of its loads and branches varies.
    fn waits(&self, entry: &str) -> bool;

    /// The assembler's version.
    fn version(&self) -> Option<String>;
}

/// NVIDIA's tools, on the PTX that a GPU runs.
pub struct Tools {
    ptxas: Found,
    nvdisasm: Found,
    ptx: &'static Ptx,
    arch: String,
}

impl Tools {
    /// Finds the tools for a GPU of this compute capability.
    ///
    /// # Errors
    /// When tools are missing. The error names each of them, and how to get it.
    pub fn find(
        kernels: &'static Kernels,
        capability: Option<(u32, u32)>,
    ) -> Result<Self, Vec<String>> {
        let tools = [Tool::Ptxas, Tool::Nvdisasm].map(toolkit::find);
        let own = capability.zip(kernels.newest_for(capability));
        match (tools, own) {
            ([Ok(ptxas), Ok(nvdisasm)], Some(((major, minor), kernels))) => Ok(Self {
                ptxas,
                nvdisasm,
                ptx: kernels,
                arch: format!("sm_{major}{minor}"),
            }),
            (tools, own) => {
                let failed = tools.into_iter().filter_map(Result::err);
                let mut missing: Vec<String> = failed.map(|error| error.to_string()).collect();
                if own.is_none() {
                    missing.push("no kernels here are for a GPU so old".to_owned());
                }
                Err(missing)
            }
        }
    }
}

impl Explain for Tools {
    fn changes(&self, entry: &str) -> Result<Vec<Change>, toolkit::Error> {
        let Self {
            ptxas,
            nvdisasm,
            ptx,
            arch,
        } = self;
        Ok(access::of_entry(ptxas, nvdisasm, &ptx.part(entry), entry, arch)?.changes())
    }

    fn waits(&self, entry: &str) -> bool {
        access::waits(&self.ptx.part(entry), entry)
    }

    fn version(&self) -> Option<String> {
        Some(self.ptxas.version.clone())
    }
}

/// The GPU's side of a comparison.
pub struct Gpu<'a> {
    /// The GPU.
    pub info: DeviceInfo,
    /// Nsight Compute, which counts on it.
    pub ncu: Ncu<'a>,
    /// The tools that explain differences.
    pub explain: Box<dyn Explain>,
    /// The date and the compilers.
    pub provenance: Provenance,
}

impl Gpu<'_> {
    /// The changes that `ptxas` made to an entry's memory instructions for this GPU.
    ///
    /// # Errors
    /// [`Error::Sass`] when the tools fail.
    pub fn changes(&self, entry: &str) -> Result<Vec<Change>, Error> {
        self.explain.changes(entry).map_err(|error| Error::Sass {
            entry: entry.to_owned(),
            error,
        })
    }

    /// The circumstances of its measurements.
    pub fn measured(&self) -> Circumstances {
        Circumstances {
            device: self.info.name.clone(),
            capability: self.info.compute_capability,
            driver: self.info.driver.clone(),
            ncu: Some(self.ncu.version()),
            ptxas: self.explain.version(),
            date: self.provenance.date.clone(),
            toolchain: self.provenance.toolchain.clone(),
        }
    }
}

/// Counts a case on both sides and compares the numbers. `plan` holds the launches that the GPU can run.
///
/// # Errors
/// [`Error`] when Nsight Compute or the simulator fails, [`Error::Sass`] when a tool fails that
/// looks for explanations.
pub fn compare(
    case: &Case,
    plan: &Plan,
    gpu: &Gpu<'_>,
    sim: &mut dyn Device,
    mut progress: impl FnMut(&str),
) -> Result<Run, Error> {
    let (needed, optional): (Vec<&ComparedMetric>, Vec<&ComparedMetric>) =
        METRICS.iter().partition(|metric| !metric.is_optional);
    let copies = METRICS.iter().filter_map(|metric| metric.copies.as_ref());
    let wanted = MetricSet {
        needed: counters(&needed),
        optional: &counters(&optional) | &copies.flatten().cloned().collect(),
    };
    let Case { selection, block } = case;
    let ladder = selection.ladder.name;
    let launches = plan.launches();
    progress(&format!("{ladder} under ncu"));
    let on_gpu = gpu.ncu.profile(selection, launches, *block, &wanted)?;
    let on_sim = on_sim(sim, plan, |rung| progress(rung.name))?;
    progress("ptxas");

    let there: Vec<&ComparedMetric> = METRICS
        .iter()
        .filter(|metric| !metric.is_optional || is_on_chip(metric, &on_gpu))
        .collect();
    let mut rungs = Vec::new();
    for ((rung, launch), numbers) in launches.iter().zip(on_sim.iter().zip(&on_gpu)) {
        // Computed when it is first needed, because the tools take a moment.
        let mut changes = None;
        let find = || gpu.changes(&launch.entry);
        let mut metrics = BTreeMap::new();
        for metric in &there {
            if let Some(comparison) = compare_metric(metric, numbers, &mut changes, find)? {
                metrics.insert(metric.name.clone(), comparison);
            }
        }
        rungs.push(Row {
            rung: rung.name.to_owned(),
            launch: launch.to_string(),
            metrics,
        });
    }
    waits::remeasure(&mut rungs, launches, &on_gpu, &*gpu.explain, |launches| {
        gpu.ncu.profile(selection, launches, *block, &wanted)
    })?;
    let options = selection.given.iter();
    Ok(Run {
        ladder: ladder.to_owned(),
        title: plan.problem().title(),
        options: options
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        block: block.map(dims),
        measured: gpu.measured(),
        metrics: there.iter().map(|metric| metric.name.clone()).collect(),
        left_out: plan.left_out().to_vec(),
        rungs,
    })
}

/// Compares one metric; `None` when both sides have no number or 0.
fn compare_metric(
    metric: &ComparedMetric,
    numbers: (&Numbers, &Numbers),
    changes: &mut Option<Vec<Change>>,
    find: impl Fn() -> Result<Vec<Change>, Error>,
) -> Result<Option<Comparison>, Error> {
    let gpu = numbers.1;
    let sim = metric.sim.of(&metric.name, numbers.0).map(rounded);
    let ncu = metric.gpu.of(&metric.name, gpu).map(rounded);
    let nothing = |number: Option<f64>| number.is_none_or(|number| number == 0.0);
    if nothing(sim) && nothing(ncu) {
        return Ok(None);
    }
    let by_instruction = metric.by_instruction.as_ref();
    let by_instruction = by_instruction.and_then(|name| gpu.get(name));
    let (class, why) = match Class::of(metric.rule, sim, ncu) {
        Some(class) => (class, Vec::new()),
        // The by-instruction counter is a better explanation than the changes of ptxas.
        None if sim.is_some() && by_instruction == sim && ncu > sim => {
            (Class::Explained, vec![ARBITRATION.to_owned()])
        }
        None if let Some(why) = copies_that_bypass_l1(metric, sim, ncu, gpu) => {
            (Class::Explained, vec![why])
        }
        None => {
            let changes = match changes {
                Some(changes) => changes,
                None => changes.insert(find()?),
            };
            let why = with_the_other_kind(metric, numbers, explanations(metric, sim, ncu, changes));
            let class = match why.is_empty() {
                true => Class::Unexplained,
                false => Class::Explained,
            };
            (class, why)
        }
    };
    Ok(Some(Comparison {
        sim,
        ncu,
        class,
        why,
    }))
}

/// The explanation when the by-instruction counter equals the simulator's number.
const ARBITRATION: &str = "all of it is arbitration: by instruction the GPU counts as many as sim";

/// The relative excess of a GPU's atomic sectors that is tolerated: when the words of a request lie in more than four
/// lines of 128 bytes, the GPU passes some line twice. (On an H100, all 24 tested requests that change 32 words in one
/// to four lines count each sector once; of 58 requests in five or more lines, 13 count one sector twice.)
const AGAIN_THROUGH_A_LINE: f64 = 0.02;

/// Accepts an explanation of a counter of atomics only if the sums of both kinds agree.
fn with_the_other_kind(
    metric: &ComparedMetric,
    (sim, gpu): (&Numbers, &Numbers),
    mut why: Vec<String>,
) -> Vec<String> {
    let Some(other) = &metric.together else {
        return why;
    };
    let both = |numbers: &Numbers| {
        let get = |name: &str| numbers.get(name).unwrap_or(0.0);
        get(&metric.name) + get(other)
    };
    let (sim, gpu) = (both(sim), both(gpu));
    if gpu == sim || why.is_empty() {
        return why;
    }
    if metric.rule == metrics::Rule::Counts && gpu > sim && gpu - sim <= AGAIN_THROUGH_A_LINE * sim
    {
        why.push(format!(
            "together {gpu} for sim's {sim}, for lines that the GPU goes through twice"
        ));
        return why;
    }
    Vec::new()
}

/// The explanation when all excess sectors are those of copies that bypass the L1.
fn copies_that_bypass_l1(
    metric: &ComparedMetric,
    sim: Option<f64>,
    ncu: Option<f64>,
    gpu: &Numbers,
) -> Option<String> {
    let (sim, ncu) = (sim?, ncu?);
    let [through, past] = metric.copies.as_ref()?;
    let (through, past) = (gpu.get(through)?, gpu.get(past)?);
    let own = sim - through;
    (through + past == ncu && 0.0 < own && own < past).then(|| {
        format!(
            "all of it is in copies that pass by L1: by instruction the GPU counts {past} sectors for their {own}, its \
             global load sectors have each once"
        )
    })
}

/// Rounds a number to six places, as it is written to a record and read back.
pub fn rounded(number: f64) -> f64 {
    const PLACES: f64 = 1e6;
    (number * PLACES).round() / PLACES
}

/// The counters that Nsight Compute has to collect.
fn counters(metrics: &[&ComparedMetric]) -> BTreeSet<String> {
    let all = metrics
        .iter()
        .flat_map(|metric| metric.gpu.needs(&metric.name));
    all.collect()
}

/// Whether the chip has what the metric needs.
fn is_on_chip(metric: &ComparedMetric, all: &[Numbers]) -> bool {
    let needs = metric.gpu.needs(&metric.name);
    needs
        .iter()
        .all(|name| all.iter().any(|numbers| numbers.get(name).is_some()))
}
