//! `lab versus`: rungs against their CUDA ports and against NVIDIA's libraries, which alternate in one process.

use std::path::PathBuf;
use std::process::Command as Process;
use std::time::Duration;

use clap::{ArgMatches, Args, FromArgMatches};
use cli::command::{Command, Output, WRONG};
use cli::output::Format;
use cli::targets::Targets;
use cli::{Env, progress_bar};
use host::device::Choice;
use host::selection::Selection;
use host::{Ladder, Provenance};

use crate::cases::{self, Case};
use crate::contest::contest;
use crate::cuda_code::CudaCode;
use crate::error::Error;
use crate::failures::{Failures, supervise};
use crate::show::{self, FailedCase, MeasurementContext, Results};

/// How long a process may take to end after a contestant has made the device unusable.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a launch may take: that of the slowest rung of the largest problem takes seconds.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The least rounds that are worth quartiles.
const FEWEST_RUNS: u32 = 5;

/// `lab versus`. It measures in processes that this one supervises.
pub const VERSUS: Command = Command {
    name: "versus",
    about: "Measure rungs against the same kernels in CUDA C++, and the top rungs against CUB, cuBLAS and memcpy",
    arguments: |command, scope| Request::augment_args(scope.targets_without_block(command)),
    execute: |matches, env, to| match env.command {
        Some([program, args @ ..]) if Request::from_arg_matches(matches)?.failures.is_none() => {
            let status = supervise(Process::new(program).args(args), PATIENCE)?;
            Ok(status.code().and_then(|code| code.try_into().ok()).unwrap_or(WRONG))
        }
        _ => execute(&CudaCode::find, matches, env, to),
    },
};

#[derive(Args, Debug)]
struct Request {
    /// How many rounds to take the medians of
    #[arg(long, value_name = "K", default_value_t = 31)]
    runs: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Report the contestants in this file without launching them, and add the one that makes the device unusable
    #[arg(long, value_name = "PATH", hide = true)]
    failures: Option<PathBuf>,
}

/// Runs the command in this process. `cuda` finds the compiler of the CUDA C++ to measure against.
///
/// # Errors
/// When the request cannot be fulfilled, or nothing can be measured.
pub fn execute(
    cuda: &dyn Fn() -> CudaCode,
    matches: &ArgMatches,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, cli::Error> {
    let request = Request::from_arg_matches(matches)?;
    // The process that supervises this one adds `--failures`.
    let words = env.command.unwrap_or_default().iter().skip(1).map(|word| word.to_string_lossy());
    let words: Vec<_> = words.take_while(|word| word != "--failures").collect();
    let command = format!("cargo lab {}", words.join(" "));
    match run(cuda, &request, matches, command.trim_end(), env, to) {
        // The process that supervises this one reports it.
        Err(error @ Error::Unusable(_)) if request.failures.is_some() => Ok(error.exit_code()),
        done => done.map_err(|error| match error {
            Error::Ladder(error) => error,
            error => cli::Error::Failed { code: error.exit_code(), text: error.to_string() },
        }),
    }
}

fn run(
    cuda: &dyn Fn() -> CudaCode,
    request: &Request,
    matches: &ArgMatches,
    command: &str,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let targets = Targets::read(env.catalog, matches);
    if request.runs < FEWEST_RUNS {
        return Err(Error::Request(format!(
            "{} runs are too few for quartiles; --runs takes {FEWEST_RUNS} or more",
            request.runs
        )));
    }
    let selected = targets.select(env.catalog)?;
    let of_selection = |own| {
        let cases = cases(own, !targets.is_empty()).into_iter();
        cases.map(move |case| (own, case))
    };
    let cases: Vec<(&Selection, Case)> = selected.iter().flat_map(of_selection).collect();
    let mut ladders: Vec<&'static Ladder> = cases.iter().map(|(own, _)| own.ladder).collect();
    ladders.dedup_by_key(|ladder| ladder.name);

    let failures = Failures::read(request.failures.clone()).map_err(cli::Error::from)?;
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
    for (own, case) in &cases {
        let name = format!("{} {}", case.ladder.name, case.label);
        let result = contest(&mut *device, case, own.rung_names(), &mut cuda, request.runs, &failures, |doing| {
            bar.set_message(format!("{name}: {doing}"));
        });
        bar.inc(1);
        match result {
            Ok(contest) => contests.push(contest),
            // This process can measure no further case either.
            Err(error @ Error::Unusable(_)) => return Err(error),
            // One of several problems that does not fit into the memory does not stop the others.
            Err(error) if cases.len() > 1 => failed.push(FailedCase { what: name, why: error.to_string() }),
            Err(error) => return Err(error),
        }
    }
    bar.finish_and_clear();

    let Provenance { date, toolchain } = (env.provenance)(device.info());
    let results = Results {
        circumstances: MeasurementContext {
            device: device.info().to_string(),
            toolchain,
            nvcc: cuda.nvcc_version().map(str::to_owned),
            baselines: cuda.library().map(|library| library.versions.clone()),
            date,
            command: command.to_owned(),
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

/// The cases of a ladder: one if options are given, else those of the table. A ladder whose rungs are not timed has
/// none unless it is named.
fn cases(selected: &Selection, is_named: bool) -> Vec<Case> {
    if !selected.given.is_empty() {
        return vec![Case { ladder: selected.ladder, label: "", options: selected.options() }];
    }
    match is_named || !selected.ladder.shown.pictures {
        true => cases::versus(Some(selected.ladder)),
        false => Vec::new(),
    }
}
