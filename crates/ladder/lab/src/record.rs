//! `lab record`: runs a command of `lab` or `ladder` and writes its output into a document, as Markdown.

use std::ffi::OsString;
use std::path::PathBuf;

use analysis::document;
use clap::{ArgMatches, Args, FromArgMatches};
use cli::command::{Command, Output};
use cli::{Env, Error};
use simt::cli::complain;

pub(crate) const RECORD: Command = Command {
    name: "record",
    about: "Write the output of a command into a document: lab record docs/times.md reduce -- run reduce --runs 50",
    arguments: |command, _| Arguments::augment_args(command),
    execute,
};

#[derive(Args, Debug)]
struct Arguments {
    /// The document
    file: PathBuf,
    /// The output goes between the lines `<!-- ladder:MARKER:begin -->` and `<!-- ladder:MARKER:end -->`
    marker: String,
    /// A command of `lab` or `ladder`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn execute(matches: &ArgMatches, env: &Env<'_>, to: &mut Output<'_>) -> Result<u8, Error> {
    let Arguments { file, marker, command } = Arguments::from_arg_matches(matches)?;
    // A document that cannot be written is refused before anything is measured for it.
    document::check(&file, &marker)?;
    // The processes that launch on a GPU run the recorded command alone.
    let own: Option<Vec<OsString>> = env
        .command
        .and_then(|own| own.first())
        .map(|program| std::iter::once(program.clone()).chain(command.iter().map(OsString::from)).collect());
    let env = Env { markdown: true, command: own.as_deref(), ..*env };
    let (code, out, err) = cli::captured(&command, &env);
    write!(to.out, "{out}")?;
    write!(to.err, "{err}")?;
    match code {
        0 => document::update(&file, &marker, &out)?,
        // The command has not run.
        2 => {}
        code => complain(to.err, &format!("{} is left as it was: exit code {code}", file.display())),
    }
    Ok(code)
}
