//! An explained launch, as data and as a section of a page.

use devices::occupancy::{Limiter, Occupancy};
use profile::counters::Numbers;
use profile::figures::DRAWINGS;
use profile::metrics::{self, Metric};
use profile::model::ACCURACY;
use profile::{Geometry, LaunchProfile};
use serde::Serialize;

use crate::figures::{Sourced, worst};
use crate::sources::SourceFiles;
use crate::svg;
use crate::words::{assumption, duration, fix, sentence, ways};

/// An explained launch as data.
#[derive(Clone, Debug, Serialize)]
pub struct LaunchRecord {
    /// The kernel's demangled name.
    pub kernel: String,
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// The device for which the time is predicted.
    pub device: String,
    /// The predicted time in nanoseconds.
    pub predicted_ns: f64,
    /// The resource that bounds the launch.
    pub bound_by: Option<&'static str>,
    /// The utilization of this resource, from 0 to 1.
    pub share: Option<f64>,
    /// The optimization that addresses the bound.
    pub fix: Option<String>,
    /// The number of blocks that a multiprocessor holds at once, and the limits.
    #[serde(flatten)]
    pub occupancy: Occupancy,
    /// The counters, by Nsight Compute's names.
    pub counters: Numbers,
}

impl LaunchRecord {
    /// Returns the data of a launch.
    pub fn new(launch: &LaunchProfile) -> Self {
        let Geometry { grid, block, shared_bytes } = launch.geometry;
        Self {
            kernel: launch.kernel.clone(),
            grid,
            block,
            shared_bytes,
            device: launch.recording.watch.device.name.clone(),
            predicted_ns: launch.estimate.us * 1e3,
            bound_by: launch.verdict.map(|verdict| verdict.bound.name()),
            share: launch.verdict.map(|verdict| verdict.share),
            fix: launch.verdict.and_then(|verdict| verdict.helps).map(|fix| fix.to_string()),
            occupancy: launch.occupancy.clone(),
            counters: launch.numbers.clone(),
        }
    }
}

/// The limits of a section: the number of source lines, and the size of its figure in bytes.
const LINES: usize = 200;
const BYTES: usize = 1 << 18;

/// A section of a page about an explained launch.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) record: LaunchRecord,
    /// The resource that bounds the launch, in a sentence.
    verdict: String,
    time: String,
    origin: String,
    fix: String,
    ways: &'static [String],
    /// A rung of Ladder that applies the optimization, and a rung that does not.
    rungs: Option<[&'static str; 2]>,
    evidence: Vec<CounterRow>,
    counters: Vec<CounterRow>,
    occupancy: String,
    columns: Vec<&'static str>,
    lines: Vec<SourceRow>,
    /// The figure of the bounding resource, and the figure of the worst access.
    figures: Vec<FigureShown>,
}

#[derive(Debug, Serialize)]
struct CounterRow {
    heading: String,
    name: String,
    number: String,
    meaning: String,
}

