//! Collects the data of a report for each ladder and rung.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use engine::device::{Device as _, Sim};
use engine::problem::{Facts, Problem};
use engine::run::Plan;
use engine::selection::Selection;
use engine::{Kernels, Rung};
use serde::Serialize;

use super::code::{Changed, difference, from_rust, from_terminal};
use super::data::{Bound, Counter, Data, LadderData, RungData};
use super::ladder_chart::LadderChart;
use crate::command::{Env, progress_bar};
use crate::error::Error;
use crate::output::{self, NOTHING, duration};
use crate::ptx::Texts;
use crate::timing::{Timed, Timing};
use crate::why::roofline::Chart;
use analysis::explain::{record, small_enough};
use analysis::occupancy;
use analysis::occupancy::geometry;
use analysis::predict::{self, Description, Prediction};
use analysis::profile::next_rung;
use analysis::profile::on_sim;
use analysis::selection::{has_sizes, shrink};
use profile::Watch;
use profile::counters::Numbers;
use profile::figures::DRAWINGS;
use profile::roofline::roofline;
use profile::verdict::{Utilization, verdict};
use report::figures::Sourced;
use report::sources::SourceFiles;
use report::svg;
use report::words::how_near;

/// The maximum number of warp instructions that are counted for a ladder. The simulator takes about ten seconds for
/// this number.
const INSTRUCTIONS: f64 = 3e8;
/// The maximum number of figures of each kind that are shown for a rung.
const MOST: usize = 4;
/// The maximum total size of these figures in bytes.
const BYTES: usize = 100 << 10;

/// A report: its data, and the other contents of its page.
#[derive(Debug, Serialize)]
pub(super) struct ReportPage {
    pub data: Data,
    /// One entry for each ladder in the data.
    pub ladders: Vec<LadderShown>,
}

#[derive(Debug, Serialize)]
pub(super) struct LadderShown {
    chart: Option<LadderChart>,
    roofline: Option<Chart>,
    /// A sentence about the fastest rung and its speedup over the first rung.
    best: Option<String>,
    /// One entry for each rung in the data.
    rungs: Vec<RungShown>,
}

#[derive(Debug, Serialize)]
struct RungShown {
    time: String,
    /// The name of the previous rung, to which the changes refer.
    before: Option<String>,
    /// The speedup over the previous rung.
    faster: Option<String>,
    counters: Vec<CounterShown>,
    /// The source as HTML.
    source: Option<String>,
    changed: Vec<Changed>,
    /// Whether the previous rung is in the same file.
    is_same_file: bool,
    figures: Vec<Figures>,
    /// The launch that the figures show, or the reason why there are no figures.
    figures_of: String,
    /// The PTX as HTML.
    ptx: Option<String>,
    /// The SASS as HTML. If it is missing, `no_sass` contains the reason.
    sass: Option<String>,
    no_sass: String,
}

#[derive(Debug, Serialize)]
struct CounterShown {
    #[serde(flatten)]
    counter: Counter,
    before: String,
    /// The change, such as `×0.25`; empty if there is no change.
    change: String,
}

/// Figures of one kind.
#[derive(Debug, Serialize)]
struct Figures {
    what: &'static str,
    about: &'static str,
    /// The drawing; empty if the first figure is too large.
    svg: String,
    /// The number of figures that are not shown.
    more: usize,
}

