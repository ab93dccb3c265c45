//! What to profile: ladders and rungs by name, each with the options that its ladder has.

use super::error::{ProfileError, near_names};
use crate::error::Error;
use crate::options::Options;
use crate::registry::{Ladder, ladders};
use crate::run::{Climb, Plan};

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

/// Finds what these names stand for, in the order of the ladders: a ladder, a rung, or a rung without the number
/// at its end; all ladders for none. An option goes to those of them that have it.
///
/// # Errors
/// [`ProfileError::UnknownTarget`] for a name that is nothing, [`ProfileError::OptionOfOthers`] for an option that
/// none of the chosen ladders has.
pub fn choose(targets: &[String], options: &[Given]) -> Result<Vec<Chosen>, ProfileError> {
    let mut chosen = Vec::new();
    for ladder in ladders() {
        let whole = targets.is_empty() || targets.iter().any(|target| target == ladder.name);
        let rungs: Vec<String> = targets
            .iter()
            .filter(|target| is_rung(ladder, target))
            .cloned()
            .collect();
        if !whole && rungs.is_empty() {
            continue;
        }
        let has = |name| ladder.options.iter().any(|own| own.name == name);
        chosen.push(Chosen {
            ladder,
            named: rungs,
            whole,
            options: options
                .iter()
                .filter(|(name, _)| has(*name))
                .cloned()
                .collect(),
        });
    }
    if let Some(unknown) = targets.iter().find(|target| !is_known(target)) {
        let names = ladders().iter().flat_map(|ladder| {
            let rungs = ladder.rungs.iter().map(|rung| rung.name);
            rungs.chain([ladder.name])
        });
        return Err(ProfileError::UnknownTarget {
            name: unknown.clone(),
            nearest: near_names(unknown, names),
        });
    }
    for (option, _) in options {
        let taken = chosen
            .iter()
            .any(|one| one.options.iter().any(|(name, _)| name == option));
        if !taken {
            let with = ladders()
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

fn is_rung(ladder: &Ladder, target: &str) -> bool {
    ladder.named(&[target.to_owned()]).is_ok()
}

fn is_known(target: &str) -> bool {
    ladders()
        .iter()
        .any(|ladder| ladder.name == target || is_rung(ladder, target))
}

impl Chosen {
    /// Makes the problem and finds the launches, as for one run of each rung.
    ///
    /// # Errors
    /// As [`Climb::plan`], and for a value that is not of its option's kind.
    pub fn plan(&self, block: Option<[u32; 3]>) -> Result<Plan, Error> {
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
            return Err(Error::Profile(ProfileError::Nothing {
                why: format!("no rung of {} computes this", self.ladder.name),
            }));
        }
        Ok(plan)
    }
}
