//! Ladders as subcommands with their own options, for any program.

use clap::{Arg, ArgMatches};

use crate::error::Error;
use engine::Catalog;
use engine::options::{Kind, Opt, Options, Value};
use engine::registry::Ladder;

/// Gives `command` a subcommand for each ladder: with the arguments that all have, which `common` adds, and
/// with the ladder's options, each as `option` changes it.
pub fn per_ladder(
    catalog: &'static Catalog,
    command: clap::Command,
    common: impl Fn(clap::Command) -> clap::Command,
    option: impl Fn(Arg) -> Arg,
) -> clap::Command {
    let of = |ladder: &'static Ladder| {
        let own = clap::Command::new(ladder.name)
            .about(ladder.summary)
            .next_help_heading("What to compute")
            .args(ladder.options.iter().map(|own| option(arg(own))))
            .next_help_heading(None::<&str>);
        common(own)
    };
    command
        .subcommand_value_name("LADDER")
        .subcommand_help_heading("Ladders")
        // A name that is none is ours to complain of.
        .allow_external_subcommands(true)
        .disable_help_subcommand(true)
        .subcommands(catalog.ladders.iter().map(of))
}

fn arg(option: &'static Opt) -> Arg {
    let words = match option.kind {
        Kind::Word(words) => format!(": {}", words.join(", ")),
        Kind::Size | Kind::SizeOr(_) | Kind::Text => String::new(),
    };
    Arg::new(option.name)
        .long(option.name)
        .value_name(option.metavar)
        .help(format!(
            "{}{words} [default: {}]",
            option.help, option.default
        ))
        .value_parser(|text: &str| option.parse(text))
}

/// The ladder that a command of [`per_ladder`] names, and what it says of it. `None` where it names none.
///
/// # Errors
/// [`Error::UnknownLadder`] for a name that is none.
pub fn of_ladder<'a>(
    catalog: &Catalog,
    matches: &'a ArgMatches,
) -> Result<Option<(&'static Ladder, &'a ArgMatches)>, Error> {
    let named = matches.subcommand();
    named
        .map(|(name, matches)| Ok((catalog.ladder(name)?, matches)))
        .transpose()
}

/// The values given for each of a ladder's options that were given any.
pub(super) fn values(
    ladder: &'static Ladder,
    matches: &ArgMatches,
) -> Vec<(&'static str, Vec<Value>)> {
    ladder
        .options
        .iter()
        .filter_map(|option| {
            let values = matches.get_many::<Value>(option.name)?;
            Some((option.name, values.cloned().collect()))
        })
        .collect()
}

/// The options that a ladder's subcommand was given, the last value of each.
pub fn options(ladder: &'static Ladder, matches: &ArgMatches) -> Options {
    let mut options = Options::default();
    for (name, mut values) in values(ladder, matches) {
        if let Some(value) = values.pop() {
            options.set(name, value);
        }
    }
    options
}