/// Collects a report of these ladders. Errors in results are added to `wrong`.
pub(super) fn report(
    env: &Env<'_>,
    selected: &[Selection],
    block: Option<[u32; 3]>,
    timing: &mut Timing,
    wrong: &mut Vec<String>,
) -> Result<ReportPage, Error> {
    let mut sim = Sim::open_like(env.catalog.kernels, 0, None, predict::properties(&timing.description))?;
    let (mut data, mut shown) = (Vec::new(), Vec::new());
    let bar = progress_bar(selected.len(), env.terminal);
    for selection in selected {
        bar.set_message(selection.ladder.name);
        let timed = timing.of(env, selection, block)?;
        wrong.extend(timed.wrong.iter().cloned());
        let description = &timing.description;
        let kernels = env.catalog.kernels;
        // The plan has at least one launch, and one module contains all kernels for a device.
        let module = occupancy::source(kernels, &timed.predictions[0].launch, &description.arch)?;
        let texts = Texts::of(kernels, module)?;
        let collector = LadderCollector {
            selection,
            block,
            timed: &timed,
            description,
            kernels,
            texts,
            roots: kernels.source_folders(),
        };
        let (of_data, of_page) = collector.collect(&mut sim)?;
        data.push(of_data);
        shown.push(of_page);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let provenance = (env.provenance)(sim.info());
    let data = Data::new(provenance.date, provenance.toolchain, timing.origin.clone(), data);
    Ok(ReportPage { data, ladders: shown })
}

/// The sources of the data of one ladder.
struct LadderCollector<'a> {
    selection: &'a Selection,
    block: Option<[u32; 3]>,
    timed: &'a Timed,
    description: &'a Description,
    kernels: &'static Kernels,
    texts: Texts,
    roots: Vec<PathBuf>,
}

