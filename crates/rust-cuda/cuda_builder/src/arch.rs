//! The GPU architectures that PTX can be compiled for.

use std::fmt;
use std::str::FromStr;

macro_rules! architectures {
    ($($(#[$attr:meta])* $variant:ident = $number:literal $(, $suffix:literal)?;)*) => {
        /// A virtual compute architecture (`compute_XX`). The architecture determines the features that the PTX can
        /// use, and therefore the oldest GPU that can run the PTX. When a driver loads the PTX, it compiles the PTX for
        /// its GPU.
        ///
        /// Compute capabilities and their features: CUDA C++ Programming Guide, "Compute
        /// Capabilities"; targets of PTX: PTX ISA §11.1.2, `.target`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(
                #[doc = concat!("`compute_", stringify!($number), $($suffix,)? "`")]
                $(#[$attr])*
                $variant,
            )*
        }

        impl NvvmArch {
            const TABLE: &'static [(NvvmArch, u32, &'static str)] =
                &[$((NvvmArch::$variant, $number, concat!($($suffix)?)),)*];
        }
    };
}

architectures! {
    Compute50 = 50;
    Compute52 = 52;
    Compute53 = 53;
    Compute60 = 60;
    Compute61 = 61;
    Compute62 = 62;
    Compute70 = 70;
    Compute72 = 72;
    #[default] Compute75 = 75;
    Compute80 = 80;
    Compute86 = 86;
    Compute87 = 87;
    Compute89 = 89;
    Compute90 = 90;
    Compute90a = 90, "a";
    Compute100 = 100;
    Compute100f = 100, "f";
    Compute100a = 100, "a";
    Compute103 = 103;
    Compute103f = 103, "f";
    Compute103a = 103, "a";
    Compute120 = 120;
    Compute120f = 120, "f";
    Compute120a = 120, "a";
    Compute121 = 121;
    Compute121f = 121, "f";
    Compute121a = 121, "a";
}

impl NvvmArch {
    /// Returns every supported architecture, oldest first.
    pub fn all() -> impl Iterator<Item = NvvmArch> {
        Self::TABLE.iter().map(|row| row.0)
    }

    /// Returns the compute capability times ten: 75 for `compute_75`, 90 for `compute_90a`.
    pub fn capability(self) -> u32 {
        self.row().1
    }

    /// Returns the name for `ptxas -arch` and LLVM's `-mcpu`: `sm_75`, `sm_90a`.
    pub fn sm(self) -> String {
        let (_, number, suffix) = self.row();
        format!("sm_{number}{suffix}")
    }

    /// Returns the features that upstream's compiler sets for this architecture. Code checks them with
    /// `cfg(target_feature = "compute_80")`. These are the features of all architectures without a suffix up to this
    /// one. If this architecture has a suffix, its feature is set too, as are the features of the family-specific
    /// architectures (`f`) of its major version up to this one.
    pub(crate) fn features(self) -> impl Iterator<Item = String> {
        let (_, number, suffix) = self.row();
        let is_set = move |&arch: &NvvmArch| match arch.row() {
            (_, other, "") => other <= number,
            (_, other, "f") => !suffix.is_empty() && other <= number && other / 10 == number / 10,
            _ => arch == self,
        };
        Self::all().filter(is_set).map(|arch| arch.to_string())
    }

    fn row(self) -> (NvvmArch, u32, &'static str) {
        *Self::TABLE.iter().find(|row| row.0 == self).expect("the macro writes one row for each variant")
    }
}

/// `compute_75`, as upstream and nvcc print it.
impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, number, suffix) = self.row();
        write!(f, "compute_{number}{suffix}")
    }
}

/// The error for a text that does not name an architecture that this crate knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown GPU architecture `{given}`: use one of {known}")]
pub struct ParseArchError {
    given: String,
    known: String,
}

/// Parses `compute_90`, `sm_90` and `90`, each with an optional suffix `a` or `f`.
impl FromStr for NvvmArch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, ParseArchError> {
        let bare = text.strip_prefix("compute_").or_else(|| text.strip_prefix("sm_")).unwrap_or(text);
        Self::TABLE.iter().find(|(_, number, suffix)| format!("{number}{suffix}") == bare).map(|row| row.0).ok_or_else(
            || ParseArchError {
                given: text.to_owned(),
                known: Self::all().map(Self::sm).collect::<Vec<_>>().join(", "),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_parses() {
        for arch in NvvmArch::all() {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(arch.sm().parse(), Ok(arch));
            assert_eq!(arch.sm()["sm_".len()..].parse(), Ok(arch));
        }
        assert_eq!(NvvmArch::default(), NvvmArch::Compute75);
    }

    #[test]
    fn features_match_upstream() {
        let features = |arch: NvvmArch| arch.features().collect::<Vec<_>>().join(" ");
        let old = "compute_50 compute_52 compute_53 compute_60 compute_61 compute_62 compute_70";
        assert_eq!(features(NvvmArch::Compute70), old);
        let hopper = format!("{old} compute_72 compute_75 compute_80 compute_86 compute_87 compute_89 compute_90");
        assert_eq!(features(NvvmArch::Compute90a), format!("{hopper} compute_90a"));
        let blackwell = format!("{hopper} compute_100 compute_100f compute_103");
        assert_eq!(features(NvvmArch::Compute103f), format!("{blackwell} compute_103f"));
        assert_eq!(features(NvvmArch::Compute103a), format!("{blackwell} compute_103f compute_103a"));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "sm_91".parse::<NvvmArch>().expect_err("sm_91 does not exist");
        assert!(error.to_string().contains("`sm_91`"), "{error}");
        assert!(error.to_string().contains("sm_90a"), "{error}");
    }
}
