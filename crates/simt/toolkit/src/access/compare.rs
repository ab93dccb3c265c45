//! The changes that `ptxas` made, derived from the counts before and after.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{Accesses, Kind};

/// The change to the instructions of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Fewer instructions move the same bytes, or more.
    Widened,
    /// More instructions move the same bytes.
    Split,
    /// There are fewer, and they move less: what gave nothing new was left out, or code that two paths had in
    /// common was merged.
    Removed,
    /// There are more, and they move more: code was copied, as by unrolling a loop, or moved out of registers.
    Copied,
    /// Equally many instructions access the same sizes, but another number of them is predicated instead of branched
    /// around.
    Predicated,
    /// An atomic operation whose result nobody reads is a reduction in the machine code.
    Resultless,
    /// An atomic operation on one word, whose result nobody reads, is a reduction by one lane of each warp.
    Elected,
    /// An atomic operation on shared memory that adds 1 is one of those that count lanes.
    Counted,
}

/// The change to one kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The kind of instruction.
    pub kind: Kind,
    /// The change.
    pub effect: Effect,
    /// Their number in the PTX; for [`Effect::Predicated`], the number of predicated ones.
    pub ptx: u32,
    /// Their number in the machine code; for [`Effect::Predicated`], the number of predicated ones.
    pub sass: u32,
}

/// The effect when instructions of the first kind become instructions of the second in the machine code.
const TURNS: [(Kind, Kind, Effect); 4] = [
    (Kind::Atom, Kind::Red, Effect::Resultless),
    (Kind::Atom, Kind::RedOfOne, Effect::Elected),
    (Kind::Red, Kind::RedOfOne, Effect::Elected),
    (Kind::Atoms, Kind::AtomsPopc, Effect::Counted),
];

impl Accesses {
    /// The changes that `ptxas` made, kind by kind; empty when the machine code has the PTX's instructions one to one.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let turns = TURNS.into_iter().filter_map(|(from, to, effect)| {
            let count = self.turned(from, to);
            (count > 0).then_some(Change { kind: from, effect, ptx: count, sass: count })
        });
        let others = Kind::ALL.iter().filter_map(|&kind| self.change(kind));
        turns.chain(others).collect()
    }

    /// The number of instructions of one kind in the PTX that are of another kind in the machine code.
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
                // It is not known which of them are predicated.
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
