//! The arguments that all commands share: ladders and rungs, the options of their problems, and the block.
//!
//! [`Scope`] adds these arguments to a parser, and [`Targets`] holds their values. The values remain text until a
//! ladder is selected, because two ladders may have an option of the same name with different values.

use std::ffi::OsStr;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use engine::options::{Kind, Opt};
use engine::run::Plan;
use engine::selection::{OptionText, Selection, select_with};
use engine::size::parse_block;
use engine::{Catalog, DeviceProperties, Error, Ladder};

/// The help text for the names of ladders and rungs.
pub const NAMES: &str = "Ladders and rungs; a rung's name without its final number selects all rungs that differ \
                                 only in that number; `all` selects every ladder";

/// The ladders that a command line names.
pub struct Scope {
    pub(crate) catalog: &'static Catalog,
    /// The ladders whose options the help describes: the named ladders, or all.
    described: Vec<&'static Ladder>,
    /// Whether the command line names a PTX file or describes a launch.
    names_ptx: bool,
}

/// The ladders, rungs, options and blocks of a command line.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// Ladders and rungs.
    pub names: Vec<String>,
    /// The options of problems, as written on the command line.
    pub given: Vec<OptionText>,
    /// The blocks.
    pub blocks: Vec<[u32; 3]>,
}

impl Scope {
    /// Finds the ladders that this command line names, so that the help shows only their options.
    pub fn of<'a>(catalog: &'static Catalog, args: impl IntoIterator<Item = &'a (impl AsRef<OsStr> + 'a)>) -> Self {
        let words = args.into_iter().filter_map(|arg| arg.as_ref().to_str().map(str::to_owned));
        let words: Vec<String> = words.collect();
        let has = |ladder: &Ladder, word: &String| *word == ladder.name || ladder.has(word);
        let is_named = |ladder: &&Ladder| words.iter().any(|word| has(ladder, word));
        let mut described: Vec<&Ladder> = catalog.ladders.iter().filter(is_named).collect();
        if described.is_empty() {
            described = catalog.ladders.iter().collect();
        }
        let names_ptx = words.iter().any(|word| word.ends_with(".ptx") || word.split('=').next() == Some("--grid"));
        Self { catalog, described, names_ptx }
    }

    /// Returns whether the command line names a file that ends in `.ptx`, or describes a launch with `--grid`.
    pub fn names_ptx(&self) -> bool {
        self.names_ptx
    }

    /// Adds the arguments for ladders, rungs, problem options and the block to a command. The ladders' options are
    /// described at the end of the help.
    pub fn targets(&self, command: clap::Command) -> clap::Command {
        self.problems(command, single).arg(single(block()))
    }

    /// Adds the same arguments as [`Scope::targets`], but problem options and `--block` accept several values.
    pub fn targets_with_several_values(&self, command: clap::Command) -> clap::Command {
        self.problems(command, several).arg(several(block()))
    }

    /// Adds the same arguments as [`Scope::targets`], except the block.
    pub fn targets_without_block(&self, command: clap::Command) -> clap::Command {
        self.problems(command, single)
    }

    /// Adds only the arguments that name ladders and rungs to a command.
    pub fn names(&self, command: clap::Command) -> clap::Command {
        let names = Arg::new("names").value_name("LADDER|RUNG").num_args(0..).help(format!("{NAMES} [default: all]"));
        command.arg(names)
    }

    /// Adds the arguments for ladders, rungs and problem options to a command.
    fn problems(&self, command: clap::Command, values: fn(Arg) -> Arg) -> clap::Command {
        let header = command.get_styles().get_header().to_owned();
        let described = self.described.iter().filter(|ladder| !ladder.options.is_empty());
        let help = described.map(|ladder| {
            let (name, summary) = (ladder.name, ladder.summary);
            let rows: Vec<String> = ladder.options.iter().map(described_option).collect();
            let rows = rows.join("\n");
            format!("{header}Options of {name}:{header:#} {summary}\n{rows}")
        });
        let help: Vec<String> = help.collect();
        self.names(command)
            .args(options(self.catalog).into_iter().map(|name| {
                // The option is hidden here because the end of the help lists it with its ladder.
                values(Arg::new(name).long(name).hide(true)).value_parser(value_parser!(String))
            }))
            .after_help(help.join("\n\n"))
    }

    /// Returns whether `name` is an option of any ladder's problem.
    pub fn is_option(&self, name: &str) -> bool {
        options(self.catalog).contains(&name)
    }

    /// Returns a hint for an unknown option: the options of the named ladders.
    pub(crate) fn hint(&self) -> String {
        let of = |ladder: &&Ladder| {
            let names: Vec<&str> = ladder.options.iter().map(|option| option.name).collect();
            format!("{} has --{}", ladder.name, names.join(", --"))
        };
        let ladders: Vec<String> = self.described.iter().map(of).collect();
        ladders.join(", ")
    }
}

