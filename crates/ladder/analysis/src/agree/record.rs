//! Comparisons of the simulator's counters with Nsight Compute's, and their format as recorded results. Tests compare
//! the simulator's numbers with the recorded ones.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::class::Class;
use super::metrics::{ComparedMetric, Rule, find};
use crate::Error;
use crate::results::{self, Value};
use crate::selection::selection;
use engine::Catalog;
use engine::registry::{DeviceProperties, Ladder};
use engine::run::Plan;
use engine::size::parse_block;

/// Runs of ladders that were compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparisons {
    /// The runs, in the ladders' order.
    pub runs: Vec<ComparedRun>,
}

/// A run of a ladder: a problem, with one block for all rungs or each rung's default block.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRun {
    /// The ladder.
    pub ladder: String,
    /// The problem and the block in words.
    pub case: String,
    /// The circumstances in which the GPU was measured.
    pub measured: GpuContext,
    /// The request.
    pub request: Request,
    /// The counters of each rung.
    pub rungs: Vec<ComparedRung>,
}

/// The request of a run, and the metrics that were compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The options that were given.
    pub options: BTreeMap<String, String>,
    /// The block, if one was given.
    pub block: Option<String>,
    /// The GPU's compute capability, which determines the PTX that it ran.
    pub capability: Option<(u32, u32)>,
    /// The metrics that were compared. A metric that is missing in a rung's row was 0 on both sides, or a quotient
    /// whose divisor was 0 on both sides.
    pub metrics: Vec<String>,
    /// The reasons why other rungs are left out.
    pub left_out: Vec<String>,
}

/// The circumstances in which the GPU was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuContext {
    /// The GPU, its properties and its driver.
    pub device: String,
    /// The versions of Nsight Compute and of the assembler whose output explains differences.
    pub tools: String,
    /// The date.
    pub date: String,
    /// The compilers of host and device code.
    pub toolchain: String,
}

/// The counters of a rung.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRung {
    /// The rung.
    pub rung: String,
    /// The launch of the rung.
    pub launch: String,
    /// The metrics that were not 0 on both sides.
    pub metrics: BTreeMap<String, Comparison>,
}

/// The numbers of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The simulator's number.
    pub sim: Option<f64>,
    /// Nsight Compute's number.
    pub ncu: Option<f64>,
    /// The agreement of the two numbers.
    pub class: Class,
    /// The reasons for a difference, if any were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

impl Comparison {
    /// Returns the value to record: the number if both sides agree exactly, and otherwise the comparison.
    pub fn value(&self) -> Value {
        match (self.class, self.sim) {
            (Class::Exact, Some(sim)) if self.ncu == Some(sim) => Value::Number(sim),
            _ => Value::Data(serde_json::to_value(self).expect("numbers and words serialize")),
        }
    }

    /// Parses the comparison from the value in a record.
    ///
    /// # Errors
    /// Returns a message when the value is not one that [`Comparison::value`] returns.
    pub fn of_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(both) => {
                Ok(Self { sim: Some(*both), ncu: Some(*both), class: Class::Exact, why: Vec::new() })
            }
            Value::Data(data) => serde_json::from_value(data.clone()).map_err(|why| why.to_string()),
            other => Err(format!("`{other}` is not a comparison")),
        }
    }
}

impl ComparedRung {
    /// Returns the comparisons of the rung: all metrics of its run, with both sides' numbers and their class.
    pub fn comparisons<'a>(
        &'a self,
        run: &'a ComparedRun,
    ) -> impl Iterator<Item = (&'static ComparedMetric, Option<&'a Comparison>)> {
        let metrics = run.request.metrics.iter().filter_map(|name| find(name));
        metrics.map(|metric| (metric, self.metrics.get(&metric.name)))
    }
}

/// The kind of the record that holds a run's [`Request`]. Every other record holds one rung.
const REQUEST: &str = "request";

/// The quantity of a record that holds a rung's launch, or a run's [`Request`].
const LAUNCH: &str = "launch";

impl ComparedRun {
    /// Plans the problem and the launches of the recorded run with the ladders of this program.
    ///
    /// # Errors
    /// Returns [`Error::Engine`] when the ladder, a rung or the block no longer exists, and [`Error::Request`] when an
    /// option no longer exists.
    pub fn plan(&self, catalog: &Catalog) -> Result<Plan, Error> {
        let ladder = catalog.ladder(&self.ladder)?;
        let options = &self.request.options;
        let is_known = |name: &str| ladder.options.iter().any(|option| option.name == name);
        if let Some(name) = options.keys().find(|name| !is_known(name)) {
            return Err(Error::Request(format!(
                "a recorded run of the ladder {} cannot be repeated: it has no option --{name}; `cargo lab record -- \
                 agree` records the run again on a GPU",
                self.ladder
            )));
        }
        let rungs = self.rungs.iter().map(|row| row.rung.clone());
        let selection = selection(ladder, rungs.collect(), options);
        let block = self.request.block.as_deref().map(parse_block).transpose()?;
        Ok(selection.plan(block, None, DeviceProperties::default())?)
    }