/// A source line, or a file name that precedes the lines of the file.
#[derive(Debug, Serialize)]
struct SourceRow {
    file: Option<String>,
    line: Option<u32>,
    text: String,
    counts: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct FigureShown {
    title: String,
    line: String,
    svg: String,
}

impl Section {
    /// Explains a launch, with the source lines from these files.
    pub(crate) fn new(launch: &LaunchProfile, files: &mut SourceFiles) -> Self {
        let record = LaunchRecord::new(launch);
        let verdict = launch.verdict;
        let kind = verdict.map_or("access", |verdict| verdict.bound.figure());
        let pair = verdict.and_then(|verdict| verdict.helps).and_then(|fix| fix.entry().pairs.first());
        let evidence = verdict.map_or(&[][..], |verdict| verdict.bound.evidence());
        let is_evidence = |metric: &&Metric| evidence.contains(&&*metric.name);
        let rows = |metric: &Metric| CounterRow::new(metric, launch).filter(|row| row.number != "0");
        let (columns, lines) = source_lines(launch, files);
        let mut figures: Vec<Sourced> =
            [kind, "access"].into_iter().filter_map(|kind| worst(&launch.recording, kind, files)).collect();
        figures.dedup_by_key(|sourced| sourced.figure.what);
        let title = format!("{}, {}", record.kernel, launch.geometry);
        Self {
            verdict: verdict
                .map_or("no counter shows what bounds this launch".to_owned(), |verdict| sentence(&verdict)),
            time: duration(record.predicted_ns),
            origin: format!("predicted for {}, not measured ({ACCURACY}){}", record.device, assumption(launch)),
            fix: verdict.map_or(String::new(), |verdict| fix(&verdict)),
            ways: ways(verdict.and_then(|verdict| verdict.helps)),
            rungs: pair.map(|pair| [&*pair.after, &*pair.before]),
            evidence: metrics::METRICS.iter().filter(is_evidence).filter_map(rows).collect(),
            counters: metrics::METRICS.iter().filter_map(|metric| CounterRow::new(metric, launch)).collect(),
            occupancy: occupancy(&launch.occupancy, launch.recording.residence.most_warps),
            columns,
            lines,
            figures: figures.into_iter().filter_map(|sourced| FigureShown::new(sourced, &title)).collect(),
            record,
        }
    }
}

impl CounterRow {
    /// Returns the row of a metric, if the launch has a number for it.
    fn new(metric: &Metric, launch: &LaunchProfile) -> Option<Self> {
        let number = metric.form.write(launch.number(metric)?);
        let heading = if metric.of_ptx { format!("PTX {}", metric.heading) } else { metric.heading.clone() };
        Some(Self { heading, name: metric.name.clone(), number, meaning: metric.meaning.clone() })
    }
}

impl FigureShown {
    /// Returns `None` for a figure of the source, which the section shows in full, and for a figure that is too large
    /// for a page.
    fn new(sourced: Sourced, launch: &str) -> Option<Self> {
        if sourced.figure.listing.is_some() {
            return None;
        }
        let title = format!("{}: {}", sourced.figure.what, sourced.figure.title);
        let line = sourced.line.clone();
        let svg = svg::document(launch, &[sourced]);
        (svg.len() <= BYTES).then_some(Self { title, line, svg })
    }
}

/// Returns the names of the counts, and the source lines with their counts. The lines of each file follow its name.
fn source_lines(launch: &LaunchProfile, files: &mut SourceFiles) -> (Vec<&'static str>, Vec<SourceRow>) {
    let source = DRAWINGS.iter().find(|drawing| drawing.name == "source");
    let figure = source.and_then(|drawing| (drawing.draw)(&launch.recording).pop());
    let Some(mut listing) = figure.and_then(|figure| Sourced::new(figure, files).figure.listing) else {
        return Default::default();
    };
    listing.keep_costliest(LINES);
    let mut rows = Vec::new();
    let mut last = None;
    for line in listing.lines {
        let (file, number) = line.source.unzip();
        if last.as_ref() != Some(&file) {
            let name = file.clone().unwrap_or_else(|| "instructions without a source line".to_owned());
            rows.push(SourceRow { file: Some(name), line: None, text: String::new(), counts: Vec::new() });
            last = Some(file);
        }
        // Instructions without a source line are shown as PTX.
        let is_ptx = number.is_none();
        if !is_ptx {
            rows.push(SourceRow { file: None, line: number, text: line.text, counts: line.counts });
        }
        let ptx = line.ptx.into_iter().filter(|_| is_ptx);
        rows.extend(ptx.map(|instruction| SourceRow {
            file: None,
            line: Some(instruction.line),
            text: instruction.text,
            counts: instruction.counts,
        }));
    }
    (listing.columns, rows)
}

/// Describes the numbers of blocks and warps that a multiprocessor holds, and the limiting resources.
fn occupancy(occupancy: &Occupancy, most: u32) -> String {
    let limits = occupancy.limited_by.iter().map(|limiter| match limiter {
        Limiter::Warps => "warps",
        Limiter::Blocks => "block slots",
        Limiter::Registers => "registers",
        Limiter::SharedMemory => "shared memory",
        Limiter::Barriers => "barriers",
    });
    let limits: Vec<&str> = limits.collect();
    let s = if occupancy.blocks == 1 { "" } else { "s" };
    format!(
        "a multiprocessor holds {} block{s} at once, {} of {most} warps, limited by its {}",
        occupancy.blocks,
        occupancy.warps,
        limits.join(" and ")
    )
}
