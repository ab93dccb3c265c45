//! `ladder run --devices`: divides the problem over several devices, in one process or in one process per device.

use std::env::{self, VarError};
use std::time::Duration;

use clap::Args;
use engine::catalog::Kernels;
use engine::device::Choice;
use engine::problem::Verdict;
use engine::run::WARM_UP;
use engine::selection::Selection;
use engine::size::dims;
use engine::{Options, Provenance};
use ranks::{
    Devices, GroupReport, GroupRequest, Measurement, Member, Settings, Share, SharedLadder, SharedProblem, Side,
};
use serde::Serialize;

use crate::command::{Env, Output, WRONG};
use crate::error::Error;
use crate::output::{self, Cell, Column, Context, Document, Format, NOTHING, Printer, Table};
use analysis::results::Unit;

/// The name of a ladder's option for the number of ranks; with `--devices`, the number of devices.
pub const RANKS: &str = "ranks";

/// The default port of the first rank, the same as torchrun's.
const PORT: u16 = 29_500;

/// The arguments for several devices whose ranks may be processes.
#[derive(Args, Debug)]
pub(crate) struct DeviceGroupArguments {
    #[command(flatten)]
    shared: SharedArguments,
    /// The side along which matrices are divided: rows of A, or k. With k, each device computes a summand of the
    /// product and a reduce-scatter adds the summands
    #[arg(long, value_enum, default_value_t)]
    along: Side,
    /// Cut each device's part into N pieces and combine each piece while the next one is computed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pieces: u16,
}

/// The arguments for several devices.
#[derive(Args, Debug)]
pub struct SharedArguments {
    /// Divide each problem over several devices: all, a count (4), or device numbers (0,2). One process runs a rank for
    /// each device; with RANK and WORLD_SIZE in the environment (`lab launch`, torchrun), this process is one rank
    #[arg(long, value_name = "all|N|0,2,…", value_parser = str::parse::<Devices>)]
    devices: Option<Devices>,
    /// Give up on a rank that does not connect or answer after SECONDS
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    wait: u64,
    /// Combine the devices' results on the host even where NCCL is available
    #[arg(long)]
    through_host: bool,
}

/// The ranks that this process runs.
pub(crate) enum Ranks {
    /// All ranks, each on a thread.
    Threads(Devices),
    /// One rank of several processes: its share, the number of its device, and the address of the first rank.
    Process(Share, u32, String),
}

/// The requested ranks and how they share a problem.
pub(crate) struct DeviceGroup {
    ranks: Ranks,
    along: Side,
    pieces: usize,
    wait: Duration,
    through_host: bool,
}

/// The ranks of a command that runs all of them in this process.
pub struct SharedRanks {
    /// The device numbers of the ranks.
    pub numbers: Vec<u32>,
    wait: Duration,
    through_host: bool,
}

impl SharedRanks {
    /// Returns the settings that the ranks run with.
    pub fn settings(&self, kernels: &'static Kernels, time_limit: Duration) -> Settings {
        Settings { kernels, time_limit, wait: self.wait, through_host: self.through_host }
    }
}

/// The arguments of a run, except for the ladders, rungs and ranks.
pub(crate) struct Request<'a> {
    pub device: Choice,
    pub block: Option<[u32; 3]>,
    /// Returns the number of timed launches of each rung of a ladder.
    pub runs: &'a dyn Fn(&Selection) -> Option<u32>,
    /// The time limit of a launch.
    pub time_limit: Duration,
    pub format: &'a Format,
}

impl DeviceGroupArguments {
    /// Returns the requested devices; `None` if neither the command line nor the environment names several devices.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the environment's variables for ranks are wrong or contradict the command line.
    pub(crate) fn requested(&self) -> Result<Option<DeviceGroup>, Error> {
        let SharedArguments { devices, wait, through_host } = &self.shared;
        let (wait, through_host, pieces) = (Duration::from_secs(*wait), *through_host, self.pieces.into());
        let with = |ranks| Some(DeviceGroup { ranks, along: self.along, pieces, wait, through_host });
        match (process(&|name| env::var(name)).map_err(Error::Request)?, devices) {
            (Some(_), Some(_)) => {
                let why = "RANK in the environment makes this process one rank with one device: leave out --devices";
                Err(Error::Request(why.to_owned()))
            }
            (Some(process), None) => Ok(with(process)),
            (None, Some(devices)) => Ok(with(Ranks::Threads(devices.clone()))),
            (None, None) if self.along != Side::Rows || pieces > 1 || through_host => {
                let why = "--along, --pieces and --through-host need --devices, even for one device; add --devices";
                Err(Error::Request(why.to_owned()))
            }
            (None, None) => Ok(None),
        }
    }
}

