//! Agreement: compares the simulator's counters of every rung with Nsight Compute's on a GPU.
//!
//! - [`metrics`] lists the metrics that both sides count, and the rule that decides whether two numbers agree.
//! - [`class`] classifies two numbers, and explains differences with the changes that `ptxas` made to the PTX.
//! - [`cases`] lists the runs that are compared; [`compare`] compares one run.
//! - [`record`] defines comparisons as recorded results, which tests use to check the simulator without a GPU.
//!
//! The simulator counts PTX; a GPU counts the machine code that `ptxas` makes from it. When the two numbers differ, the
//! instructions of both are compared. If `ptxas` changed instructions that a metric counts, the change explains a
//! difference in that metric. A difference without such a change is unexplained.
//!
//! A kernel that waits for other blocks has different counts in every run, on both sides. When nothing explains a
//! difference of such a kernel, the kernel is counted again on the GPU.

pub mod cases;
pub mod class;
mod fences;
pub mod metrics;
pub mod record;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use toolkit::access::{self, Change, Effect};
use toolkit::{Found, Tool};

pub use cases::Case;

use crate::Error;
use crate::profile::ncu::{MetricSet, Ncu};
use crate::profile::on_sim;
use class::{Class, explanations};
use engine::device::{Device, DeviceInfo};
use engine::run::Plan;
use engine::size::dims;
use engine::{Kernels, Provenance, Ptx};
use metrics::{ComparedMetric, METRICS};
use profile::counters::Numbers;
use record::{ComparedRun, ComparedRung, Comparison, GpuContext, Request};

/// Finds the changes that `ptxas` made to an entry's memory instructions.
pub trait Explain {
    /// Returns the changes to the entry's memory instructions.
    ///
    /// # Errors
    /// Returns an error when one of the tools fails.
    fn changes(&self, entry: &str) -> Result<Vec<Change>, toolkit::Error>;

    /// Returns whether an entry can wait for the writes of other threads, so that the number of its loads and branches
    /// varies.
    fn waits(&self, entry: &str) -> bool;

    /// Returns whether an entry has fences and all of them have system scope.
    fn has_only_system_fences(&self, entry: &str) -> bool;

    /// Returns the assembler's version.
    fn version(&self) -> Option<String>;
}

/// NVIDIA's tools, applied to the PTX that a GPU runs.
pub struct Tools {
    ptxas: Found,
    nvdisasm: Found,
    ptx: &'static Ptx,
    arch: String,
}

impl Tools {
    /// Finds the tools for a GPU with this compute capability.
    ///
    /// # Errors
    /// Returns the names of the missing tools, each with instructions for installing it.
    pub fn find(kernels: &'static Kernels, capability: Option<(u32, u32)>) -> Result<Self, Vec<String>> {
        let tools = [Tool::Ptxas, Tool::Nvdisasm].map(toolkit::find);
        let module = capability.zip(kernels.newest_for(capability).map_err(|error| vec![error.to_string()])?);
        match (tools, module) {
            ([Ok(ptxas), Ok(nvdisasm)], Some(((major, minor), kernels))) => {
                let arch = kernels.assembled_for(&format!("sm_{major}{minor}"));
                Ok(Self { ptxas, nvdisasm, ptx: kernels, arch })
            }
            (tools, module) => {
                let failed = tools.into_iter().filter_map(Result::err);
                let too_old = "the GPU is older than all kernels of this program".to_owned();
                let too_old = module.is_none().then_some(too_old);
                Err(failed.map(|error| error.to_string()).chain(too_old).collect())
            }
        }
    }
}

impl Explain for Tools {
    fn changes(&self, entry: &str) -> Result<Vec<Change>, toolkit::Error> {
        let (ptx, arch) = (self.ptx.part(entry), &self.arch);
        Ok(access::of_entry(&self.ptxas, &self.nvdisasm, &ptx, entry, arch)?.changes())
    }

    fn waits(&self, entry: &str) -> bool {
        access::waits(&self.ptx.part(entry), entry)
    }

    fn has_only_system_fences(&self, entry: &str) -> bool {
        access::has_only_system_fences(&self.ptx.part(entry), entry)
    }

    fn version(&self) -> Option<String> {
        Some(self.ptxas.version.clone())
    }
}

/// The GPU's side of a comparison.
pub struct Gpu<'a> {
    /// The GPU.
    pub info: DeviceInfo,
    /// Nsight Compute, which counts on the GPU.
    pub ncu: Ncu<'a>,
    /// The tools that explain differences.
    pub explain: Box<dyn Explain>,
    /// The date and the compilers.
    pub provenance: Provenance,
}

