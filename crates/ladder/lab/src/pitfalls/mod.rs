//! `lab pitfalls`: launches the common bugs on a GPU and records what happens, or shows such a record.

mod record;
mod sanitizer;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use analysis::pitfalls::Record;
use clap::{Args, FromArgMatches};
use engine::device::Choice;

use cli::Env;
use cli::Error;
use cli::command::{Command, Output};
use cli::isolated;
use cli::output::Format;

pub(crate) const PITFALLS: Command = Command {
    name: "pitfalls",
    about: "Launch the common bugs on a GPU and record what happens; exit code 1 where the sanitizers miss one",
    arguments: |command, _| Arguments::augment_args(command),
    execute: |matches, env, to| execute(&Arguments::from_arg_matches(matches)?, env, to),
};

#[derive(Args, Debug)]
struct Arguments {
    /// Pitfalls, which are then shown one by one [default: all, in a table]
    names: Vec<String>,
    #[command(flatten)]
    format: Format,
    /// Launch them on a GPU, each kernel in its own process, and put what became of them into a record; this
    /// program shows crates/ladder/analysis/src/pitfalls/recorded.json
    #[arg(long, value_name = "PATH")]
    update_record: Option<PathBuf>,
    /// Show this record of a GPU in the place of this program's
    #[arg(long, value_name = "PATH", conflicts_with = "update_record")]
    from: Option<PathBuf>,
    /// For the record, also run the four tools of NVIDIA's compute-sanitizer, which is this program
    #[arg(long, value_name = "PATH", requires = "update_record")]
    compute_sanitizer: Option<PathBuf>,
    /// Where to launch for the record
    #[arg(long, value_enum, default_value = "gpu")]
    device: Choice,
    /// How long a kernel may take there
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    time_limit: u64,
}

fn execute(args: &Arguments, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let pitfalls = env.catalog.pitfalls(&args.names)?;
    let limit = Duration::from_secs(args.time_limit.max(1));
    if let Some(kernel) = isolated::request::<String>(env)? {
        return record::alone(&kernel, args.device, limit, env, to.out);
    }
    let record = match (&args.update_record, &args.from) {
        (Some(path), _) => record::update(path, &pitfalls, args, limit, env)?,
        (None, Some(path)) => Record::read(path)?,
        (None, None) => Record::embedded().clone(),
    };

    let checked = show::check(pitfalls, env)?;
    let document = match args.names.is_empty() {
        true => show::tables(&checked, &record),
        false => show::one_by_one(&checked, &record),
    };
    args.format.write(&document, env.style(), to.out)?;
    Ok(show::exit_code(&checked))
}