impl SharedArguments {
    /// Returns the ranks, all in this process. The default is all devices.
    ///
    /// # Errors
    /// Returns [`Error::Request`] when the environment makes this process one rank, and [`Error::Engine`] when there is
    /// no GPU or a selected device does not exist.
    pub fn ranks(&self, device: Choice) -> Result<SharedRanks, Error> {
        if process(&|name| env::var(name)).map_err(Error::Request)?.is_some() {
            let why = "this command runs all ranks in one process; unset RANK in the environment";
            return Err(Error::Request(why.to_owned()));
        }
        let numbers = ranks::numbers(device, self.devices.as_ref().unwrap_or(&Devices::All))?;
        Ok(SharedRanks { numbers, wait: Duration::from_secs(self.wait), through_host: self.through_host })
    }
}

/// Reads the environment's description of this rank, with torchrun's variables: RANK, WORLD_SIZE, LOCAL_RANK for the
/// number of its device, and MASTER_ADDR and MASTER_PORT for the address of the first rank.
///
/// # Errors
/// Returns the name of a wrong variable and the values that it accepts.
fn process(variable: &dyn Fn(&str) -> Result<String, VarError>) -> Result<Option<Ranks>, String> {
    let text = |name: &str| variable(name).ok().filter(|value| !value.is_empty());
    let number = |name: &str, expected: &str, most: u64| -> Result<Option<u64>, String> {
        let Some(value) = text(name) else { return Ok(None) };
        let parsed = value.parse().ok().filter(|number| *number <= most);
        parsed.map(Some).ok_or_else(|| format!("{name}={value} in the environment: expected {expected}"))
    };
    let (Some(_), Some(_)) = (text("RANK"), text("WORLD_SIZE")) else { return Ok(None) };
    let ranks = number("WORLD_SIZE", "the number of ranks, 1 to 65536", 1 << 16)?.unwrap_or_default() as usize;
    if ranks == 0 {
        return Err("WORLD_SIZE=0 in the environment: expected the number of ranks, 1 to 65536".to_owned());
    }
    let expected = format!("the number of a rank, 0 to {}", ranks - 1);
    let rank = number("RANK", &expected, ranks as u64 - 1)?.unwrap_or_default() as usize;
    let device = number("LOCAL_RANK", "the number of a device", u64::from(u32::MAX))?.unwrap_or(rank as u64);
    let port = number("MASTER_PORT", "a port, 1 to 65535", 65_535)?.unwrap_or(PORT.into());
    let host = text("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".to_owned());
    let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    Ok(Some(Ranks::Process(Share { index: rank, count: ranks }, device as u32, address)))
}

/// Runs the selections and shows the report of the first rank.
pub(crate) fn run(
    several: DeviceGroup,
    selected: &[Selection],
    request: &Request<'_>,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let DeviceGroup { ranks, along, pieces, wait, through_host } = several;
    let cut = (along, pieces);
    let settings = Settings { kernels: env.catalog.kernels, time_limit: request.time_limit, wait, through_host };
    let count = match &ranks {
        Ranks::Threads(devices) => ranks::numbers(request.device, devices)?.len(),
        Ranks::Process(rank, ..) => rank.count,
    };
    let mut problems = Vec::new();
    for selection in selected {
        let options = options_with_ranks(selection, count)?;
        // Report an invalid request before devices are opened.
        let problem = SharedLadder::problem_of(env.shared, selection.ladder, &options)?;
        ranks::check(&group_request(selection, &problem, request.block, None, cut), count)?;
        problems.push(problem);
    }
    let runs: Vec<Option<u32>> = selected.iter().map(request.runs).collect();
    let block = request.block;
    let job = |member: &mut Member| {
        let each = selected.iter().zip(&problems).zip(&runs).map(|((selection, whole), runs)| {
            ranks::measure(member, &group_request(selection, whole, block, *runs, cut))
        });
        each.collect::<Result<Vec<GroupReport>, ranks::Error>>()
    };
    let reports = match &ranks {
        Ranks::Threads(devices) => ranks::run_threads(request.device, devices, settings, job)?.swap_remove(0),
        Ranks::Process(rank, number, address) => {
            ranks::run_process(request.device, *number, *rank, address, settings, job)?
        }
    };
    let code = if reports.iter().all(GroupReport::all_right) { 0 } else { WRONG };
    if reports.iter().any(|report| report.rank.index > 0) {
        // Only the first rank shows the report, which is the same on all ranks.
        return Ok(code);
    }
    let mut printer = Printer::new(*request.format, env.style(), to.out);
    for (report, runs) in reports.iter().zip(&runs) {
        let provenance = (env.provenance)(&report.device);
        printer.show(&document(report, *runs, &provenance))?;
    }
    printer.finish()?;
    Ok(code)
}

