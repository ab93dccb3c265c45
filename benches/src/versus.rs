//! The program `versus`, apart from its process: rungs against their CUDA ports and against NVIDIA's libraries, in one
//! process and in turn.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use analysis::document;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use cli::targets::{Scope, Targets};
use cli::{not_run, progress_bar};
use host::device::DeviceInfo;
use host::selection::Selection;
use host::{Catalog, Device, Ladder, Provenance};

use crate::cases::{self, Case};
use crate::contest::contest;
use crate::cuda_code::CudaCode;
use crate::error::Error;
use crate::failures::Failures;
use crate::show::{self, FailedCase, MeasurementContext, Results};

/// The exit code when a result was wrong or something could not be measured.
const WRONG: u8 = 1;
/// How long a launch may take: that of the slowest rung of the largest problem takes seconds.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The least rounds that are worth quartiles.
const FEWEST_RUNS: u32 = 5;

/// The environment of the program.
pub struct Env<'a> {
    /// The ladders that can be named.
    pub catalog: &'static Catalog,
    /// Opens the GPU.
    pub open: &'a dyn Fn() -> Result<Box<dyn Device>, host::Error>,
    /// Finds the compiler of the CUDA C++ to measure against.
    pub cuda: &'a dyn Fn() -> CudaCode,
    /// Whether the output is read by a person on a terminal.
    pub terminal: bool,
    /// The date, and the compilers for a device.
    pub provenance: &'a dyn Fn(&DeviceInfo) -> Provenance,
}

#[derive(Args, Debug)]
struct Request {
    /// How many rounds to take the medians of
    #[arg(long, value_name = "K", default_value_t = 31)]
    runs: u32,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Put each ladder's tables between its markers, ladder:versus-NAME, in a file
    #[arg(long, value_name = "PATH", conflicts_with = "rung")]
    update_readme: Option<PathBuf>,
    /// Report the contestants in this file without launching them, and add the one that makes the device unusable
    #[arg(long, value_name = "PATH", hide = true)]
    failures: Option<PathBuf>,
}

fn program(catalog: &'static Catalog, args: &[OsString]) -> Command {
    let command = Command::new("versus").version(env!("CARGO_PKG_VERSION"));
    let command = Scope::of(catalog, args).targets_without_block(command);
    Request::augment_args(command).about(
        "Measures rungs against the same kernels in CUDA C++ and the top rungs against CUB, cuBLAS and memcpy, in turn \
         in one process",
    )
}

/// Runs the program and returns its exit code: 0 for success, 1 for a wrong result or a failure, 2 for a request that
/// cannot be fulfilled.
pub fn main(args: impl IntoIterator<Item = OsString>, env: &Env<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let matches = match program(env.catalog, &args).try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(error) => return not_run(&error, "cargo xtask versus --help", out, err),
    };
    // What a person has asked for: `--failures` comes last, from the process that supervises this one.
    let asked = args.iter().skip(1).take_while(|arg| *arg != "--failures");
    let command: Vec<_> = asked.map(|arg| arg.to_string_lossy()).collect();
    let command = format!("cargo xtask versus {}", command.join(" "));
    match run(&matches, command.trim_end(), env, out, err) {
        Ok(code) => code,
        Err(Error::Ladder(cli::Error::Output(error))) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        // The process that supervises this one says so.
        Err(error @ Error::Unusable(_)) if args.iter().any(|arg| arg == "--failures") => error.exit_code(),
        Err(error) => {
            let _ = writeln!(err, "error: {error}");
            error.exit_code()
        }
    }
}

fn run(
    matches: &ArgMatches,
    command: &str,
    env: &Env<'_>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8, Error> {
    let targets = Targets::read(env.catalog, matches);
    let request = Request::from_arg_matches(matches).map_err(cli::Error::from)?;
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
    if let Some(path) = &request.update_readme {
        if let Some(part) = selected.iter().find(|own| !own.whole) {
            let ladder = part.ladder.name;
            return Err(cli::Error::PartOfATable { ladder }.into());
        }
        for ladder in &ladders {
            document::check(path, &marker(ladder)).map_err(cli::Error::from)?;
        }
    }

    let failures = Failures::read(request.failures.clone()).map_err(cli::Error::from)?;
    let mut device = (env.open)()?;
    device.set_time_limit(TIME_LIMIT);
    let bar = progress_bar(cases.len(), env.terminal);
    bar.set_message("nvcc");
    bar.tick();
    let mut cuda = (env.cuda)();
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
    let text = match request.json {
        true => show::json(&results) + "\n",
        false => show::table(&results, env.terminal),
    };
    out.write_all(text.as_bytes()).map_err(cli::Error::from)?;
    out.flush().map_err(cli::Error::from)?;
    if !results.all_right() {
        if let Some(path) = &request.update_readme {
            let why = "is left as it was: not everything is right";
            let _ = writeln!(err, "error: {} {why}", path.display());
        }
        return Ok(WRONG);
    }
    if let Some(path) = &request.update_readme {
        for ladder in ladders {
            let all = results.contests.iter();
            let own = all.filter(|contest| contest.ladder.name == ladder.name);
            let text = show::markdown(&own.collect::<Vec<_>>(), &results.circumstances);
            document::update(path, &marker(ladder), &text).map_err(cli::Error::from)?;
        }
    }
    Ok(0)
}

/// The name of the markers of a ladder's tables in the README.
fn marker(ladder: &Ladder) -> String {
    format!("versus-{}", ladder.name)
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
