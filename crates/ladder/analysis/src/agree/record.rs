//! Recorded comparisons: the numbers of both sides and the circumstances, as a JSON file. Tests check the simulator's
//! numbers against it, and the report is written from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use super::class::Class;
use super::metrics::{ComparedMetric, Rule, find};
use crate::Error;
use crate::document;
use crate::selection::selection;
use engine::Catalog;
use engine::registry::{DeviceProperties, Ladder};
use engine::run::Plan;
use engine::size::parse_block;

/// Runs of ladders that were compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The runs, in the ladders' order.
    pub runs: Vec<Run>,
}

/// A recorded run of a ladder: a problem, with one block for all rungs or each rung's default block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The ladder.
    pub ladder: String,
    /// The problem in words.
    pub title: String,
    /// The options that were given.
    pub options: BTreeMap<String, String>,
    /// The block, if one was given.
    pub block: Option<String>,
    /// The circumstances in which the GPU was measured.
    pub measured: MeasurementContext,
    /// The metrics that were compared. A metric that is missing in a rung's row was 0 on both sides, or a quotient
    /// whose divisor was 0 on both sides.
    pub metrics: Vec<String>,
    /// The reasons why other rungs are left out.
    pub left_out: Vec<String>,
    /// The counters of each rung.
    pub rungs: Vec<Row>,
}

/// The circumstances in which the GPU was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasurementContext {
    /// The GPU.
    pub device: String,
    /// Its compute capability, which determines the PTX that it ran.
    pub capability: Option<(u32, u32)>,
    /// Its driver.
    pub driver: Option<String>,
    /// Nsight Compute and its version.
    pub ncu: Option<String>,
    /// The assembler whose code explains differences, with its version.
    pub ptxas: Option<String>,
    /// The date.
    pub date: String,
    /// The compilers of host and device code.
    pub toolchain: String,
}

/// The counters of a rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The rung.
    pub rung: String,
    /// How it was launched.
    pub launch: String,
    /// The metrics that were not 0 on both sides.
    pub metrics: BTreeMap<String, Comparison>,
}

/// The numbers of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The simulator's number.
    #[serde(serialize_with = "whole")]
    pub sim: Option<f64>,
    /// Nsight Compute's.
    #[serde(serialize_with = "whole")]
    pub ncu: Option<f64>,
    /// The agreement of the two numbers.
    pub class: Class,
    /// The reasons why they differ, when any were found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings, numbers and maps by name serialize")
}

/// Writes whole numbers without a decimal point.
fn whole<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    match *number {
        Some(number) if number.fract() == 0.0 && number.abs() < EXACT => serializer.serialize_i64(number as i64),
        other => other.serialize(serializer),
    }
}

impl Row {
    /// The comparisons of the rung: every metric of its run, with the numbers of both sides and their class.
    pub fn comparisons<'a>(
        &'a self,
        run: &'a Run,
    ) -> impl Iterator<Item = (&'static ComparedMetric, Option<&'a Comparison>)> {
        let metrics = run.metrics.iter().filter_map(|name| find(name));
        metrics.map(|metric| (metric, self.metrics.get(&metric.name)))
    }
}

impl Run {
    /// Makes the problem and the launches of the recorded run with the ladders of this program.
    ///
    /// # Errors
    /// [`Error::Engine`] when the ladder, a rung or the block does not exist any more,
    /// [`Error::Request`] when an option does not.
    pub fn plan(&self, catalog: &Catalog) -> Result<Plan, Error> {
        let ladder = catalog.ladder(&self.ladder)?;
        let is_known = |name: &str| ladder.options.iter().any(|own| own.name == name);
        if let Some(name) = self.options.keys().find(|name| !is_known(name)) {
            return Err(Error::Request(format!(
                "a recorded run of the ladder {} cannot be repeated: it has no option --{name}; `cargo lab agree` \
                 records it anew on a GPU",
                self.ladder
            )));
        }
        let rungs = self.rungs.iter().map(|row| row.rung.clone());
        let selection = selection(ladder, rungs.collect(), &self.options);
        let block = self.block.as_deref().map(parse_block).transpose()?;
        Ok(selection.plan(block, None, DeviceProperties::default())?)
    }

