//! `lab mutate`: changes the PTX of rungs one instruction at a time, and tests whether the checks detect the changes.

mod show;

use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Args};
use engine::device::DeviceInfo;
use indicatif::ProgressStyle;
use mutate::reasons::{self, Reason};
use mutate::{MutantResult, Plan};
use simt::run::is_interrupted;

use cli::Env;
use cli::Error;
use cli::command::{Command, Output, WRONG, progress_bar};
use cli::output::{Format, Printer};
use cli::targets::Targets;

pub(crate) const MUTATE: Command = Command {
    name: "mutate",
    about: "Mutation-test the checks: change one instruction at a time; exit code 1 if a mutant survives without an \
            explanation",
    arguments: |command, scope| Arguments::augment_args(scope.names(command)),
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// File of the mutants that are known to survive, with the reasons
    #[arg(long, value_name = "PATH", default_value = "host/mutants.toml")]
    reasons: PathBuf,
    /// File for verdicts, from which the next run continues
    #[arg(long, value_name = "PATH", default_value = "target/mutants.jsonl")]
    kept: PathBuf,
    /// Discard the recorded verdicts
    #[arg(long)]
    again: bool,
    /// Run a sample of COUNT mutants, spread evenly over the rungs
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    /// Seed of the sample: the same number selects the same mutants
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "sample")]
    seed: u64,
    /// Number of host threads [default: one for each core]
    #[arg(long, value_name = "COUNT")]
    threads: Option<usize>,
    #[command(flatten)]
    format: Format,
}

/// A completed run of mutants, with its duration.
struct Run<'a> {
    outcomes: &'a [MutantResult<'a>],
    /// The reasons that do not apply to any mutant of this run.
    unused: Vec<&'a Reason>,
    threads: usize,
    took: Duration,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let args = <Arguments as clap::FromArgMatches>::from_arg_matches(matches)?;
    let targets = Targets::read(env.catalog, matches);
    let reasons = reasons::read(&args.reasons).map_err(failed)?;
    let plan = Plan::new(env.catalog, &targets.select(env.catalog)?).map_err(failed)?;
    let plan = match args.sample {
        Some(count) => plan.sample(count, args.seed),
        None => plan,
    };
    if args.again && args.kept.exists() {
        std::fs::remove_file(&args.kept)?;
    }
    let threads = args.threads.or_else(|| available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let bar = progress_bar(plan.count(), env.terminal);
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} of about {duration}")
            .expect("the template has only fields that indicatif documents"),
    );
    let begin = Instant::now();
    let outcomes = plan.run(env.catalog, threads, Some(&args.kept), &reasons, |count| bar.inc(count as u64));
    let outcomes = outcomes.map_err(failed)?;
    bar.finish_and_clear();

    let is_used =
        |reason: &Reason| outcomes.iter().any(|outcome| outcome.reason.is_some_and(|used| std::ptr::eq(used, reason)));
    let unused = if targets.is_empty() && args.sample.is_none() && !is_interrupted() {
        reasons.iter().filter(|reason| !is_used(reason)).collect()
    } else {
        Vec::new()
    };
    let run = Run { outcomes: &outcomes, unused, threads, took: begin.elapsed() };
    let device = DeviceInfo { kind: "sim", name: "simt".to_owned(), ..DeviceInfo::default() };
    let document = show::document(&run, (env.provenance)(&device));
    let mut printer = Printer::new(args.format, env.style(), to.out);
    printer.show(&document)?;
    printer.finish()?;
    to.out.flush()?;
    let is_fine = run.unused.is_empty() && !outcomes.iter().any(MutantResult::is_unexplained);
    Ok(if is_fine { 0 } else { WRONG })
}

fn failed(error: mutate::Error) -> Error {
    Error::Failed { code: if error.is_failure() { 1 } else { 2 }, text: error.to_string() }
}
