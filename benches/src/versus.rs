//! `lab versus`: measures rungs against their CUDA ports and libraries. All contestants alternate on one device.

use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches};
use cli::command::{Command, Output, WRONG};
use cli::isolated::{self, Isolated};
use cli::output::{Format, OutputStyle};
use cli::targets::Targets;
use cli::{Env, progress_bar};
use host::device::Choice;
use host::selection::Selection;
use host::{Ladder, Provenance};
use serde::{Deserialize, Serialize};
use simt_check::diagnostic::print_error;

use crate::cases::{self, Case};
use crate::contest::contest;
use crate::cuda_code::CudaCode;
use crate::error::{Error, Failure};
use crate::show::{self, FailedCase, MeasurementContext, Results};

/// The time limit of a launch: the slowest rung takes seconds on the largest problem.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The minimum number of rounds for quartiles.
const FEWEST_RUNS: u32 = 5;

/// `lab versus`, which measures in [child processes](isolated).
pub const VERSUS: Command = Command {
    name: "versus",
    about: "Measure rungs against their CUDA ports, and the top rungs against CUB, cuBLAS and memcpy",
    arguments: |command, scope| Request::augment_args(scope.targets_without_block(command)),
    execute: |matches, env, to| match env.command {
        Some(_) if env.request.is_none() => measure(env, to),
        _ => execute(&CudaCode::find, matches, env, to),
    },
};

/// The request to a child.
#[derive(Serialize, Deserialize)]
struct ChildRequest {
    /// The style of the output.
    style: OutputStyle,
    /// The contestants to report as failed without launching them.
    failures: Vec<Failure>,
}

/// The result of a child.
#[derive(Serialize, Deserialize)]
enum Measurement {
    /// The output, and the exit code.
    Complete(String, u8),
    /// A contestant has made the device unusable.
    Unusable(Failure),
}

/// Starts a child that measures. If a contestant makes the device unusable, starts another child without this
/// contestant.
fn measure(env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, cli::Error> {
    let mut request = ChildRequest { style: env.style(), failures: Vec::new() };
    loop {
        let mut child = Isolated::start(isolated::command(env, &request)?)?;
        // A measurement has no time limit; each launch has one.
        let measured = child.result(Duration::MAX)?;
        match measured.map_err(|why| cli::Error::Failed { text: why.to_string(), code: WRONG })? {
            Measurement::Complete(text, code) => {
                child.finish();
                to.out.write_all(text.as_bytes())?;
                return Ok(code);
            }
            Measurement::Unusable(failure) => {
                print_error(to.err, &format!("{}; note: measuring again without it", Error::Unusable(failure.clone())));
                request.failures.push(failure);
            }
        }
    }
}

#[derive(Args, Debug)]
struct Request {
    /// Number of rounds for the medians
    #[arg(long, value_name = "K", default_value_t = 31)]
    runs: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Runs the command in this process. A child sends the output to its parent. `cuda` finds the compiler for the CUDA
/// C++.
///
/// # Errors
/// Returns an error when the request cannot be fulfilled, or when no case can be measured.
pub fn execute(
    cuda: &dyn Fn() -> CudaCode,
    matches: &ArgMatches,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, cli::Error> {
    let request = Request::from_arg_matches(matches)?;
    let Some(ChildRequest { style, failures }) = isolated::request(env)? else {
        return Ok(run(cuda, &request, &[], matches, env, to)?);
    };
    let mut text = Vec::new();
    let OutputStyle { terminal, form, width, wide } = style;
    let env_of_parent = Env { terminal, form, width, wide, ..*env };
    let to_parent = &mut Output { out: &mut text, err: to.err };
    let measured = match run(cuda, &request, &failures, matches, &env_of_parent, to_parent) {
        Ok(code) => Measurement::Complete(String::from_utf8_lossy(&text).into_owned(), code),
        Err(Error::Unusable(failure)) => Measurement::Unusable(failure),
        Err(error) => return Err(error.into()),
    };
    isolated::send(Ok(&measured), to.out)?;
    Ok(0)
}

fn run(
    cuda: &dyn Fn() -> CudaCode,
    request: &Request,
    failures: &[Failure],
    matches: &ArgMatches,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let targets = Targets::read(env.catalog, matches);
    if request.runs < FEWEST_RUNS {
        return Err(Error::Request(format!(
            "{} runs are too few for quartiles; use --runs {FEWEST_RUNS} or more",
            request.runs
        )));
    }
    let selected = targets.select(env.catalog)?;
    let of_selection = |selection| {
        let cases = cases(selection, !targets.is_empty()).into_iter();
        cases.map(move |case| (selection, case))
    };
    let cases: Vec<(&Selection, Case)> = selected.iter().flat_map(of_selection).collect();
    let mut ladders: Vec<&'static Ladder> = cases.iter().map(|(selection, _)| selection.ladder).collect();
    ladders.dedup_by_key(|ladder| ladder.name);

    let mut device = (env.open)(Choice::Gpu)?;
    device.set_time_limit(TIME_LIMIT);
    let bar = progress_bar(cases.len(), env.terminal);
    bar.set_message("nvcc");
    bar.tick();
    let mut cuda = cuda();
    let names: Vec<&str> = ladders.iter().map(|ladder| ladder.name).collect();
    cuda.prepare(&mut *device, &names, &names);

    let mut contests = Vec::new();
    let mut failed = Vec::new();
    for (selection, case) in &cases {
        let name = format!("{} {}", case.ladder.name, case.label);
        let result = contest(&mut *device, case, selection.rung_names(), &mut cuda, request.runs, failures, |doing| {
            bar.set_message(format!("{name}: {doing}"));
        });
        bar.inc(1);
        match result {
            Ok(contest) => contests.push(contest),
            // After this error, the process cannot measure any further case.
            Err(error @ Error::Unusable(_)) => {
                // Dropping the libraries would wait for work that may never end.
                std::mem::forget(cuda);
                return Err(error);
            }
            // If one of several problems does not fit into memory, the other problems still run.
            Err(error) if cases.len() > 1 => failed.push(FailedCase { what: name, why: error.to_string() }),
            Err(error) => return Err(error),
        }
    }
    bar.finish_and_clear();

    let words = env.command.unwrap_or_default().iter().skip(1).map(|word| word.to_string_lossy());
    let command = format!("cargo lab {}", words.collect::<Vec<_>>().join(" "));
    let Provenance { date, toolchain } = (env.provenance)(device.info());
    let results = Results {
        circumstances: MeasurementContext {
            device: device.info().to_string(),
            toolchain,
            nvcc: cuda.nvcc_version().map(str::to_owned),
            baselines: cuda.versions(),
            date,
            command: command.trim_end().to_owned(),
            rounds: request.runs,
        },
        contests,
        failed,
    };
    let written = match request.json {
        true => writeln!(to.out, "{}", show::json(&results)),
        false => Format::default().write(&show::document(&results), env.style(), to.out),
    };
    written.map_err(cli::Error::from)?;
    to.out.flush().map_err(cli::Error::from)?;
    Ok(if results.all_right() { 0 } else { WRONG })
}

/// Returns the cases of a ladder: a single case if options are given, otherwise the cases of the table. A ladder whose
/// rungs are not timed has no cases unless it is named.
fn cases(selected: &Selection, is_named: bool) -> Vec<Case> {
    if !selected.given.is_empty() {
        return vec![Case { ladder: selected.ladder, label: "", options: selected.options() }];
    }
    match is_named || !selected.ladder.shown.pictures {
        true => cases::versus(Some(selected.ladder)),
        false => Vec::new(),
    }
}
