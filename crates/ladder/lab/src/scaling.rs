//! `lab scaling`: measures the speedup of several devices, and the time of all-reduce sums over all devices at each
//! size.

use clap::{ArgMatches, Args};
use engine::Options;
use engine::device::{Choice, DeviceInfo};
use engine::problem::Verdict;
use engine::selection::Selection;
use indicatif::ProgressBar;
use ranks::{Devices, GroupReport, GroupRequest, Measurement, Member, SharedLadder, Side};

use analysis::results::Unit;
use cli::Env;
use cli::Error;
use cli::command::{Command, CommandArgs, Output, WRONG, progress_bar};
use cli::launcher::LaunchLimit;
use cli::output::{Cell, Column, Context, Document, Format, NOTHING, Printer, Table};
use cli::run::RUNS;
use cli::several::{RANKS, Rates, SharedArguments, SharedRanks, record};

pub(crate) const SCALING: Command = Command {
    name: "scaling",
    about: "Measure problems on one and on several devices, and all-reduces at each size",
    arguments: CommandArgs::<Arguments>::arguments_of_several,
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// Device to run on
    #[arg(long, value_enum, default_value_t)]
    device: Choice,
    /// Number of timed launches; the result is their median
    #[arg(long, value_name = "K", default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    #[command(flatten)]
    limit: LaunchLimit,
    #[command(flatten)]
    several: SharedArguments,
    #[command(flatten)]
    format: Format,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let CommandArgs { targets, command: args } = CommandArgs::<Arguments>::read(env, matches)?;
    let selected = targets.select(env.catalog)?;
    let shared = args.several.ranks(args.device)?;
    let mut printer = Printer::new(args.format, env.style(), to.out);
    let mut code = 0;
    for selection in &selected {
        let bar = progress_bar(0, env.terminal);
        let measured = ScalingRun { selection, shared: &shared, env, args: &args, bar };
        let is_of_ranks = selection.ladder.options.iter().any(|option| option.name == RANKS);
        let (shown, is_right) = if is_of_ranks { measured.sizes()? } else { measured.devices()? };
        measured.bar.finish_and_clear();
        printer.show(&shown)?;
        code = if is_right { code } else { WRONG };
    }
    printer.finish()?;
    Ok(code)
}

/// The options that are sizes.
const SIZES: [&str; 3] = ["m", "n", "k"];

/// How products are divided: the dimension, and the number of pieces that each part is cut into.
const PRODUCTS: [(Side, usize); 3] = [(Side::Rows, 1), (Side::Rows, 4), (Side::K, 1)];

/// The measurement of a ladder.
struct ScalingRun<'a> {
    selection: &'a Selection,
    shared: &'a SharedRanks,
    env: &'a Env<'a>,
    args: &'a Arguments,
    /// The progress bar, which counts one step for each problem and number of devices.
    bar: ProgressBar,
}

