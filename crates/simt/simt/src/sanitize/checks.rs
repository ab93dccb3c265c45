//! The names of the checks, and sets of them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::memory::AccessProblem;
use crate::run::FaultKind;

/// One of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// Accesses outside of the object that the address was made for.
    Memory,
    /// Values that depend on memory or registers which nobody has written.
    Init,
    /// Accesses to the same byte, one of them a write, that nothing orders.
    Race,
    /// Barriers, masks and waits that threads do not come to as they have to.
    Sync,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Init, Self::Race, Self::Sync];

    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Init => "init",
            Self::Race => "race",
            Self::Sync => "sync",
        }
    }

    /// The check that a fault belongs to.
    #[must_use]
    pub fn of(kind: &FaultKind) -> Option<Check> {
        match kind {
            FaultKind::Access { access, .. } => match access.what {
                AccessProblem::Synchronization(_) => Some(Check::Sync),
                _ => Some(Check::Memory),
            },
            FaultKind::BadFree { .. } | FaultKind::StackOverflow => Some(Check::Memory),
            FaultKind::DivergentBarrier { .. }
            | FaultKind::BadBarrier { .. }
            | FaultKind::AbsentLanes { .. }
            | FaultKind::UnnamedLanes { .. }
            | FaultKind::Deadlock { .. } => Some(Check::Sync),
            _ => None,
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A set of checks. As text it is their names with commas between them, `all` or `none`.
///
/// ```
/// use simt::sanitize::{Check, Checks};
///
/// let checks: Checks = "race,sync".parse().unwrap();
/// assert!(checks.contains(Check::Race) && !checks.contains(Check::Init));
/// assert_eq!("all".parse(), Ok(Checks::ALL));
/// assert!("rice".parse::<Checks>().unwrap_err().contains("did you mean `race`?"));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Checks(u8);

impl Checks {
    /// No check.
    pub const NONE: Self = Self(0);
    /// Every check.
    pub const ALL: Self = Self(0b1111);

    /// Whether it has this check.
    #[must_use]
    pub fn contains(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 != 0
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// The same and this check.
    #[must_use]
    pub fn with(self, check: Check) -> Self {
        Self(self.0 | 1 << check as u8)
    }
}

impl FromIterator<Check> for Checks {
    fn from_iter<I: IntoIterator<Item = Check>>(checks: I) -> Self {
        checks.into_iter().fold(Self::NONE, Self::with)
    }
}

impl FromStr for Checks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut checks = Self::NONE;
        for word in text.split(',').map(str::trim) {
            let found = Check::ALL.into_iter().find(|check| check.name() == word);
            checks = match (word, found) {
                ("all", _) => Self::ALL,
                ("none", _) => checks,
                (_, Some(check)) => checks.with(check),
                _ => {
                    let names = Check::ALL.map(Check::name);
                    let near = |name: &&str| strsim::jaro_winkler(word, name) > 0.7;
                    let meant = names.into_iter().find(near);
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    let names = names.join(", ");
                    return Err(format!("there is no check `{word}`; there are {names}, all and none{meant}"));
                }
            };
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Check::ALL.into_iter().filter(|check| self.contains(*check)).map(Check::name).collect();
        match *self {
            Self::NONE => f.pad("none"),
            Self::ALL => f.pad("all"),
            _ => f.pad(&names.join(",")),
        }
    }
}