impl Gpu<'_> {
    /// Returns the changes that `ptxas` made to an entry's memory instructions for this GPU.
    ///
    /// # Errors
    /// Returns [`Error::Sass`] when the tools fail.
    pub fn changes(&self, entry: &str) -> Result<Vec<Change>, Error> {
        let changes = self.explain.changes(entry);
        changes.map_err(|error| Error::Sass(entry.to_owned(), error))
    }

    /// Returns the circumstances of the GPU's measurements.
    pub fn measured(&self) -> GpuContext {
        GpuContext {
            device: self.info.to_string(),
            tools: match self.explain.version() {
                Some(ptxas) => format!("{}; ptxas {ptxas}", self.ncu.version()),
                None => self.ncu.version(),
            },
            date: self.provenance.date.clone(),
            toolchain: self.provenance.toolchain.clone(),
        }
    }
}

/// Returns the counters of Nsight Compute that are compared, and the counters that explain differences.
pub fn counters() -> MetricSet {
    let counters = |is_optional: bool| -> BTreeSet<String> {
        let metrics = METRICS.iter().filter(|metric| metric.is_optional == is_optional);
        metrics.flat_map(|metric| metric.gpu.needs(&metric.name)).collect()
    };
    let copies = METRICS.iter().filter_map(|metric| metric.copies.as_ref());
    MetricSet { needed: counters(false), optional: &counters(true) | &copies.flatten().cloned().collect() }
}

/// Returns the metrics that a GPU supports, as determined from the GPU's numbers for several launches.
pub fn counted_by(on_gpu: &[Numbers]) -> Vec<&'static ComparedMetric> {
    let is_counted = |name: &String| on_gpu.iter().any(|numbers| numbers.contains_key(name));
    let is_there =
        |metric: &&ComparedMetric| !metric.is_optional || metric.gpu.needs(&metric.name).iter().all(is_counted);
    METRICS.iter().filter(is_there).collect()
}

/// Compares the numbers that both sides counted for a launch of this entry. A metric that is 0 on both sides is left
/// out.
///
/// # Errors
/// Returns [`Error::Sass`] when a tool that looks for explanations fails.
pub fn comparisons(
    metrics: &[&ComparedMetric],
    (on_sim, on_gpu): (&Numbers, &Numbers),
    explain: &dyn Explain,
    entry: &str,
) -> Result<BTreeMap<String, Comparison>, Error> {
    let mut changes = None;
    let mut compared = BTreeMap::new();
    for metric in metrics {
        let sim = metric.sim.of(&metric.name, on_sim).map(rounded);
        let ncu = metric.gpu.of(&metric.name, on_gpu).map(rounded);
        if [sim, ncu].into_iter().flatten().all(|number| number == 0.0) {
            continue;
        }
        let of_fences = || {
            let why = fences::explanation(metric, sim, ncu, on_sim)?;
            explain.has_only_system_fences(entry).then_some((Class::Explained, Some(why)))
        };
        let (class, why) = match class_without_changes(metric, sim, ncu, on_gpu).or_else(of_fences) {
            Some((class, why)) => (class, why.into_iter().collect()),
            None => {
                // Compute the changes only when they are needed, because running the tools takes a moment.
                let changes = match &mut changes {
                    Some(changes) => changes,
                    none => none.insert(explain.changes(entry).map_err(|error| Error::Sass(entry.to_owned(), error))?),
                };
                let why = explanations(metric, sim, ncu, changes);
                match with_the_other_kind(metric, (on_sim, on_gpu), changes, why) {
                    why if why.is_empty() => (Class::Unexplained, why),
                    why => (Class::Explained, why),
                }
            }
        };
        compared.insert(metric.name.clone(), Comparison { sim, ncu, class, why });
    }
    Ok(compared)
}

/// Counts a case on both sides and compares the numbers. `plan` holds the launches that the GPU can run.
///
/// # Errors
/// Returns [`Error`] when Nsight Compute or the simulator fails, and [`Error::Sass`] when a tool that looks for
/// explanations fails.
pub fn compare(
    case: &Case,
    plan: &Plan,
    gpu: &Gpu<'_>,
    sim: &mut dyn Device,
    mut progress: impl FnMut(&str),
) -> Result<ComparedRun, Error> {
    let wanted = counters();
    let Case { selection, block } = case;
    let ladder = selection.ladder.name;
    let launches = plan.launches();
    progress(&format!("{ladder} under ncu"));
    let on_gpu = gpu.ncu.profile(selection, launches, *block, &wanted)?;
    let on_sim = on_sim(sim, plan, |rung| progress(rung.name))?;
    progress("ptxas");

    let compared_metrics = counted_by(&on_gpu);
    let mut rungs = Vec::new();
    for ((rung, launch), (on_sim, on_gpu)) in launches.iter().zip(on_sim.iter().zip(&on_gpu)) {
        let metrics = comparisons(&compared_metrics, (on_sim, on_gpu), gpu.explain.as_ref(), &launch.entry)?;
        rungs.push(ComparedRung { rung: rung.name.to_owned(), launch: launch.to_string(), metrics });
    }
    waits::remeasure(&mut rungs, launches, &on_gpu, &*gpu.explain, |launches| {
        gpu.ncu.profile(selection, launches, *block, &wanted)
    })?;
    let options = selection.given.iter();
    let options = options.map(|(name, value)| ((*name).to_owned(), value.clone()));
    let (title, block) = (plan.problem().labels().title, block.map(dims));
    Ok(ComparedRun {
        ladder: ladder.to_owned(),
        case: match &block {
            Some(block) => format!("{title}, blocks of {block}"),
            None => title,
        },
        measured: gpu.measured(),
        request: Request {
            options: options.collect(),
            block,
            capability: gpu.info.compute_capability,
            metrics: compared_metrics.iter().map(|metric| metric.name.clone()).collect(),
            left_out: plan.left_out().to_vec(),
        },
        rungs,
    })
}