fn block() -> Arg {
    Arg::new("block")
        .long("block")
        .value_name("BLOCK")
        .value_parser(parse_block)
        .help("Threads per block, for all rungs [default: each rung's default block]")
}

/// Returns an argument that accepts one value.
fn single(arg: Arg) -> Arg {
    arg.action(ArgAction::Set).allow_hyphen_values(true)
}

/// Returns an argument that accepts several values.
fn several(arg: Arg) -> Arg {
    arg.action(ArgAction::Append).num_args(1..).allow_negative_numbers(true)
}

/// Returns the names of all ladders' options, without duplicates.
fn options(catalog: &Catalog) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for option in catalog.ladders.iter().flat_map(|ladder| ladder.options) {
        if !names.contains(&option.name) {
            names.push(option.name);
        }
    }
    names
}

/// Returns a line of the help text: `--n <N>  Elements [default: 2^24]`.
fn described_option(option: &Opt) -> String {
    let words = match option.kind {
        Kind::Word(words) => format!(": {}", words.join(", ")),
        Kind::Size | Kind::SizeOr(_) | Kind::Text => String::new(),
    };
    let flag = format!("--{} <{}>", option.name, option.metavar);
    format!("      {flag:22} {}{words} [default: {}]", option.help, option.default)
}

impl Targets {
    /// Extracts the values of the arguments that [`Scope::targets`] added.
    pub fn read(catalog: &Catalog, matches: &ArgMatches) -> Self {
        let texts = |name: &str| -> Vec<String> {
            // Not every command has all of these arguments.
            let values = matches.try_get_many::<String>(name).ok().flatten();
            values.into_iter().flatten().cloned().collect()
        };
        let given = options(catalog).into_iter().flat_map(|name| {
            let values = texts(name).into_iter();
            values.map(move |value| (name, value))
        });
        let blocks = matches.try_get_many("block").ok().flatten();
        Self { names: texts("names"), given: given.collect(), blocks: blocks.into_iter().flatten().copied().collect() }
    }

    /// Returns whether no ladder and no rung is named.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns an error if no ladder or rung is named, for a command that would take long for all ladders.
    pub(crate) fn require_names(&self, catalog: &Catalog) -> Result<(), crate::Error> {
        if !self.is_empty() {
            return Ok(());
        }
        let known: Vec<&str> = catalog.ladders.iter().map(|ladder| ladder.name).collect();
        Err(crate::Error::Request(format!(
            "name a ladder or a rung: the ladders are {}, `all` selects every ladder, and `ladder list` shows the rungs",
            known.join(", ")
        )))
    }

    /// Returns the block, if one was given.
    pub fn block(&self) -> Option<[u32; 3]> {
        self.blocks.last().copied()
    }

    /// Returns the named ladders with their rungs and options, or all ladders if none was named.
    ///
    /// # Errors
    /// Returns [`Error::UnknownName`] with the nearest names when a name belongs to no ladder or rung, or when no
    /// selected ladder has a named rung or a given option.
    pub fn select(&self, catalog: &Catalog) -> Result<Vec<Selection>, Error> {
        select_with(catalog, &self.names, &self.given)
    }

    /// Returns the plan that contains the selections' only launch, for a command that runs one rung on the simulator.
    ///
    /// # Errors
    /// Returns [`engine::Error`] when a launch is not possible, and [`crate::Error::Request`] with the rungs' names
    /// when the selections contain no rung or several rungs.
    pub(crate) fn only_launch(&self, selections: Vec<Selection>) -> Result<(&'static Ladder, Plan), crate::Error> {
        let mut plans = Vec::new();
        for selection in selections {
            plans.push((selection.ladder, selection.plan(self.block(), None, DeviceProperties::default())?));
        }
        let launches = plans.iter().flat_map(|(_, plan)| plan.launches());
        let rungs: Vec<&str> = launches.map(|(rung, _)| rung.name).collect();
        let (count, rungs, name) = (rungs.len(), rungs.join(", "), self.names.join(" "));
        match plans.into_iter().find(|(_, plan)| !plan.launches().is_empty()) {
            Some(only) if count == 1 => Ok(only),
            _ => Err(crate::Error::Request(format!("`{name}` selects several rungs: {rungs}; name one of them"))),
        }
    }
}
