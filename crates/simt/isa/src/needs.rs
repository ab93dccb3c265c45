//! The PTX version and the target that an instruction needs.

use std::fmt;

use ptx::ast::Module;

/// The PTX version and the target that an instruction needs. The default is PTX 6.0 and sm_70 or older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// The PTX version, as major and minor number.
    pub version: (u32, u32),
    /// The target.
    pub target: Target,
}

/// A target that an instruction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Target {
    /// 90 for `sm_90`.
    pub number: u32,
    /// The targets that support the instruction.
    pub reach: Reach,
}

/// The targets that support an instruction, relative to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Reach {
    /// `sm_90`: this target and all later ones.
    #[default]
    Later,
    /// `sm_90a+`: from this number on, targets with an `a` or `f`.
    LaterSpecific,
    /// `sm_90a`: this target only.
    Only,
}

impl Needs {
    /// Parses an entry of the table such as `7.8 sm_90a`, with a version, a target or both.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut needs = Self::default();
        for word in text.split(' ') {
            match word.strip_prefix("sm_") {
                Some(target) => needs.target = Target::parse(target)?,
                None => {
                    let (major, minor) = word.split_once('.')?;
                    needs.version = (major.parse().ok()?, minor.parse().ok()?);
                }
            }
        }
        Some(needs)
    }

    /// Returns the combined needs of two instructions.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { version: self.version.max(other.version), target: self.target.max(other.target) }
    }

    /// Returns whether a module declares a PTX version that includes the instruction.
    #[must_use]
    pub fn has_version(&self, module: &Module<'_>) -> bool {
        module.version >= self.version
    }

    /// Returns whether a module declares a target that supports the instruction.
    #[must_use]
    pub fn has_target(&self, module: &Module<'_>) -> bool {
        module.target.iter().any(|target| self.target.is_met_by(target))
    }
}

impl Target {
    fn parse(text: &str) -> Option<Self> {
        let number = text.trim_end_matches(['a', '+']);
        let reach = match &text[number.len()..] {
            "" => Reach::Later,
            "a+" => Reach::LaterSpecific,
            _ => Reach::Only,
        };
        Some(Self { number: number.parse().ok()?, reach })
    }

    /// Returns whether a module's target, such as `sm_90a`, supports the instruction.
    fn is_met_by(self, target: &str) -> bool {
        let Some(target) = ["sm_", "compute_"].iter().find_map(|prefix| target.strip_prefix(prefix)) else {
            return false;
        };
        let digits = target.trim_end_matches(char::is_alphabetic);
        let number: u32 = digits.parse().unwrap_or(0);
        match self.reach {
            Reach::Later => number >= self.number,
            Reach::LaterSpecific => number >= self.number && target.len() > digits.len(),
            Reach::Only => number == self.number && target.ends_with('a'),
        }
    }
}

/// The first target that supports the instruction: `sm_90a`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.reach == Reach::Later { "" } else { "a" };
        write!(f, "sm_{}{suffix}", self.number)
    }
}