    /// Returns the number of comparisons of a class. `None` stands for numbers that are 0 on both sides.
    pub fn count(&self, class: Option<Class>) -> usize {
        let all = self.rungs.iter().flat_map(|row| row.comparisons(self));
        let compared = all.filter(|(metric, _)| metric.rule != Rule::Information);
        let classes = compared.map(|(_, comparison)| comparison.map(|comparison| comparison.class));
        classes.filter(|compared_class| *compared_class == class).count()
    }

    /// Returns the records of the run: one with its request, and one for each rung.
    fn records(&self) -> impl Iterator<Item = results::Record> {
        let GpuContext { device, tools, date, toolchain } = &self.measured;
        let record = |kind: &str, rung: &str, values: IndexMap<String, Option<Value>>| results::Record {
            device: device.clone(),
            toolchain: toolchain.clone(),
            date: date.clone(),
            command: String::new(),
            conditions: tools.clone(),
            ladder: self.ladder.clone(),
            problem: self.case.clone(),
            kind: kind.to_owned(),
            rung: rung.to_owned(),
            values,
        };
        let request = serde_json::to_value(&self.request).expect("words and numbers serialize");
        let request = IndexMap::from([(LAUNCH.to_owned(), Some(Value::Data(request)))]);
        let first = record(REQUEST, &self.ladder, request);
        let rungs = self.rungs.iter().map(move |row| {
            let metrics = row.metrics.iter().map(|(name, metric)| (name.clone(), Some(metric.value())));
            let launch = (LAUNCH.to_owned(), Some(Value::Text(row.launch.clone())));
            record("rung", &row.rung, [launch].into_iter().chain(metrics).collect())
        });
        [first].into_iter().chain(rungs)
    }

    /// Starts a run from its first record.
    fn of_record(record: &results::Record) -> Result<Self, String> {
        let Some(Value::Data(request)) = record.value(LAUNCH) else {
            return Err(format!("the records of {} do not start with the request", record.subject()));
        };
        let request: Request = serde_json::from_value(request.clone()).map_err(|why| why.to_string())?;
        match request.metrics.iter().find(|name| find(name).is_none()) {
            Some(name) => Err(format!("the record compares {name}, which is not a known metric")),
            None => Ok(Self {
                ladder: record.ladder.clone(),
                case: record.problem.clone(),
                measured: GpuContext {
                    device: record.device.clone(),
                    tools: record.conditions.clone(),
                    date: record.date.clone(),
                    toolchain: record.toolchain.clone(),
                },
                request,
                rungs: Vec::new(),
            }),
        }
    }
}

/// The classes that a summary counts, in order; `None` stands for numbers that are 0 on both sides.
pub const COUNTED: [Option<Class>; 7] = [
    Some(Class::Exact),
    None,
    Some(Class::Within),
    Some(Class::Arbitration),
    Some(Class::Explained),
    Some(Class::Waits),
    Some(Class::Unexplained),
];

impl Comparisons {
    /// Returns whether every difference was explained.
    pub fn is_explained(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.all(|run| run.count(Some(Class::Unexplained)) == 0)
    }

    /// Returns the rungs of the catalog that are in no run, by ladder. These rungs are not measured yet.
    pub fn missing(&self, catalog: &Catalog) -> Vec<(&'static str, Vec<&'static str>)> {
        let of_ladder = |ladder: &'static Ladder| {
            let runs = self.runs.iter().filter(|run| run.ladder == ladder.name);
            let measured = runs.flat_map(|run| &run.rungs);
            let measured: BTreeSet<&str> = measured.map(|row| row.rung.as_str()).collect();
            let rungs = ladder.rungs.iter().map(|rung| rung.name);
            let missing: Vec<&str> = rungs.filter(|name| !measured.contains(name)).collect();
            (!missing.is_empty()).then_some((ladder.name, missing))
        };
        catalog.ladders.iter().filter_map(of_ladder).collect()
    }

    /// Reads the runs from recorded results.
    ///
    /// # Errors
    /// Returns a message when records are not records of comparisons.
    pub fn of_records(records: &[results::Record]) -> Result<Self, String> {
        let mut runs: Vec<ComparedRun> = Vec::new();
        for record in records {
            if record.kind == REQUEST {
                runs.push(ComparedRun::of_record(record)?);
                continue;
            }
            let run = runs.last_mut().filter(|run| run.ladder == record.ladder && run.case == record.problem);
            let run =
                run.ok_or_else(|| format!("the records of {} do not start with the request", record.subject()))?;
            let metrics = record.values.iter().filter(|(name, _)| *name != LAUNCH);
            let metrics = metrics.filter_map(|(name, value)| Some((name, value.as_ref()?)));
            let metrics = metrics.map(|(name, value)| Ok((name.clone(), Comparison::of_value(value)?)));
            let launch = record.value(LAUNCH).map_or(String::new(), Value::to_string);
            let metrics = metrics.collect::<Result<_, String>>()?;
            run.rungs.push(ComparedRung { rung: record.rung.clone(), launch, metrics });
        }
        Ok(Self { runs })
    }

    /// Returns the records that [`Comparisons::of_records`] reads.
    pub fn records(&self) -> Vec<results::Record> {
        self.runs.iter().flat_map(ComparedRun::records).collect()
    }
}