/// Converts a selection to a request for the ranks.
fn group_request<'a>(
    selection: &'a Selection,
    whole: &'a SharedProblem,
    block: Option<[u32; 3]>,
    runs: Option<u32>,
    (side, pieces): (Side, usize),
) -> GroupRequest<'a> {
    GroupRequest { ladder: selection.ladder, rungs: selection.rung_names(), whole, block, runs, side, pieces }
}

/// Returns the options of a problem. If the ladder has the option `ranks`, its value is the number of devices.
fn options_with_ranks(selection: &Selection, count: usize) -> Result<Options, Error> {
    let options = selection.options();
    if !selection.ladder.options.iter().any(|option| option.name == RANKS) {
        return Ok(options);
    }
    match options.get(RANKS) {
        Some(given) if given.to_string() != count.to_string() => Err(Error::Request(format!(
            "--ranks {given} contradicts --devices, which selects {count}: leave out --ranks"
        ))),
        _ => Ok(options.with(RANKS, count)),
    }
}

/// The JSON record of a rung.
#[derive(Serialize)]
pub struct GroupRecord<'a> {
    ladder: &'a str,
    rung: &'a str,
    problem: &'a str,
    devices: usize,
    device: &'a str,
    combined_by: &'a str,
    result: &'a str,
    median_ns: Option<f64>,
    gb_per_s: Option<f64>,
    gflop_per_s: Option<f64>,
    algbw_gb_per_s: Option<f64>,
    busbw_gb_per_s: Option<f64>,
}

/// The rates of a rung, in 10^9 per second.
pub struct Rates {
    /// Bytes.
    pub bytes: Option<f64>,
    /// Floating-point operations.
    pub flops: Option<f64>,
    /// nccl-tests' algorithm bandwidth and bus bandwidth.
    pub all_reduce: Option<[f64; 2]>,
}

impl Rates {
    /// Computes the rates of a rung.
    pub fn of(report: &GroupReport, outcome: &Measurement) -> Self {
        let median = outcome.samples.as_ref().map(|samples| samples.median()).filter(|time| *time > 0.0);
        let rate = |amount: u64| median.map(|time| amount as f64 / time);
        let algorithm = report.all_reduced.and_then(rate);
        let ranks = report.rank.count as f64;
        Self {
            bytes: rate(report.bytes).filter(|_| report.all_reduced.is_none()),
            flops: report.flops.and_then(rate),
            all_reduce: algorithm.map(|rate| [rate, rate * 2.0 * (ranks - 1.0) / ranks]),
        }
    }
}

/// Returns the JSON record of a rung.
pub fn record<'a>(report: &'a GroupReport, measurement: &'a Measurement) -> GroupRecord<'a> {
    let Rates { bytes, flops, all_reduce } = Rates::of(report, measurement);
    GroupRecord {
        ladder: report.ladder.name,
        rung: &measurement.name,
        problem: &report.title,
        devices: report.rank.count,
        device: &report.device.name,
        combined_by: &report.combined_by,
        result: if measurement.verdict.is_right() { "right" } else { "wrong" },
        median_ns: measurement.samples.as_ref().map(|samples| samples.median()),
        gb_per_s: bytes,
        gflop_per_s: flops,
        algbw_gb_per_s: all_reduce.map(|[rate, _]| rate),
        busbw_gb_per_s: all_reduce.map(|[_, rate]| rate),
    }
}

