//! The description of a ladder's rung, as data: a kernel, how it is launched, and what it teaches.
//!
//! The attribute [`macro@rung`] on a kernel writes its [`Rung`] next to it, and the host reads it from there, so a rung is
//! described in one place. This crate has no `std`: it also compiles for `nvptx64`, where the descriptions are unused
//! constants. It knows nothing of ladders and problems.
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;

mod entries;
mod launch;
pub mod pitfall;

pub use entries::Entries;
#[cfg(not(target_arch = "nvptx64"))]
pub use entries::{NotCompiled, dims, variant_in_words};
pub use launch::{DeviceProperties, LaunchRequest};
pub use pitfall::Pitfall;
pub use rung_macros::rung;

/// One step of a ladder: a kernel, how it is launched, and what it teaches.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of the rung and of its kernel.
    pub name: &'static str,
    /// The file with its device code, relative to the root of the repository: the `file!()` of that file.
    pub source: &'static str,
    /// The lesson that it teaches, in one line.
    pub lesson: &'static str,
    /// The name of the rung that it changes. Empty for the first rung of a ladder.
    pub after: &'static str,
    /// The names of the kernel's parameters: of buffers and numbers of the ladder.
    pub parameters: &'static [&'static str],
    /// The `.entry` points of the rung.
    pub entries: Entries,
    /// The default block.
    pub default_block: [u32; 3],
    /// The default block as a function of the shape, for rungs whose best block depends on it. For the ladder's
    /// default problem it equals [`Rung::default_block`].
    pub block_for: Option<ChooseBlock>,
    /// Whether the kernel supports no other block than [`Rung::block_for_shape`].
    pub fixed_block: bool,
    /// The elements that a thread takes, in each iteration if there are several.
    pub items_per_thread: u32,
    /// The number of bytes that rows of the inputs must be multiples of.
    pub row_bytes: u64,
    /// The rows of the boxes of a tensor map, for a variant and the name of the map's parameter. `None` for the number
    /// that the ladder gives the map.
    pub box_rows: fn(variant: &str, map: &str) -> Option<u32>,
    /// The grid of a launch.
    pub grid: fn(&LaunchRequest<'_>) -> [u32; 3],
    /// The bytes of dynamic shared memory of a block, for a variant.
    pub dynamic_shared: fn(block: [u32; 3], variant: &str) -> u32,
    /// Whether blocks wait for each other, so that all of them must be resident at the same time.
    pub blocks_wait: bool,
    /// Whether the rung overwrites its input, which is then restored before the next launch.
    pub in_place: bool,
    /// Whether it is a measure for the other rungs and not a solution: it moves the bytes without doing the work.
    pub is_bound: bool,
    /// Whether one launch computes the problem's whole result, while other rungs of its ladder leave a last step to
    /// the host.
    pub single_pass: bool,
    /// The speedup that the ladder's source text measured for it.
    pub published: Option<PublishedSpeedup>,
    /// The count that the source text gives for it, in words; empty if it gives none.
    pub published_count: &'static str,
}

/// A function from a shape to the best block for it.
pub type ChooseBlock = fn(shape: &[u64]) -> [u32; 3];

/// A speedup that the ladder's source text gives for a rung.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedSpeedup {
    /// The factor; below 1 the rung is slower.
    pub factor: f64,
    /// The rung that it is compared with.
    pub over: &'static str,
}

impl Rung {
    /// The defaults of most rungs. A description overrides the fields that differ.
    pub const USUAL: Self = Self {
        name: "",
        source: "",
        lesson: "",
        after: "",
        parameters: &[],
        entries: Entries::Any,
        default_block: [256, 1, 1],
        block_for: None,
        fixed_block: false,
        items_per_thread: 1,
        row_bytes: 1,
        box_rows: |_, _| None,
        grid: |launch| launch.line(),
        dynamic_shared: |_, _| 0,
        blocks_wait: false,
        in_place: false,
        is_bound: false,
        single_pass: false,
        published: None,
        published_count: "",
    };

    /// The default block for a problem of this shape.
    pub fn block_for_shape(&self, shape: &[u64]) -> [u32; 3] {
        self.block_for.map_or(self.default_block, |block_for| block_for(shape))
    }

    /// The only block that the rung supports for a problem of this shape. `None` if it supports others.
    pub fn only_block(&self, shape: &[u64]) -> Option<[u32; 3]> {
        self.fixed_block.then(|| self.block_for_shape(shape))
    }

    /// Whether it has entries for this variant of its ladder's computation.
    pub fn computes(&self, variant: &str) -> bool {
        self.entries.of(variant).is_some()
    }

    /// The name without the number at its end.
    pub fn family(&self) -> &'static str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_the_default_one_or_the_one_chosen_for_the_shape() {
        assert_eq!(Rung::USUAL.block_for_shape(&[7]), [256, 1, 1]);
        let choosy = Rung { block_for: Some(|shape| [shape[0] as u32, 1, 1]), ..Rung::USUAL };
        assert_eq!(choosy.block_for_shape(&[64]), [64, 1, 1]);
        assert_eq!(choosy.only_block(&[64]), None);
        let fixed = Rung { fixed_block: true, ..choosy };
        assert_eq!(fixed.only_block(&[64]), Some([64, 1, 1]));
    }
}
