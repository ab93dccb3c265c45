//! The names of the checks, and sets of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use simt::memory::AccessProblem;
use simt::run::FaultKind;

/// Calls a macro with one row for each sanitizer: its documentation, its module in this crate and its type. The module
/// name is also the name of the sanitizer. The type implements `Checker`, and its name is also the variant of
/// [`Check`].
macro_rules! every_sanitizer {
    ($make:ident) => {
        $make! {
            /// Accesses outside the object from which the address was computed.
            memory::Memory;
            /// Values that depend on memory or registers that no thread has written.
            init::Init;
            /// Conflicting accesses to the same byte that are not ordered by synchronization.
            race::Race;
            /// Wrong use of barriers, masks and waits.
            sync::Sync;
        }
    };
}

pub(super) use every_sanitizer;

/// Defines [`Check`].
macro_rules! define {
    ($($(#[$doc:meta])* $module:ident::$Check:ident;)*) => {
        /// One of the sanitizers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum Check {
            $($(#[$doc])* $Check,)*
        }

        impl Check {
            /// All sanitizers.
            pub const ALL: &[Self] = &[$(Self::$Check),*];

            /// Returns the name on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Check => stringify!($module),)*
                }
            }
        }
    };
}

every_sanitizer!(define);

impl Check {
    /// Returns the check that a fault belongs to.
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

/// Options that make checks stricter or more lenient, or add hints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extra {
    /// Memory that is still allocated when its context ends. Only simt's driver has contexts.
    Leaks,
    /// Uses of barriers that CUDA allows but that are suspicious. These are threads that end before a barrier at which
    /// other threads of their block wait, and warps that wait at different copies of one source barrier.
    Barriers,
    /// The race rules of PTX, in which volatile accesses are relaxed atomic accesses. Without this option, the rules of
    /// CUDA C++ and Rust apply, in which volatile accesses are not atomic.
    PtxVolatile,
    /// Hints about synchronization: fences, scopes and barriers that could be weaker. This option runs the launch many
    /// times.
    Weaker,
}

impl Extra {
    /// All options.
    pub const ALL: [Self; 4] = [Self::Leaks, Self::Barriers, Self::PtxVolatile, Self::Weaker];

    /// Returns the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaks => "leaks",
            Self::Barriers => "barriers",
            Self::PtxVolatile => "ptx-volatile",
            Self::Weaker => "weaker",
        }
    }

    /// Returns the check that the option belongs to. Findings of the option carry the name of this check.
    #[must_use]
    pub fn check(self) -> Check {
        match self {
            Self::Leaks => Check::Memory,
            Self::Barriers => Check::Sync,
            Self::PtxVolatile | Self::Weaker => Check::Race,
        }
    }
}

/// A set of checks and options. Its text form is `all`, `none`, or a comma-separated list of names. The name of an
/// [`Extra`] also enables the check that the option belongs to: `all,leaks`.
///
/// ```
/// use simt_check::{Check, Checks};
///
/// let checks: Checks = "race,sync".parse().unwrap();
/// assert!(checks.contains(Check::Race) && !checks.contains(Check::Init));
/// assert_eq!("all".parse(), Ok(Checks::ALL));
/// assert_eq!("all,leaks".parse::<Checks>().unwrap().to_string(), "all,leaks");
/// assert!("rice".parse::<Checks>().unwrap_err().contains("did you mean `race`?"));
/// assert!("none,race".parse::<Checks>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Checks(u16);

impl Checks {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The set of all checks.
    pub const ALL: Self = Self((1 << Check::ALL.len()) - 1);

    /// Returns whether the set contains a check.
    #[must_use]
    pub fn contains(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Returns the names of the checks and options in the set.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let checks = Check::ALL.iter().copied().filter(|check| self.contains(*check)).map(Check::name);
        checks.chain(Extra::ALL.into_iter().filter(|extra| self.has_extra(*extra)).map(Extra::name)).collect()
    }

    /// Returns whether the set contains an option.
    #[must_use]
    pub fn has_extra(self, extra: Extra) -> bool {
        self.0 >> (Check::ALL.len() + extra as usize) & 1 != 0
    }

    /// Returns the set with an option and its check added.
    #[must_use]
    pub fn with_extra(self, extra: Extra) -> Self {
        Self(self.0 | 1 << (Check::ALL.len() + extra as usize)).with(extra.check())
    }

    /// Returns the set without an option.
    #[must_use]
    pub fn without_extra(self, extra: Extra) -> Self {
        Self(self.0 & !(1 << (Check::ALL.len() + extra as usize)))
    }

    /// Returns the set without a check.
    #[must_use]
    pub fn without(self, check: Check) -> Self {
        Self(self.0 & !(1 << check as u8))
    }

    /// Returns the set with a check added.
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
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        for word in &words {
            let check = Check::ALL.iter().copied().find(|check| check.name() == *word);
            let extra = Extra::ALL.into_iter().find(|extra| extra.name() == *word);
            checks = match (*word, check, extra) {
                ("all", ..) => Self(checks.0 | Self::ALL.0),
                ("none", ..) if words.len() == 1 => checks,
                ("none", ..) => return Err(format!("`none` contradicts the other sanitizers in `{text}`")),
                (_, Some(check), _) => checks.with(check),
                (_, _, Some(extra)) => checks.with_extra(extra),
                _ => {
                    let names = Check::ALL.iter().map(|check| check.name()).chain(Extra::ALL.map(Extra::name));
                    let names: Vec<&str> = names.chain(["all", "none"]).collect();
                    let near = |name: &&&str| strsim::jaro_winkler(word, name) > 0.7;
                    let meant = names.iter().find(near);
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    let (last, others) = names.split_last().expect("there are sanitizers");
                    return Err(format!(
                        "there is no sanitizer `{word}`; there are {} and {last}{meant}",
                        others.join(", ")
                    ));
                }
            };
        }
        Ok(checks)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.names();
        if Check::ALL.iter().all(|check| self.contains(*check)) {
            names.splice(..Check::ALL.len(), ["all"]);
        }
        f.pad(&if names.is_empty() { "none".to_owned() } else { names.join(",") })
    }
}
