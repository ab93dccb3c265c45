//! What to profile: ladders and rungs by name, each with the options that its ladder has.

use super::error::ProfileError;
use engine::Catalog;
use engine::options::Options;
use engine::registry::Ladder;
use engine::run::{Climb, Plan};
use engine::selection::{Selection, select};

/// A ladder to profile, or some of its rungs.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The ladder.
    pub ladder: &'static Ladder,
    /// The rungs that were named.
    pub named: Vec<String>,
    /// Whether the ladder was named, or nothing was: then all its rungs are profiled.
    pub whole: bool,
    /// The options that were given and that the ladder has, as they were written.
    pub options: Vec<(&'static str, String)>,
}

/// An option of some ladders as it was written on the command line.
pub type Given = (&'static str, String);

/// What these names stand for, as [`chosen`] has it. An option goes to those of the ladders that have it.
///
/// # Errors
/// [`engine::Error::UnknownName`] for a name that is nothing, [`ProfileError::OptionOfOthers`] for an option that none of
/// the chosen ladders has.
pub fn choose(
    catalog: &Catalog,
    targets: &[String],
    options: &[Given],
) -> Result<Vec<Chosen>, ProfileError> {
    let of_ladder = |own: Selection| {
        let has = |name| own.ladder.options.iter().any(|option| option.name == name);
        let given = options.iter().filter(|(name, _)| has(*name));
        Chosen {
            ladder: own.ladder,
            named: own.named,
            whole: own.whole,
            options: given.cloned().collect(),
        }
    };
    let chosen: Vec<Chosen> = select(catalog, targets)?
        .into_iter()
        .map(of_ladder)
        .collect();
    for (option, _) in options {
        let taken = chosen
            .iter()
            .any(|one| one.options.iter().any(|(name, _)| name == option));
        if !taken {
            let with = catalog
                .ladders
                .iter()
                .filter(|ladder| ladder.options.iter().any(|own| own.name == *option));
            return Err(ProfileError::OptionOfOthers {
                option: (*option).to_owned(),
                has: with.map(|ladder| ladder.name).collect(),
                chosen: chosen.iter().map(|one| one.ladder.name).collect(),
            });
        }
    }
    Ok(chosen)
}

impl Chosen {
    /// Makes the problem and finds the launches, as for one run of each rung.
    ///
    /// # Errors
    /// As [`Climb::plan`], and for a value that is not of its option's kind.
    pub fn plan(&self, block: Option<[u32; 3]>) -> Result<Plan, ProfileError> {
        let mut options = Options::default();
        for (name, text) in &self.options {
            options = options.with(name, text);
        }
        let climb = |rungs: &[String]| {
            Climb {
                ladder: self.ladder,
                rungs,
                options: &options,
                block,
                runs: None,
            }
            .plan()
        };
        // What was named has to be possible, also among all.
        let mut plan = climb(&self.named)?;
        if self.whole && !self.named.is_empty() {
            plan = climb(&[])?;
        }
        if plan.launches().is_empty() {
            return Err(ProfileError::Nothing {
                why: format!("no rung of {} computes this", self.ladder.name),
            });
        }
        Ok(plan)
    }
}