/// Returns the class of two numbers, and the reason for a difference, if they can be determined without the changes of
/// `ptxas`.
fn class_without_changes(
    metric: &ComparedMetric,
    sim: Option<f64>,
    ncu: Option<f64>,
    gpu: &Numbers,
) -> Option<(Class, Option<String>)> {
    if let Some(class) = Class::of(metric.rule, sim, ncu) {
        return Some((class, None));
    }
    let by_instruction = metric.by_instruction.as_ref();
    let by_instruction = by_instruction.and_then(|name| gpu.get(name).copied());
    let why = match sim.is_some() && by_instruction == sim && ncu > sim {
        true => ARBITRATION.to_owned(),
        false => copies_that_bypass_l1(metric, sim?, ncu?, gpu)?,
    };
    Some((Class::Explained, Some(why)))
}

/// The explanation if the by-instruction counter equals the simulator's number.
const ARBITRATION: &str = "all of the difference is arbitration: by instruction the GPU counts the same number as sim";

/// The relative amount by which the GPU's number of atomic sectors may exceed the simulator's. If the words of a
/// request are in more than four 128-byte cache lines, the GPU can process one line twice. (On an H100, all 24 tested
/// requests that change 32 words in one to four lines count each sector once. Of 58 tested requests in five or more
/// lines, 13 count one sector twice.)
const AGAIN_THROUGH_A_LINE: f64 = 0.02;

/// Keeps an explanation for a counter of atomics only if both sides agree on the sum of atomics with and without a
/// result.
fn with_the_other_kind(
    metric: &ComparedMetric,
    (sim, gpu): (&Numbers, &Numbers),
    changes: &[Change],
    mut why: Vec<String>,
) -> Vec<String> {
    let Some(other) = &metric.together else {
        return why;
    };
    let both = |numbers: &Numbers| {
        let get = |name: &str| numbers.get(name).copied().unwrap_or(0.0);
        get(&metric.name) + get(other)
    };
    let (sim, gpu) = (both(sim), both(gpu));
    let excess = gpu - sim;
    if excess == 0.0 || why.is_empty() {
        return why;
    }
    let is_little = excess > 0.0 && excess <= AGAIN_THROUGH_A_LINE * sim;
    let is_elected = excess < 0.0 && changes.iter().any(|change| change.effect == Effect::Elected);
    if metric.rule != metrics::Rule::Counts || !(is_little || is_elected) {
        return Vec::new();
    }
    if is_elected {
        return why;
    }
    why.push(format!("both kinds together are {gpu} for sim's {sim}, because the GPU passes some lines twice"));
    why
}

/// The relative tolerance for comparing a sum of two counters with a third counter. ncu runs the kernel again for each
/// counter. On an H200, it counted 4592 sectors of copies that bypass L1 in one run of a kernel and 4608 in the next.
const OTHER_RUN: f64 = 0.01;

/// Returns the explanation if the whole difference is in copies that bypass L1. The GPU's by-instruction counter counts
/// more or fewer sectors for these copies than the copies access. An error in the simulator's count would also change
/// the global load sectors, which are compared separately.
fn copies_that_bypass_l1(metric: &ComparedMetric, sim: f64, ncu: f64, gpu: &Numbers) -> Option<String> {
    let [through, past] = metric.copies.as_ref()?;
    let (through, past) = (*gpu.get(through)?, *gpu.get(past)?);
    let bypassing = sim - through;
    ((through + past - ncu).abs() <= OTHER_RUN * ncu && bypassing > 0.0 && bypassing != past).then(|| {
        format!(
            "all of the difference is in copies that bypass L1: by instruction the GPU counts {past} sectors for their \
             {bypassing}, and its global load sectors count each once"
        )
    })
}

/// Rounds a number to the six decimal places of a record.
pub fn rounded(number: f64) -> f64 {
    const PLACES: f64 = 1e6;
    (number * PLACES).round() / PLACES
}