impl LadderCollector<'_> {
    fn collect(&self, sim: &mut Sim) -> Result<(LadderData, LadderShown), Error> {
        let (ladder, plan) = (self.selection.ladder, &self.timed.plan);
        let counted = self.counted_plan()?;
        let counted = counted.as_ref().unwrap_or(plan);
        let names = counted.rungs().into_iter().map(|rung| rung.name);
        let numbers: BTreeMap<&str, Numbers> = names.zip(on_sim(sim, counted, |_| {})?).collect();
        let counted_bytes = counted.problem().facts().bytes;
        let mut files = SourceFiles::new(&self.roots);
        let mut rungs = Vec::new();
        for prediction in &self.timed.predictions {
            let numbers = numbers.get(prediction.rung.name).cloned().unwrap_or_default();
            rungs.push(self.rung(prediction, &numbers, counted_bytes, &mut files));
        }
        let problem = plan.problem();
        let Facts { bytes, flops, .. } = problem.facts();
        let left_out = plan.left_out().iter().map(output::left_out);
        let data = LadderData {
            name: ladder.name.to_owned(),
            summary: ladder.summary.to_owned(),
            problem: problem.labels().title,
            bytes,
            flops,
            counted: counted.problem().labels().title,
            floor_ns: self.is_timed().then(|| floor_ns(self.description, problem)),
            rungs,
            notes: left_out.chain(self.timed.wrong.iter().map(|why| format!("wrong: {why}"))).collect(),
        };
        let mut figures = self.figures(sim, &mut files);
        let mut shown = Vec::new();
        for (index, prediction) in self.timed.predictions.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &data.rungs[before]);
            let figures = figures.remove(0);
            shown.push(self.shown(prediction, &data.rungs[index], before, figures));
        }
        let page = LadderShown {
            chart: LadderChart::new(&data, None),
            roofline: self.is_timed().then(|| {
                let timed = self.timed;
                let found = roofline(self.description, data.flops, &timed.points());
                Chart::new(ladder.name, &data.problem, &found)
            }),
            best: best(&data),
            rungs: shown,
        };
        Ok((data, page))
    }

    /// Returns whether times are meaningful. Ladders that are shown as pictures are not timed.
    fn is_timed(&self) -> bool {
        !self.selection.ladder.shown.pictures
    }

    /// Returns the plan of a smaller problem for the counters if counting the whole problem would take too long.
    fn counted_plan(&self) -> Result<Option<Plan>, Error> {
        let predictions = self.timed.predictions.iter();
        let instructions: f64 = predictions.map(|prediction| prediction.sample.instructions()).sum();
        if instructions <= INSTRUCTIONS || has_sizes(self.selection) {
            return Ok(None);
        }
        let mut small = self.selection.clone();
        shrink(&mut small, self.timed.plan.problem(), INSTRUCTIONS / instructions)?;
        let mut plan = small.plan(self.block, None, self.timed.plan.device())?;
        let timed: Vec<&str> = self.timed.plan.rungs().iter().map(|rung| rung.name).collect();
        let is_out = |rung: &Rung| (!timed.contains(&rung.name)).then(|| Error::Request(rung.name.to_owned()));
        plan.leave_out(|rung, _| is_out(rung))?;
        Ok(Some(plan))
    }

    /// Returns the data of a rung that was counted on a problem of `bytes` bytes.
    fn rung(&self, prediction: &Prediction, numbers: &Numbers, bytes: u64, files: &mut SourceFiles) -> RungData {
        let Prediction { rung, launch, estimate, .. } = prediction;
        let found = verdict(&Utilization::from_model(self.description, estimate, numbers, geometry(launch), bytes));
        let bound = found.filter(|_| self.is_timed()).map(|found| Bound {
            by: found.bound.name().to_owned(),
            how_near: how_near(&found),
            helps: found.helps.map(|helps| helps.to_string()),
            next: found.helps.and_then(|helps| next_rung(self.selection.ladder, rung, helps)).map(str::to_owned),
        });
        let counters = profile::metrics::defaults().into_iter().filter(|metric| metric.sim.missing().is_none());
        let counters = counters.map(|metric| {
            let number = metric.sim.of(&metric.name, numbers);
            let text = number.map_or(NOTHING.to_owned(), |number| metric.form.write(number));
            let heading = if metric.of_ptx { format!("PTX {}", metric.heading) } else { metric.heading };
            Counter { name: metric.name, heading, meaning: metric.meaning, number, text }
        });
        RungData {
            name: rung.name.to_owned(),
            lesson: rung.lesson.to_owned(),
            is_bound: rung.is_bound,
            launch: launch.to_string(),
            path: rung.source.to_owned(),
            source: files.lines(rung.source).map(|lines| lines.join("\n") + "\n"),
            time_ns: self.timed.time_ns(prediction).filter(|_| self.is_timed()),
            bound,
            counters: counters.collect(),
        }
    }

    fn shown(
        &self,
        prediction: &Prediction,
        data: &RungData,
        before: Option<&RungData>,
        (figures, figures_of): (Vec<Figures>, String),
    ) -> RungShown {
        let (texts, arch) = (&self.texts, &self.description.arch);
        let entry = &prediction.launch.entry;
        let (sass, no_sass) = match texts.sass(entry, arch) {
            Ok(sass) => (Some(from_terminal(&sass, &format!("ladder ptx {} --sass", data.name))), String::new()),
            Err(why) => (None, why.to_string()),
        };
        let path_before = before.map(|rung| &rung.path);
        let sources = before.and_then(|rung| rung.source.as_deref()).zip(data.source.as_deref());
        let faster = before.and_then(|rung| Some(rung.time_ns? / data.time_ns?));
        RungShown {
            time: data.time_ns.map_or(String::new(), duration),
            before: before.map(|rung| rung.name.clone()),
            faster: faster.map(|factor| format!("{factor:.2}×")),
            counters: counters(data, before),
            source: data.source.as_deref().map(from_rust),
            changed: sources.map_or(Vec::new(), |(old, new)| difference(old, new)),
            is_same_file: path_before == Some(&data.path),
            figures,
            figures_of,
            ptx: texts.ptx(entry).map(|text| from_terminal(&text, &format!("ladder ptx {} --rust", data.name))),
            sass,
            no_sass,
        }
    }

    /// Returns the figures of each rung on a problem small enough to draw, and the launch that the figures show.
    fn figures(&self, sim: &mut Sim, files: &mut SourceFiles) -> Vec<(Vec<Figures>, String)> {
        let mut small = self.selection.clone();
        let drawn =
            small_enough(&mut small).and_then(|()| Ok(small.plan(self.block, None, self.timed.plan.device())?));
        let each = self.timed.predictions.iter().map(|prediction| match &drawn {
            Ok(plan) => {
                self.of_rung(sim, plan, prediction.rung, files).unwrap_or_else(|why| (Vec::new(), why.to_string()))
            }
            Err(why) => (Vec::new(), why.to_string()),
        });
        each.collect()
    }

    /// Returns the figures of the first warp of a rung.
    fn of_rung(
        &self,
        sim: &mut Sim,
        plan: &Plan,
        rung: &Rung,
        files: &mut SourceFiles,
    ) -> Result<(Vec<Figures>, String), analysis::Error> {
        let Some((_, launch)) = plan.launches().iter().find(|(launched, _)| launched.name == rung.name) else {
            return Ok((Vec::new(), "the rung has no launch on a problem that is small enough to draw".to_owned()));
        };
        let watch = Watch::new(self.description.clone());
        let (recorded, _) = record(sim, plan.problem(), rung, launch, watch, Some(self.kernels))?;
        let mut all = Vec::new();
        for drawing in DRAWINGS {
            let figures = (drawing.draw)(&recorded.recording);
            let count = figures.len();
            if count == 0 {
                continue;
            }
            let sourced = figures.into_iter().take(MOST).map(|mut figure| {
                // The page shows the PTX separately.
                let lines = figure.listing.iter_mut().flat_map(|listing| &mut listing.lines);
                lines.for_each(|line| line.ptx.clear());
                Sourced::new(figure, files)
            });
            let title = format!("{} of {}", drawing.name, rung.name);
            let mut sourced: Vec<Sourced> = sourced.collect();
            let mut svg = svg::document(&title, &sourced);
            while svg.len() > BYTES {
                sourced.pop();
                svg = if sourced.is_empty() { String::new() } else { svg::document(&title, &sourced) };
            }
            let more = count - sourced.len();
            all.push(Figures { what: drawing.name, about: drawing.about, svg, more });
        }
        Ok((all, format!("{launch}, {}: warp 0 of block 0", plan.problem().labels().size)))
    }
}