impl ScalingRun<'_> {
    /// Returns the requested problems. A problem without sizes is repeated with each of the `default_sizes`.
    fn problems(&self, default_sizes: &[u64]) -> Result<Vec<Options>, Error> {
        let given = self.selection.combinations()?.unwrap_or_else(|| vec![Options::default()]);
        let has = |name: &&&str| self.selection.ladder.options.iter().any(|option| option.name == **name);
        let missing = |options: &Options| -> Vec<&'static str> {
            SIZES.iter().filter(has).filter(|name| options.get(name).is_none()).copied().collect()
        };
        let problems = given.iter().flat_map(|options| {
            let missing = missing(options);
            let sizes = if missing.is_empty() { &default_sizes[..1] } else { default_sizes };
            let with = move |size: &u64| missing.iter().fold(options.clone(), |all, name| all.with(name, size));
            sizes.iter().map(with)
        });
        Ok(problems.collect())
    }

    /// Runs these rungs for the problems on `count` devices, which are opened only once.
    fn reports(
        &self,
        problems: &[Options],
        rungs: &[String],
        count: usize,
        (side, pieces): (Side, usize),
    ) -> Result<Vec<GroupReport>, Error> {
        let settings = self.shared.settings(self.env.catalog.kernels, self.args.limit.time_limit());
        let devices = Devices::Numbers(self.shared.numbers[..count].to_vec());
        let (ladder, runs) = (self.selection.ladder, Some(self.args.runs));
        let shared_problems = problems.iter().map(|options| SharedLadder::problem_of(self.env.shared, ladder, options));
        let shared_problems = shared_problems.collect::<Result<Vec<_>, _>>()?;
        let request = |whole| GroupRequest { ladder, rungs, whole, block: None, runs, side, pieces };
        shared_problems.iter().try_for_each(|whole| ranks::check(&request(whole), count))?;
        let bar = &self.bar;
        let job = |member: &mut Member| {
            let is_first = member.rank().index == 0;
            let mut reports = Vec::new();
            for whole in &shared_problems {
                if is_first {
                    bar.set_message(format!("{} on {count}", whole.problem().labels().title));
                }
                reports.push(ranks::measure(member, &request(whole))?);
                if is_first {
                    bar.inc(1);
                }
            }
            Ok(reports)
        };
        Ok(ranks::run_threads(self.args.device, &devices, settings, job)?.swap_remove(0))
    }

    /// Measures sums of all devices' arrays, with sizes from 8 bytes to 1 GiB: the time of each rung, and nccl-tests'
    /// bus bandwidth.
    fn sizes(&self) -> Result<(Document, bool), Error> {
        let count = self.shared.numbers.len();
        // The sizes are 8 and 16 bytes, and then each size is four times the previous one.
        let default_sizes: Vec<u64> = [1].into_iter().chain((2..=28).step_by(2)).map(|power| 1 << power).collect();
        let rungs = self.selection.rung_names();
        let problems: Vec<_> =
            self.problems(&default_sizes)?.into_iter().map(|options| options.with(RANKS, count)).collect();
        self.bar.inc_length(problems.len() as u64);
        let reports = self.reports(&problems, rungs, count, (Side::Rows, 1))?;
        let names: Vec<&str> = reports
            .first()
            .map_or(Vec::new(), |report| report.measurements.iter().map(|measurement| &*measurement.name).collect());
        let columns = || {
            let names = names.iter().map(|name| Column::number(name.trim_start_matches("allreduce_")));
            Table::new([Column::number("bytes")].into_iter().chain(names))
        };
        let of = |what: &str| columns().with_results_of(self.selection.ladder.name, format!("{what}, {count} devices"));
        let (mut times, mut rates) = (of("time of an all-reduce"), of("bus bandwidth in GB/s"));
        let mut document = Document::default();
        for report in &reports {
            let bytes = report.all_reduced.unwrap_or_default();
            let cells = |cell: &dyn Fn(&Measurement) -> Cell| -> Vec<Cell> {
                let of_name = |name: &&str| report.measurements.iter().find(|measurement| measurement.name == *name);
                let values = names.iter().map(|name| match of_name(name) {
                    Some(measurement) if measurement.verdict.is_right() => cell(measurement),
                    Some(_) => Cell::bad("WRONG"),
                    // This run is left out because it would take too long.
                    None => NOTHING.into(),
                });
                [Cell::from(bytes.to_string())].into_iter().chain(values).collect()
            };
            let median = |measurement: &Measurement| measurement.samples.as_ref().map(|samples| samples.median());
            times.row(cells(&|measurement| Cell::measured(median(measurement), Unit::Nanoseconds)));
            let rate = |measurement: &Measurement| Rates::of(report, measurement).all_reduce.map(|[_, bus]| bus);
            rates.row(cells(&|measurement| Cell::measured(rate(measurement), Unit::GigabytesPerSecond)));
            report.measurements.iter().for_each(|measurement| document.record(&record(report, measurement)));
        }
        document.paragraph("Time of an all-reduce:");
        document.table(times);
        document.paragraph("Bus bandwidth in GB/s:");
        document.table(rates);
        let timing = format!(
            "median of {} times of 20 launches in a row as in nccl-tests, each on the slowest device; \
             `through the host`, `host copies alone` and `copies to one device` are timed one at a time, with the host's clock",
            self.args.runs
        );
        let reports: Vec<&GroupReport> = reports.iter().collect();
        self.caption(&mut document, &reports, &timing);
        Ok((document, reports.iter().all(|report| report.all_right())))
    }

    /// Measures problems on 1, 2, 4 and more devices, and problems that grow with the number of devices.
    fn devices(&self) -> Result<(Document, bool), Error> {
        let Self { selection, shared, .. } = self;
        let is_product = selection.ladder.options.iter().any(|option| option.name == "m");
        let grows = if is_product { "m" } else { "n" };
        let ways = if is_product { &PRODUCTS[..] } else { &[(Side::Rows, 1)] };
        let default_sizes: &[u64] = match selection.ladder.name {
            "reduce" => &[1 << 30, 1 << 32],
            "histogram" => &[1 << 30],
            "gemm" => &[8192, 16384],
            _ => &[8192],
        };
        let mut counts: Vec<usize> =
            (0..).map(|power| 1 << power).take_while(|count| *count < shared.numbers.len()).collect();
        counts.push(shared.numbers.len());
        let rungs: Vec<String> = match selection.rung_names() {
            [] => {
                let whole = selection.ladder.rungs.iter().rfind(|rung| rung.single_pass);
                let last = whole.or(selection.ladder.rungs.last());
                last.map(|rung| rung.name.to_owned()).into_iter().collect()
            }
            named => named.to_vec(),
        };
        let problems = self.problems(default_sizes)?;
        let columns = ["rung", "problem", "divided"].map(Column::text).into_iter();
        let numbers = ["devices", "time", "rate", "× one device", "of linear"].map(Column::number);
        let table = Table::new(columns.chain([Column::text("result")]).chain(numbers));
        let mut table =
            table.with_results_of(selection.ladder.name, format!("on up to {} devices", shared.numbers.len()));
        let mut document = Document::default();
        let mut all: Vec<GroupReport> = Vec::new();
        let mut single = 0;
        // A single device computes a product in only one way. All runs on several devices are compared with the run on
        // the single device.
        let runs = 2 * counts.len() - 1 + (ways.len() - 1) * 2 * (counts.len() - 1);
        self.bar.inc_length((problems.len() * runs) as u64);
        let option_ways = problems.iter().flat_map(|options| ways.iter().map(move |way| (options, *way)));
        for (options, way) in option_ways {
            let complete = selection.ladder.complete(options)?;
            let size = complete.maybe_size(grows).unwrap_or_default();
            let grown = |count: usize| options.clone().with(grows, size * count as u64);
            let is_first = way == ways[0];
            let first = usize::from(!is_first);
            let strong = counts[first..].iter().map(|count| ("strong", options.clone(), *count));
            let weak = counts[1..].iter().map(|count| ("weak", grown(*count), *count));
            let measured = strong
                .chain(weak)
                .map(|(name, options, count)| Ok((name, self.reports(&[options], &rungs, count, way)?.swap_remove(0))));
            let measured: Vec<(&str, GroupReport)> = measured.collect::<Result<_, Error>>()?;
            if is_first {
                single = all.len();
            }
            let start = all.len();
            let (divided, reports): (Vec<&str>, Vec<GroupReport>) = measured.into_iter().unzip();
            all.extend(reports);
            for place in 0..rungs.len() {
                let first_rate = rate(&all[single], place);
                for (divided, report) in divided.iter().zip(&all[start..]) {
                    let Some(outcome) = report.measurements.get(place) else { continue };
                    let rate = rate(report, place);
                    let times = first_rate.zip(rate).map(|((first_rate, _), (rate, _))| rate / first_rate);
                    let linear = times.map(|times| times / report.rank.count as f64);
                    let median = outcome.samples.as_ref().map(|samples| samples.median());
                    let divided = match way {
                        _ if !is_product => (*divided).to_owned(),
                        (Side::K, _) => format!("{divided}, k"),
                        (Side::Rows, 1) => format!("{divided}, rows"),
                        (Side::Rows, pieces) => format!("{divided}, rows, {pieces} pieces"),
                    };
                    table.row([
                        Cell::from(outcome.name.clone()),
                        report.title.clone().into(),
                        divided.into(),
                        if outcome.verdict.is_right() { Cell::good("right") } else { Cell::bad("WRONG") },
                        report.rank.count.to_string().into(),
                        Cell::measured(median, Unit::Nanoseconds),
                        rate.map_or(NOTHING.to_owned(), |(rate, unit)| format!("{rate:.1} {unit}")).into(),
                        Cell::measured(times, Unit::Ratio),
                        Cell::measured(linear.map(|share| share * 100.0), Unit::Percent),
                    ]);
                    document.record(&record(report, outcome));
                }
            }
        }
        document.table(table);
        let counted = match is_product {
            true => {
                "including the all-gather of the product, or its reduce-scatter for k; before the timing, \
                 the first matrix is divided and the second copied to all devices, or also divided for k"
            }
            false => "including the combination of the results",
        };
        let timing = format!("median of {} runs, each timed on its slowest device, {counted}", self.args.runs);
        let all: Vec<&GroupReport> = all.iter().collect();
        self.caption(&mut document, &all, &timing);
        Ok((document, all.iter().all(|report| report.all_right())))
    }

    fn caption(&self, document: &mut Document, reports: &[&GroupReport], timing: &str) {
        let Some(last) = reports.last() else { return };
        let provenance = (self.env.provenance)(&last.device);
        let device: &DeviceInfo = &last.device;
        let devices = self.shared.numbers.len();
        let links = ranks::links(self.args.device, &self.shared.numbers);
        let conditions = format!("combined by {}; {timing}", last.combined_by);
        document.caption(vec![
            format!("{} on up to {devices} devices, each {device}{links}", self.selection.ladder.name),
            format!("{conditions}; {}; {}", provenance.date, provenance.toolchain),
        ]);
        document.measured(Context { device: format!("{device}{links}"), conditions, provenance });
        for report in reports {
            for measurement in &report.measurements {
                if let Verdict::Wrong(why) = &measurement.verdict {
                    document.note(format!("wrong: {}, {}: {why}", measurement.name, report.title));
                }
            }
        }
    }
}

/// Returns the rate of an outcome and its unit: floating-point operations or bytes per second.
fn rate(report: &GroupReport, place: usize) -> Option<(f64, &'static str)> {
    let rates = Rates::of(report, report.measurements.get(place)?);
    rates.flops.map(|rate| (rate, "GFLOP/s")).or(rates.bytes.map(|rate| (rate, "GB/s")))
}
