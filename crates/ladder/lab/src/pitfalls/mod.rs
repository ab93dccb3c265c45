//! `lab pitfalls`: shows what the sanitizers report for common bugs, and what a GPU does.

mod record;
mod sanitizer;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use analysis::pitfalls::{self, FIXED_ON_GPU, ON_GPU, TOOLS};
use analysis::results::Record;
use clap::{Args, FromArgMatches};
use engine::Provenance;
use engine::device::Choice;
use indexmap::IndexMap;

use cli::Env;
use cli::Error;
use cli::command::{Command, Output};
use cli::isolated;
use cli::output::{Context, Format};

pub(crate) const PITFALLS: Command = Command {
    name: "pitfalls",
    about: "Show what the sanitizers report for common bugs, and what a GPU does; exit code 1 if the sanitizers miss \
            a bug",
    arguments: |command, _| Arguments::augment_args(command),
    execute: |matches, env, to| execute(&Arguments::from_arg_matches(matches)?, env, to),
};

#[derive(Args, Debug)]
struct Arguments {
    /// Names of pitfalls to show in detail [default: all, in a table]
    names: Vec<String>,
    #[command(flatten)]
    format: Format,
    /// Device to launch them on, each kernel in a separate process. Without this option, the recorded results of a GPU
    /// are shown
    #[arg(long, value_enum)]
    device: Option<Choice>,
    /// Path of NVIDIA's compute-sanitizer, whose four tools are also run
    #[arg(long, value_name = "PATH", requires = "device")]
    compute_sanitizer: Option<PathBuf>,
    /// Time limit for a kernel on the device
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    time_limit: u64,
}

fn execute(args: &Arguments, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let pitfalls = env.catalog.pitfalls(&args.names)?;
    let limit = Duration::from_secs(args.time_limit.max(1));
    if let (Some(kernel), Some(device)) = (isolated::request::<String>(env)?, args.device) {
        return record::run_child(&kernel, device, limit, env, to.out);
    }
    let measured = match args.device {
        Some(device) => record::measured(&pitfalls, device, args, limit, env)?,
        None => MeasuredPitfalls::kept(),
    };
    let checked = show::check(pitfalls, env)?;
    let document = match args.names.is_empty() {
        true => show::tables(&checked, &measured),
        false => show::one_by_one(&checked, &measured),
    };
    args.format.write(&document, env.style(), to.out)?;
    Ok(show::exit_code(&checked))
}

/// The results on a GPU for each pitfall, by the pitfall's name. Each result is stored under the heading of its column.
struct MeasuredPitfalls {
    context: Option<Context>,
    of: BTreeMap<String, IndexMap<&'static str, String>>,
}

impl MeasuredPitfalls {
    /// Returns the results that are compiled into this program.
    fn kept() -> Self {
        let values = |record: &Record| {
            let value = |heading: &'static str| Some((heading, record.value(heading)?.to_string()));
            let values = [ON_GPU, FIXED_ON_GPU].into_iter().chain(TOOLS).filter_map(value).collect();
            (record.rung.clone(), values)
        };
        let context = pitfalls::kept().first().map(|record| Context {
            device: record.device.clone(),
            conditions: record.conditions.clone(),
            provenance: Provenance { date: record.date.clone(), toolchain: record.toolchain.clone() },
        });
        Self { context, of: pitfalls::kept().iter().map(values).collect() }
    }
}