/// Returns the counters, each with its value in the previous rung.
fn counters(data: &RungData, before: Option<&RungData>) -> Vec<CounterShown> {
    let of = |counter: &Counter| {
        let old = before.and_then(|rung| rung.counters.iter().find(|other| other.name == counter.name));
        let factor = old.and_then(|old| old.number).zip(counter.number);
        CounterShown {
            counter: counter.clone(),
            before: old.map_or(String::new(), |old| old.text.clone()),
            change: match factor {
                Some((old, new)) if old != new && old != 0.0 => format!("×{}", crate::charts::plain(new / old)),
                _ => String::new(),
            },
        }
    };
    data.counters.iter().map(of).collect()
}

/// Returns the minimum time of a problem on a device: the larger of the time to move its bytes and the time to compute
/// its operations.
fn floor_ns(device: &Description, problem: &dyn Problem) -> f64 {
    let Facts { bytes, flops, .. } = problem.facts();
    let memory = bytes as f64 / device.memory.gb_per_s;
    let cycles = device.clock_mhz * 1e-3 * f64::from(device.multiprocessors);
    let arithmetic = flops.map_or(0.0, |flops| flops as f64 / (cycles * device.multiprocessor.fp32 * 2.0));
    memory.max(arithmetic)
}

/// Describes the fastest rung: `reduce_shfl is 12.3× as fast as reduce_gmem`.
fn best(ladder: &LadderData) -> Option<String> {
    let solutions = || ladder.rungs.iter().filter(|rung| !rung.is_bound);
    let timed = || solutions().filter_map(|rung| Some((rung, rung.time_ns?)));
    let (first, slowest) = timed().next()?;
    let (best, least) = timed().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut text = match best.name == first.name {
        true => format!("{} is the fastest: {}", best.name, duration(least)),
        false => {
            format!("{} takes {} and is {:.1}× as fast as {}", best.name, duration(least), slowest / least, first.name)
        }
    };
    if let Some(floor) = ladder.floor_ns {
        let _ = write!(text, "; the floor is {} ({:.0} %)", duration(floor), floor / least * 100.0);
    }
    Some(text)
}
