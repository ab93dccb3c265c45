//! The changes that `ptxas` made, derived from the counts before and after.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{Accesses, Kind};

/// The change to the instructions of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Fewer instructions move the same number of bytes or more.
    Widened,
    /// More instructions move the same number of bytes.
    Split,
    /// Fewer instructions move fewer bytes: redundant accesses were removed, or common code of two paths was merged.
    Removed,
    /// More instructions move more bytes: code was duplicated, for example by unrolling a loop, or registers were
    /// spilled.
    Copied,
    /// The same number of instructions access the same sizes, but more or fewer of them are predicated rather than
    /// skipped by a branch.
    Predicated,
    /// An atomic operation whose result is unused becomes a reduction in the machine code.
    Resultless,
    /// An atomic operation on one word whose result is unused becomes a reduction by one lane of each warp.
    Elected,
    /// An atomic operation on shared memory that adds 1 becomes an instruction that counts lanes.
    Counted,
}

/// The change to one kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The kind of instruction.
    pub kind: Kind,
    /// The change.
    pub effect: Effect,
    /// The number in the PTX; for [`Effect::Predicated`], the number of predicated instructions.
    pub ptx: u32,
    /// The number in the machine code; for [`Effect::Predicated`], the number of predicated instructions.
    pub sass: u32,
}

/// The conversions of instructions by `ptxas`: the kind in the PTX, the kind in the machine code, and the effect.
const TURNS: [(Kind, Kind, Effect); 4] = [
    (Kind::Atom, Kind::Red, Effect::Resultless),
    (Kind::Atom, Kind::RedOfOne, Effect::Elected),
    (Kind::Red, Kind::RedOfOne, Effect::Elected),
    (Kind::Atoms, Kind::AtomsPopc, Effect::Counted),
];

impl Accesses {
    /// Returns the changes that `ptxas` made, kind by kind. Empty if the machine code has the same instructions as the
    /// PTX.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let turns = TURNS.into_iter().filter_map(|(from, to, effect)| {
            let count = self.turned(from, to);
            (count > 0).then_some(Change { kind: from, effect, ptx: count, sass: count })
        });
        let others = Kind::ALL.iter().filter_map(|&kind| self.change(kind));
        turns.chain(others).collect()
    }

    /// Returns the number of instructions of one kind in the PTX that have another kind in the machine code.
    fn turned(&self, from: Kind, to: Kind) -> u32 {
        let fewer = self.ptx.of(from).saturating_sub(self.sass.of(from));
        let more = self.sass.of(to).saturating_sub(self.ptx.of(to));
        fewer.min(more)
    }

    fn change(&self, kind: Kind) -> Option<Change> {
        let (mut ptx, mut is_turned) = (self.ptx.of(kind), false);
        for (from, to, _) in TURNS {
            let turned = self.turned(from, to);
            if kind == from {
                ptx -= turned;
            } else if kind == to {
                ptx += turned;
            }
            is_turned |= turned > 0 && [from, to].contains(&kind);
        }
        let sass = self.sass.of(kind);
        let bytes = self.sass.bytes(kind).cmp(&self.ptx.bytes(kind));
        let effect = match ptx.cmp(&sass) {
            std::cmp::Ordering::Equal => {
                let predicated = [self.ptx.predicated(kind), self.sass.predicated(kind)];
                // After a conversion, it is unknown which instructions are predicated.
                return (predicated[0] != predicated[1] && !is_turned).then_some(Change {
                    kind,
                    effect: Effect::Predicated,
                    ptx: predicated[0],
                    sass: predicated[1],
                });
            }
            std::cmp::Ordering::Greater if bytes.is_ge() => Effect::Widened,
            std::cmp::Ordering::Greater => Effect::Removed,
            std::cmp::Ordering::Less if bytes.is_eq() => Effect::Split,
            std::cmp::Ordering::Less => Effect::Copied,
        };
        Some(Change { kind, effect, ptx, sass })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, effect, ptx, sass } = self;
        let name = kind.name();
        match effect {
            Effect::Widened => write!(f, "{ptx} {name} of the PTX are {sass} wider ones in SASS"),
            Effect::Split => write!(f, "{ptx} {name} of the PTX are {sass} narrower ones in SASS"),
            Effect::Removed => {
                write!(f, "{} of the PTX's {ptx} {name} are not in SASS", ptx - sass)
            }
            Effect::Copied => {
                write!(f, "{ptx} {name} of the PTX are {sass} in SASS, copied or spilled")
            }
            Effect::Predicated => {
                write!(f, "{sass} {name} are predicated in SASS, {ptx} in the PTX: a branch became a predicate")
            }
            Effect::Resultless => {
                write!(f, "{ptx} atom of the PTX are RED in SASS: their results are not used")
            }
            Effect::Elected => {
                write!(f, "{ptx} {name} of the PTX are RED by one lane of each warp in SASS: all lanes change one word")
            }
            Effect::Counted => write!(
                f,
                "{ptx} ATOMS of the PTX are ATOMS.POPC.INC in SASS: lanes that add 1 to one word need one pass together"
            ),
        }
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
