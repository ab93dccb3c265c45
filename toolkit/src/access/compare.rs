//! What `ptxas` did, read from the counts before and after.

use std::fmt;

use serde::{Serialize, Serializer};

use super::{Accesses, Kind};

/// What became of the instructions of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Fewer instructions move the same bytes.
    Widened,
    /// More instructions move the same bytes.
    Split,
    /// There are fewer, and they move less: what gave nothing new was left out, or code that two paths had in
    /// common was merged.
    Removed,
    /// There are more, and they move more: code was copied, as by unrolling a loop, or moved out of registers.
    Copied,
    /// As many move as much, and another number of them is predicated instead of branched around.
    Predicated,
    /// An atomic operation whose result nobody reads is a reduction in the machine code.
    Resultless,
}

/// What became of one kind of instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Which instructions.
    pub kind: Kind,
    /// What became of them.
    pub effect: Effect,
    /// How many there are in the PTX; those that are predicated, for [`Effect::Predicated`].
    pub ptx: u32,
    /// How many there are in the machine code, or are predicated there.
    pub sass: u32,
}

const KINDS: [Kind; 12] = [
    Kind::Ldg,
    Kind::Stg,
    Kind::Lds,
    Kind::Sts,
    Kind::Ldgsts,
    Kind::Atom,
    Kind::Red,
    Kind::Atoms,
    Kind::Ldl,
    Kind::Stl,
    Kind::Ld,
    Kind::St,
];

impl Accesses {
    /// What `ptxas` changed, kind by kind; empty where the machine code has the PTX's instructions one to one.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let moved = self.resultless();
        if moved > 0 {
            changes.push(Change {
                kind: Kind::Atom,
                effect: Effect::Resultless,
                ptx: moved,
                sass: moved,
            });
        }
        changes.extend(
            KINDS
                .into_iter()
                .filter_map(|kind| self.change(kind, moved)),
        );
        changes
    }

    /// How many `atom` of the PTX are RED in the machine code.
    fn resultless(&self) -> u32 {
        let fewer = self
            .ptx
            .of(Kind::Atom)
            .saturating_sub(self.sass.of(Kind::Atom));
        let more = self
            .sass
            .of(Kind::Red)
            .saturating_sub(self.ptx.of(Kind::Red));
        fewer.min(more)
    }

    fn change(&self, kind: Kind, moved: u32) -> Option<Change> {
        let ptx = match kind {
            Kind::Atom => self.ptx.of(kind) - moved,
            Kind::Red => self.ptx.of(kind) + moved,
            _ => self.ptx.of(kind),
        };
        let sass = self.sass.of(kind);
        let bytes = self.sass.bytes(kind).cmp(&self.ptx.bytes(kind));
        let effect = match ptx.cmp(&sass) {
            std::cmp::Ordering::Equal => {
                let predicated = [self.ptx.predicated(kind), self.sass.predicated(kind)];
                // Which of the moved ones are predicated is not known.
                let of_moved = moved > 0 && matches!(kind, Kind::Atom | Kind::Red);
                return (predicated[0] != predicated[1] && !of_moved).then_some(Change {
                    kind,
                    effect: Effect::Predicated,
                    ptx: predicated[0],
                    sass: predicated[1],
                });
            }
            std::cmp::Ordering::Greater if bytes.is_eq() => Effect::Widened,
            std::cmp::Ordering::Greater => Effect::Removed,
            std::cmp::Ordering::Less if bytes.is_eq() => Effect::Split,
            std::cmp::Ordering::Less => Effect::Copied,
        };
        Some(Change {
            kind,
            effect,
            ptx,
            sass,
        })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            effect,
            ptx,
            sass,
        } = self;
        let name = kind.name();
        match effect {
            Effect::Widened => write!(f, "{ptx} {name} of the PTX are {sass} wider ones in SASS"),
            Effect::Split => write!(
                f,
                "{ptx} {name} of the PTX are {sass} narrower ones in SASS"
            ),
            Effect::Removed => write!(
                f,
                "{} of the PTX's {ptx} {name} are not in SASS",
                ptx - sass
            ),
            Effect::Copied => write!(
                f,
                "{ptx} {name} of the PTX are {sass} in SASS, copied or spilled"
            ),
            Effect::Predicated => write!(
                f,
                "{sass} {name} are predicated in SASS, {ptx} in the PTX: a branch became a predicate"
            ),
            Effect::Resultless => write!(
                f,
                "{ptx} atom of the PTX are RED in SASS: their results are not used"
            ),
        }
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