fn document(report: &GroupReport, runs: Option<u32>, provenance: &Provenance) -> Document {
    let is_timed = report.measurements.iter().any(|measurement| measurement.samples.is_some());
    let rates = match report.all_reduced {
        _ if !is_timed => vec![],
        Some(_) => vec!["time", "algbw GB/s", "busbw GB/s"],
        None if report.flops.is_some() => vec!["time", "GFLOP/s"],
        None => vec!["time", "GB/s"],
    };
    let grid = if report.all_reduced.is_some() { "grid × block" } else { "rank 0's grid × block" };
    let columns = [Column::name("rung"), Column::text(grid), Column::text("result")];
    let devices = match report.rank.count {
        1 => "1 device".to_owned(),
        count => format!("{count} devices"),
    };
    let table = Table::new(columns.into_iter().chain(rates.iter().map(|heading| Column::number(*heading))));
    let mut table = table.with_results_of(report.ladder.name, format!("{} on {devices}", report.title));
    let mut document = Document::default();
    let mut notes = Vec::new();
    for measurement in &report.measurements {
        let Rates { bytes, flops, all_reduce } = Rates::of(report, measurement);
        let (is_right, median) =
            (measurement.verdict.is_right(), measurement.samples.as_ref().map(|samples| samples.median()));
        let launch =
            measurement.launch.as_ref().map(|launch| format!("{} × {}", dims(launch.grid), dims(launch.block)));
        let cells = [
            measurement.name.clone().into(),
            launch.unwrap_or(NOTHING.to_owned()).into(),
            if is_right { Cell::good("right") } else { Cell::bad("WRONG") },
        ];
        let shown = |rate: Option<f64>| Cell::measured(rate, Unit::GigabytesPerSecond);
        let rate = match (all_reduce, report.all_reduced, flops) {
            (Some(both), ..) => both.map(|rate| shown(Some(rate))).to_vec(),
            (None, Some(_), _) => vec![NOTHING.into(), NOTHING.into()],
            (None, None, Some(_)) => vec![Cell::measured(flops, Unit::GigaflopsPerSecond)],
            (None, None, None) => vec![shown(bytes)],
        };
        let time = Cell::measured(median, Unit::Nanoseconds);
        table.row(cells.into_iter().chain([time].into_iter().chain(rate).take(rates.len())));
        if let Verdict::Wrong(why) = &measurement.verdict {
            notes.push(format!("wrong: {}: {why}", measurement.name));
        }
        document.record(&record(report, measurement));
    }
    document.table(table);
    let timing = match runs {
        Some(runs) if is_timed => {
            format!(
                "median of {runs} runs after {WARM_UP} to warm up, each timed on its slowest device, including the time to \
                 combine the results"
            )
        }
        _ => "checked but not timed".to_owned(),
    };
    document.measured(Context {
        device: report.device.to_string(),
        conditions: format!("{timing}; results combined by {}", report.combined_by),
        provenance: provenance.clone(),
    });
    let lines = vec![
        format!(
            "{} on {devices}, rank 0's: {}; results combined by {}",
            report.ladder.name, report.device, report.combined_by
        ),
        format!("{}, {timing}; {}; {}", report.title, provenance.date, provenance.toolchain),
    ];
    document.caption(lines);
    let left_out = report.left_out.iter().map(output::left_out);
    left_out.chain(notes).for_each(|note| document.note(note));
    document
}

#[cfg(test)]
mod tests {
    use super::{Ranks, process};
    use std::env::VarError;

    /// Returns the rank, the number of ranks, the device and the address that the variables describe, or the error.
    fn of(variables: &[(&str, &str)]) -> Result<Option<(usize, usize, u32, String)>, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned()).ok_or(VarError::NotPresent)
        };
        process(&variable).map(|ranks| match ranks {
            Some(Ranks::Process(rank, device, address)) => Some((rank.index, rank.count, device, address)),
            _ => None,
        })
    }

    #[test]
    fn the_environment_makes_a_process_a_rank() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("RANK", "1")]), Ok(None));
        let both = [("RANK", "3"), ("WORLD_SIZE", "4")];
        assert_eq!(of(&both), Ok(Some((3, 4, 3, "127.0.0.1:29500".to_owned()))));
        let more = [("LOCAL_RANK", "1"), ("MASTER_ADDR", "::1"), ("MASTER_PORT", "7")];
        assert_eq!(of(&[&both[..], &more].concat()), Ok(Some((3, 4, 1, "[::1]:7".to_owned()))));
        for (name, value, expected) in [
            ("RANK", "4", "0 to 3"),
            ("RANK", "-1", "0 to 3"),
            ("MASTER_PORT", "70000", "a port"),
            ("LOCAL_RANK", "x", "a device"),
        ] {
            let mut variables = vec![("WORLD_SIZE", "4"), ("RANK", "3")];
            variables.insert(0, (name, value));
            let why = of(&variables).expect_err("the variable is wrong");
            assert!(why.starts_with(&format!("{name}={value} ")) && why.contains(expected), "{why}");
        }
        assert!(of(&[("RANK", "0"), ("WORLD_SIZE", "0")]).is_err_and(|why| why.contains("WORLD_SIZE=0")));
    }
}
