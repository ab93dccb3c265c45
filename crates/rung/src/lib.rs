//! What a rung of a ladder is, as data: a kernel, how it is launched, and what it teaches.
//!
//! The device crate writes a [`Rung`] beside each kernel, and the host reads it from there, so a rung is described in
//! one place. That is why this crate has no dependencies and no `std`: it compiles for `nvptx64` as well, where the
//! descriptions are constants that nobody reads. It knows nothing of ladders, problems or devices.
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;

mod entries;
mod geometry;

pub use entries::{Entries, SharedMemory};
#[cfg(not(target_arch = "nvptx64"))]
pub use entries::{NotCompiled, dims, variant_in_words};
pub use geometry::{BlockCount, Geometry, MULTIPROCESSORS};

/// One step of a ladder: a kernel, how it is launched, and what it teaches.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of the rung and of its kernel.
    pub name: &'static str,
    /// The file with its device code, from the root of the repository: `file!()` there.
    pub source: &'static str,
    /// What it teaches, in one line.
    pub lesson: &'static str,
    /// The `.entry` points that it has.
    pub entries: Entries,
    /// How its blocks divide the problem.
    pub geometry: Geometry,
    /// The block where none is asked for.
    pub default_block: [u32; 3],
    /// The block where none is asked for, for rungs to which another suits other shapes better. It is the one of
    /// [`Rung::default_block`] for the ladder's default problem.
    pub choose: Option<ChooseBlock>,
    /// The shared memory that a block uses.
    pub shared: SharedMemory,
    /// Whether it destroys its input, which is then restored before the next launch.
    pub in_place: bool,
    /// Whether it is an upper bound and no solution: it moves the bytes and leaves out the work.
    pub is_bound: bool,
    /// Whether one launch gives the problem's whole result where other rungs of its ladder leave the rest to the host.
    pub single_pass: bool,
    /// Which arguments it takes.
    pub form: Form,
    /// What the text that the ladder comes from measured for it.
    pub published: Option<PublishedSpeedup>,
    /// What that text counted for it, in words; empty where it counted nothing.
    pub published_count: &'static str,
}

/// Which block suits a problem of a shape.
pub type ChooseBlock = fn(shape: &[u64]) -> [u32; 3];

/// Which arguments a rung takes, where they are not its ladder's usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// The usual arguments of its ladder.
    #[default]
    Usual,
    /// The second matrix lies column after column.
    ColumnMajor,
    /// The kernel adds to its output, which is zero before each launch.
    ZeroedOutput,
    /// Blocks pass something on to each other through a workspace, which is one more argument. It is zero before the
    /// first launch, and each launch leaves it so.
    Workspace,
}

/// A speedup that the text behind a ladder gives for a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedSpeedup {
    /// How many times faster; below 1, slower.
    pub factor: f64,
    /// Than which rung.
    pub over: &'static str,
}

impl Rung {
    /// What most rungs have; a description says what differs.
    pub const USUAL: Self = Self {
        name: "",
        source: "",
        lesson: "",
        entries: Entries::Any,
        geometry: Geometry::Line {
            items_per_thread: 1,
        },
        default_block: [256, 1, 1],
        choose: None,
        shared: SharedMemory::None,
        in_place: false,
        is_bound: false,
        single_pass: false,
        form: Form::Usual,
        published: None,
        published_count: "",
    };

    /// The block for a problem of this shape where none is asked for.
    pub fn block_for(&self, shape: &[u64]) -> [u32; 3] {
        self.choose
            .map_or(self.default_block, |choose| choose(shape))
    }

    /// Whether it has entries for a variant of its ladder's computation.
    pub fn computes(&self, variant: &str) -> bool {
        self.entries.of(variant).is_some()
    }

    /// The name without the number at its end.
    pub fn family(&self) -> &'static str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

/// Lists of rungs one behind the other, `N` rungs in all.
///
/// # Panics
/// When the lists have fewer or more rungs than `N`; in a constant, that is an error of compilation.
#[must_use]
pub const fn concat<const N: usize>(lists: &[&[Rung]]) -> [Rung; N] {
    let mut all = [Rung::USUAL; N];
    let (mut list, mut filled) = (0, 0);
    while list < lists.len() {
        let mut index = 0;
        while index < lists[list].len() {
            all[filled] = lists[list][index];
            filled += 1;
            index += 1;
        }
        list += 1;
    }
    assert!(filled == N, "the lists have `N` rungs together");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn named(name: &'static str) -> Rung {
        Rung {
            name,
            ..Rung::USUAL
        }
    }

    #[test]
    fn lists_are_joined_in_their_order() {
        const ALL: [Rung; 3] =
            concat(&[&[named("first")], &[], &[named("second"), named("third16")]]);
        assert_eq!(ALL.map(|rung| rung.family()), ["first", "second", "third"]);
    }

    #[test]
    fn the_block_is_the_default_one_or_the_one_chosen_for_the_shape() {
        assert_eq!(Rung::USUAL.block_for(&[7]), [256, 1, 1]);
        let choosy = Rung {
            choose: Some(|shape| [shape[0] as u32, 1, 1]),
            ..Rung::USUAL
        };
        assert_eq!(choosy.block_for(&[64]), [64, 1, 1]);
    }
}
