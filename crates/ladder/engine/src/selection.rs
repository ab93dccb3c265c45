//! The ladders and rungs that a command line selects by name, with the options for their problems.

use crate::catalog::Catalog;
use crate::error::{Error, options_hint};
use crate::names::{near, near_names};
use crate::options::{Opt, Options, Value, combinations};
use crate::registry::{DeviceProperties, Ladder, Rung};
use crate::run::Plan;

/// The name that selects every ladder.
pub const ALL: &str = "all";

/// The name of an option and its value, as written on the command line.
pub type OptionText = (&'static str, String);

/// A selected ladder, or some of its rungs, with the options of the problem.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// Whether all rungs of the ladder are selected, because the command line names the ladder, `all` or nothing.
    pub whole: bool,
    /// The rung names as written on the command line.
    pub named: Vec<String>,
    /// The given options that the ladder supports, in the order in which they were given.
    pub given: Vec<OptionText>,
}

impl Selection {
    /// Returns the selected rungs, in the ladder's order.
    pub fn rungs(&self) -> Vec<&'static Rung> {
        // `select_with` already resolved these names, so `named` does not fail.
        self.ladder.named(self.rung_names()).unwrap_or_default()
    }

    /// Returns the names of the selected rungs, as [`Ladder::named`] accepts them. The list is empty if all rungs are
    /// selected.
    pub fn rung_names(&self) -> &[String] {
        if self.whole { &[] } else { &self.named }
    }

    /// Returns the options. If the user gave an option more than once, the last value applies.
    pub fn options(&self) -> Options {
        let with = |options: Options, (name, text): &OptionText| options.with(name, text);
        self.given.iter().fold(Options::default(), with)
    }

    /// Returns every combination of the options' values; the user can give an option several times. Returns `None` if
    /// no option was given.
    ///
    /// # Errors
    /// Returns [`Error::BadValue`] or [`Error::UnknownName`] when a value does not match the kind of its option.
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

    /// Creates the problem and the launches for a device. A named rung that cannot be launched is an error, even if the
    /// whole ladder is selected too.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::new`] when the options, the block or a named rung are not supported.
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

/// Resolves names into selections, in the order of the ladders. Each name is a ladder, a rung, a rung's name without
/// its final number (which selects all rungs that differ only in that number), or [`ALL`]. An empty list selects all
/// ladders. An option applies to each selected ladder that has it.
///
/// # Errors
/// Returns [`Error::UnknownName`] when a name matches none of these, and when no selected ladder has a given option.
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
        let mut ladders = selected.iter().map(|selection| selection.ladder);
        ladders.any(|ladder| option(ladder, name).is_some())
    };
    if let Some((name, _)) = given.iter().find(|(name, _)| !has(name)) {
        let others = catalog.ladders.iter();
        let others = others.filter(|ladder| option(ladder, name).is_some());
        let others: Vec<&str> = others.map(|ladder| ladder.name).collect();
        let ladders: Vec<&str> = selected.iter().map(|selection| selection.ladder.name).collect();
        let known = selected.iter().flat_map(|selection| selection.ladder.options);
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
/// Returns [`Error::UnknownName`] with the nearest names when a name is neither a ladder nor a rung.
pub fn select(catalog: &Catalog, names: &[String]) -> Result<Vec<Selection>, Error> {
    select_with(catalog, names, &[])
}

fn option(ladder: &Ladder, name: &str) -> Option<&'static Opt> {
    ladder.options.iter().find(|option| option.name == name)
}
