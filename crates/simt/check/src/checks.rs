//! The names of the checks, and sets of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use simt::memory::AccessProblem;
use simt::run::FaultKind;

/// Calls a macro with one row for each sanitizer: its documentation, the module of this crate, whose name is the sanitizer's
/// name, and the type in it that implements `Checker`, whose name is that of the variant of [`Check`].
macro_rules! every_sanitizer {
    ($make:ident) => {
        $make! {
            /// Accesses outside the object that the address was made for.
            memory::Memory;
            /// Values that depend on memory or registers that no thread has written.
            init::Init;
            /// Conflicting accesses to the same byte that nothing orders.
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

/// How checks differ on request: what they look for although CUDA allows it, what they then allow, and what they advise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extra {
    /// Memory that is still allocated when its context ends. Only the simulated driver has contexts.
    Leaks,
    /// Threads that end before a barrier that others of their block wait at, and barriers that a compiler may have made of
    /// one in the source, which warps of a block wait at together.
    Barriers,
    /// Only the races of PTX, where volatile accesses are relaxed atomic ones. In CUDA C++ and Rust they are not atomic.
    PtxVolatile,
    /// Hints about synchronization: fences, scopes and barriers that could be weaker. The launch runs many times.
    Weaker,
}

impl Extra {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Leaks, Self::Barriers, Self::PtxVolatile, Self::Weaker];

    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaks => "leaks",
            Self::Barriers => "barriers",
            Self::PtxVolatile => "ptx-volatile",
            Self::Weaker => "weaker",
        }
    }

    /// The check that it is a part of, which its findings have the name of.
    #[must_use]
    pub fn check(self) -> Check {
        match self {
            Self::Leaks => Check::Memory,
            Self::Barriers => Check::Sync,
            Self::PtxVolatile | Self::Weaker => Check::Race,
        }
    }
}

/// A set of checks. As text it is their names with commas between them, `all` or `none`. The names of [`Extra`] are added to
/// those, and turn the check on that they are a part of: `all,leaks`.
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
    /// No check.
    pub const NONE: Self = Self(0);
    /// Every check.
    pub const ALL: Self = Self((1 << Check::ALL.len()) - 1);

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

    /// The names of its checks and requests.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let checks = Check::ALL.iter().copied().filter(|check| self.contains(*check)).map(Check::name);
        checks.chain(Extra::ALL.into_iter().filter(|extra| self.looks_for(*extra)).map(Extra::name)).collect()
    }

    /// Whether it has this request.
    #[must_use]
    pub fn looks_for(self, extra: Extra) -> bool {
        self.0 >> (Check::ALL.len() + extra as usize) & 1 != 0
    }

    /// The same and this request, with the check that it is a part of.
    #[must_use]
    pub fn with_extra(self, extra: Extra) -> Self {
        Self(self.0 | 1 << (Check::ALL.len() + extra as usize)).with(extra.check())
    }

    /// The same without this request.
    #[must_use]
    pub fn without_extra(self, extra: Extra) -> Self {
        Self(self.0 & !(1 << (Check::ALL.len() + extra as usize)))
    }

    /// The same without this check.
    #[must_use]
    pub fn without(self, check: Check) -> Self {
        Self(self.0 & !(1 << check as u8))
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
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        for word in &words {
            let check = Check::ALL.iter().copied().find(|check| check.name() == *word);
            let extra = Extra::ALL.into_iter().find(|extra| extra.name() == *word);
            checks = match (*word, check, extra) {
                ("all", ..) => Self(checks.0 | Self::ALL.0),
                ("none", ..) if words.len() == 1 => checks,
                ("none", ..) => return Err(format!("`none` contradicts the other checks of `{text}`")),
                (_, Some(check), _) => checks.with(check),
                (_, _, Some(extra)) => checks.with_extra(extra),
                _ => {
                    let names = Check::ALL.iter().map(|check| check.name()).chain(Extra::ALL.map(Extra::name));
                    let names: Vec<&str> = names.chain(["all", "none"]).collect();
                    let near = |name: &&&str| strsim::jaro_winkler(word, name) > 0.7;
                    let meant = names.iter().find(near);
                    let meant = meant.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
                    let (last, others) = names.split_last().expect("there are checks");
                    return Err(format!(
                        "there is no check `{word}`; there are {} and {last}{meant}",
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
