//! The ladders and rungs that a command line selects by name, with the options that were given for their problems.

use crate::catalog::Catalog;
use crate::error::{Error, options_hint};
use crate::names::{near, near_names};
use crate::options::{Opt, Options, Value, combinations};
use crate::registry::{DeviceProperties, Ladder, Rung};
use crate::run::Plan;

/// The name that selects every ladder.
pub const ALL: &str = "all";

/// The name of an option and its value, as it was written on the command line.
pub type OptionText = (&'static str, String);

/// A ladder or some of its rungs, with the options of the problem.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Whether all of its rungs are selected, because the ladder was named, or `all`, or nothing.
    pub whole: bool,
    /// The rungs that were named, as they were written.
    pub named: Vec<String>,
    /// The options that were given and that the ladder has, in the order in which they were given.
    pub given: Vec<OptionText>,
}

impl Selection {
    /// Returns the selected rungs, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        // The names were already resolved when they were selected.
        self.ladder.named(self.rung_names()).unwrap_or_default()
    }

    /// Returns the names of the selected rungs, as [`Ladder::named`] takes them. Empty when all rungs are selected.
    pub fn rung_names(&self) -> &[String] {
        if self.whole { &[] } else { &self.named }
    }

    /// Returns the options. The last value counts when an option was given more than once.
    pub fn options(&self) -> Options {
        let with = |options: Options, (name, text): &OptionText| options.with(name, text);
        self.given.iter().fold(Options::default(), with)
    }

    /// Returns every combination of the options' values, when options were given more than once; `None` when no option was
    /// given.
    ///
    /// # Errors
    /// Returns [`Error::BadValue`] or [`Error::UnknownName`] when a value does not have the kind of its option.
    pub fn combinations(&self) -> Result<Option<Vec<Options>>, Error> {
        let mut choices: Vec<(&'static str, Vec<Value>)> = Vec::new();
        for option in self.ladder.options {
            let given = self.given.iter().filter(|(name, _)| *name == option.name);
            let values = given.map(|(_, text)| option.parse(text));
            let values: Vec<Value> = values.collect::<Result<_, _>>()?;
            if !values.is_empty() {
                choices.push((option.name, values));
            }
        }
        Ok((!choices.is_empty()).then(|| combinations(&choices)))
    }

    /// Makes the problem and the launches for a device. A rung that was named must be possible, even when the whole ladder is
    /// selected.
    ///
    /// # Errors
    /// When the options, the block or a named rung are not possible, as [`Plan::new`] says.
    pub fn plan(&self, block: Option<[u32; 3]>, runs: Option<u32>, device: DeviceProperties) -> Result<Plan, Error> {
        let options = self.options();
        let plan = |rungs: &[String]| Plan::new(self.ladder, rungs, &options, block, runs, device);
        let named = plan(&self.named)?;
        match self.whole && !self.named.is_empty() {
            true => plan(&[]),
            false => Ok(named),
        }
    }
}

/// Resolves names into selections, in the order of the ladders. A name is a ladder's, a rung's, a rung's without the
/// number at its end (for all rungs that differ only in that number), or [`ALL`]; an empty list selects all ladders.
/// An option applies to each selected ladder that has it.
///
/// # Errors
/// Returns [`Error::UnknownName`] when a name is none of these, and when no selected ladder has an option.
pub fn select_with(catalog: &Catalog, names: &[String], given: &[OptionText]) -> Result<Vec<Selection>, Error> {
    let is_known = |name: &&String| {
        let mut ladders = catalog.ladders.iter();
        *name == ALL || ladders.any(|ladder| ladder.name == *name || ladder.has(name))
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let nearest = near_names(unknown, catalog.names());
        return Err(Error::UnknownName(format!(
            "no ladder or rung is named `{unknown}`; {}",
            near(&nearest, "`ladder list` names them")
        )));
    }
    let of_ladder = |ladder: &'static Ladder| {
        let is_whole = |name: &String| name == ladder.name || name == ALL;
        let whole = names.is_empty() || names.iter().any(is_whole);
        let named = names.iter().filter(|name| ladder.has(name));
        let named: Vec<String> = named.cloned().collect();
        let given = given.iter().filter(|(name, _)| option(ladder, name).is_some());
        let given = given.cloned().collect();
        (whole || !named.is_empty()).then_some(Selection { ladder, whole, named, given })
    };
    let selected: Vec<Selection> = catalog.ladders.iter().filter_map(of_ladder).collect();
    let has = |name: &str| {
        let mut ladders = selected.iter().map(|own| own.ladder);
        ladders.any(|ladder| option(ladder, name).is_some())
    };
    if let Some((name, _)) = given.iter().find(|(name, _)| !has(name)) {
        let others = catalog.ladders.iter();
        let others = others.filter(|ladder| option(ladder, name).is_some());
        let others: Vec<&str> = others.map(|ladder| ladder.name).collect();
        let ladders: Vec<&str> = selected.iter().map(|own| own.ladder.name).collect();
        let known = selected.iter().flat_map(|own| own.ladder.options);
        let mut known: Vec<&str> = known.map(|option| option.name).collect();
        known.dedup();
        return Err(Error::UnknownName(format!(
            "--{name} is an option of {}, and not of {}; {}",
            others.join(", "),
            ladders.join(", "),
            options_hint(&known)
        )));
    }
    Ok(selected)
}

/// Resolves names like [`select_with`], without options.
///
/// # Errors
/// Returns [`Error::UnknownName`] with the nearest names when a name is neither a ladder's nor a rung's.
pub fn select(catalog: &Catalog, names: &[String]) -> Result<Vec<Selection>, Error> {
    select_with(catalog, names, &[])
}

fn option(ladder: &Ladder, name: &str) -> Option<&'static Opt> {
    ladder.options.iter().find(|option| option.name == name)
}