    /// The JSON of the run, with a line for each rung.
    fn text(&self) -> String {
        let rungs: Vec<String> = self.rungs.iter().map(to_json).collect();
        let own = to_json(&Self { rungs: Vec::new(), ..self.clone() });
        // The rungs are its last field, which is an empty array here.
        let begin = own.trim_end_matches("]}");
        format!("{begin}\n{}\n]}}", rungs.join(",\n"))
    }

    /// The number of comparisons of a class, or, with `None`, of numbers that are 0 on both sides.
    pub fn count(&self, class: Option<Class>) -> usize {
        let all = self.rungs.iter().flat_map(|row| row.comparisons(self));
        let compared = all.filter(|(metric, _)| metric.rule != Rule::Information);
        let classes = compared.map(|(_, comparison)| comparison.map(|own| own.class));
        classes.filter(|own| *own == class).count()
    }

    /// The problem and the block in words.
    pub fn case(&self) -> String {
        match &self.block {
            Some(block) => format!("{}, blocks of {block}", self.title),
            None => self.title.clone(),
        }
    }
}

/// The classes that are counted in a summary, in its order; `None` are numbers that are 0 on both sides.
pub const COUNTED: [Option<Class>; 7] = [
    Some(Class::Exact),
    None,
    Some(Class::Within),
    Some(Class::Arbitration),
    Some(Class::Explained),
    Some(Class::Waits),
    Some(Class::Unexplained),
];

impl Record {
    /// Whether every difference was explained.
    pub fn is_explained(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.all(|run| run.count(Some(Class::Unexplained)) == 0)
    }

    /// Adds these runs, and removes all earlier runs of their ladders.
    pub fn replace(&mut self, catalog: &Catalog, runs: Vec<Run>) {
        self.runs.retain(|old| runs.iter().all(|new| new.ladder != old.ladder));
        self.runs.extend(runs);
        let place = |run: &Run| {
            let mut ladders = catalog.ladders.iter();
            ladders.position(|own| own.name == run.ladder)
        };
        self.runs.sort_by_key(place);
    }

    /// The rungs of the catalog that no run contains, by ladder: those that are not yet measured.
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

    /// Reads a record. With `or_new`, a file that does not exist is an empty record.
    ///
    /// # Errors
    /// [`Error`] when the file cannot be read or is not a record, with the line.
    pub fn read(path: &Path, or_new: bool) -> Result<Self, Error> {
        let error = |why: String| Error::file("use", path, why);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(why) if or_new && why.kind() == ErrorKind::NotFound => {
                let folder = path.parent().filter(|folder| *folder != Path::new(""));
                return match folder.filter(|folder| !folder.is_dir()) {
                    Some(folder) => Err(error(format!("there is no folder {}", folder.display()))),
                    None => Ok(Self::default()),
                };
            }
            Err(why) => return Err(error(why.to_string())),
        };
        Self::parse(&text).map_err(error)
    }

    /// Reads a record's text.
    ///
    /// # Errors
    /// When the text is not a record. The message says what is wrong, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let record: Self =
            serde_json::from_str(text).map_err(|error| format!("it is no record of `cargo lab agree` ({error})"))?;
        let mut names = record.runs.iter().flat_map(|run| &run.metrics);
        match names.find(|name| find(name).is_none()) {
            Some(name) => Err(format!("it compares {name}, which is not known here")),
            None => Ok(record),
        }
    }

    /// The text that [`Record::parse`] reads: JSON, with a line for each rung of a run.
    pub fn text(&self) -> String {
        let runs: Vec<String> = self.runs.iter().map(Run::text).collect();
        format!("{{\"runs\":[\n{}\n]}}\n", runs.join(",\n"))
    }

    /// Writes a record atomically: the file has either its old or its new contents.
    ///
    /// # Errors
    /// [`Error`] when it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        document::replace(path, &self.text()).map_err(|why| Error::file("use", path, why))
    }
}
