//! The memory instructions of an entry in PTX, and in the SASS that `ptxas` generates. A comparison of both explains
//! why a hardware counter, which counts SASS, differs from a count of the PTX.
//!
//! Both counts are static: each instruction counts once, however often it is executed.

mod compare;
mod ptx;
mod sass;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

pub use self::ptx::{has_only_system_fences, of_ptx, waits};
pub use compare::{Change, Effect};
pub use sass::of_sass;

use crate::error::Error;
use crate::ptxas;
use crate::{Found, Tool};

/// Defines [`Kind`] from a list of kinds with their SASS names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The kind of a memory instruction, named after SASS.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the SASS name of the kind.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// `ld.global`.
    Ldg = "LDG",
    /// `st.global`.
    Stg = "STG",
    /// `ld.shared`.
    Lds = "LDS",
    /// `st.shared`.
    Sts = "STS",
    /// `cp.async`: from global to shared memory.
    Ldgsts = "LDGSTS",
    /// ATOMG or ATOM, `atom.global`: returns the previous value.
    Atom = "ATOM",
    /// REDG or RED, `red.global`, and an `atom.global` whose result is not used.
    Red = "RED",
    /// A RED by one elected lane for all lanes of the warp.
    RedOfOne = "RED by one lane",
    /// `atom.shared` and `red.shared`.
    Atoms = "ATOMS",
    /// An `atom.shared` that adds 1. Lanes that add to the same word are counted and added in one step.
    AtomsPopc = "ATOMS.POPC.INC",
    /// `ld.local`; in SASS also the reloads of spilled registers.
    Ldl = "LDL",
    /// `st.local`.
    Stl = "STL",
    /// `ld` without a state space.
    Ld = "LD",
    /// `st` without a state space.
    St = "ST",
}

/// A form of a memory instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The kind.
    pub kind: Kind,
    /// The number of bits that a thread accesses.
    pub bits: u32,
    /// Whether the instruction is predicated.
    pub predicated: bool,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let predicate = if self.predicated { "@P " } else { "" };
        write!(f, "{predicate}{}.{}", self.kind.name(), self.bits)
    }
}

impl Serialize for Access {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The number of instructions of each form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<Access, u32>);

impl Counts {
    fn add(&mut self, access: Access) {
        *self.0.entry(access).or_default() += 1;
    }

    /// Returns the forms that occur, with the number of instructions of each.
    pub fn iter(&self) -> impl Iterator<Item = (Access, u32)> {
        self.0.iter().map(|(&access, &count)| (access, count))
    }

    /// Returns the number of instructions of a kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> u32 {
        self.sum(kind, |_| 1)
    }

    /// Returns the number of predicated instructions of a kind.
    #[must_use]
    pub fn predicated(&self, kind: Kind) -> u32 {
        self.sum(kind, |access| u32::from(access.predicated))
    }

    /// Returns the number of bytes that a thread accesses if it executes each instruction of a kind once.
    #[must_use]
    pub fn bytes(&self, kind: Kind) -> u32 {
        self.sum(kind, |access| access.bits / 8)
    }

    fn sum(&self, kind: Kind, of: impl Fn(Access) -> u32) -> u32 {
        let accesses = self.iter().filter(|(access, _)| access.kind == kind);
        accesses.map(|(access, count)| count * of(access)).sum()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.iter().map(|(access, count)| format!("{count} {access}")).collect();
        f.write_str(&parts.join(", "))
    }
}

impl FromIterator<Access> for Counts {
    fn from_iter<I: IntoIterator<Item = Access>>(accesses: I) -> Self {
        let mut counts = Self::default();
        for access in accesses {
            counts.add(access);
        }
        counts
    }
}

/// An entry's memory instructions before and after `ptxas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// The counts in the PTX.
    pub ptx: Counts,
    /// The counts in the machine code.
    pub sass: Counts,
}

/// Counts an entry's memory instructions in a PTX text and in the machine code that `ptxas` generates from it for an
/// architecture.
///
/// # Errors
/// Returns the errors of [`ptxas::sass`], and [`Error::Unread`] when the PTX or the machine code does not contain the
/// entry.
pub fn of_entry(ptxas: &Found, nvdisasm: &Found, ptx: &str, entry: &str, arch: &str) -> Result<Accesses, Error> {
    let unread = |tool| Error::Unread { tool, what: format!("the entry {entry}") };
    let counted = of_ptx(ptx, entry).ok_or_else(|| unread(Tool::Ptxas))?;
    let code = ptxas::sass(ptxas, nvdisasm, ptx, entry, arch, false)?;
    Ok(Accesses { ptx: counted, sass: of_sass(&code, entry).ok_or_else(|| unread(Tool::Nvdisasm))? })
}

#[cfg(test)]
mod tests;
