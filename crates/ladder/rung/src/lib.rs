//! The description of a ladder's rung, as data: a kernel, its launch, and its lesson.
//!
//! The attribute [`macro@rung`] on a kernel generates a [`Rung`] constant next to the kernel, and the host reads this
//! constant. A rung is thus described in a single place. This crate has no `std`: it also compiles for `nvptx64`, where
//! the descriptions are unused constants. The crate does not depend on ladders or problems.
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

/// One step of a ladder: a kernel, its launch, and its lesson.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of the rung and of its kernel.
    pub name: &'static str,
    /// The file that contains the rung's device code, relative to the root of the repository: the `file!()` of that
    /// file.
    pub source: &'static str,
    /// The lesson of the rung, in one line.
    pub lesson: &'static str,
    /// The name of the rung that this rung changes. Empty for the first rung of a ladder.
    pub after: &'static str,
    /// The names of the kernel's parameters, which are buffers and numbers of the ladder.
    pub parameters: &'static [&'static str],
    /// The `.entry` points of the rung.
    pub entries: Entries,
    /// The default block.
    pub default_block: [u32; 3],
    /// The default block as a function of the shape, for rungs whose best block depends on the shape. For the ladder's
    /// default problem, the function returns [`Rung::default_block`].
    pub block_for: Option<ChooseBlock>,
    /// Whether the kernel supports only the block [`Rung::block_for_shape`].
    pub fixed_block: bool,
    /// The number of elements per thread, or per thread and iteration if a thread makes several iterations.
    pub items_per_thread: u32,
    /// The size of each input row must be a multiple of this number of bytes.
    pub row_bytes: u64,
    /// Returns the number of rows in a tensor map's boxes, for a variant and the name of the map's parameter. `None`
    /// selects the ladder's default.
    pub box_rows: fn(variant: &str, map: &str) -> Option<u32>,
    /// Returns the grid of a launch.
    pub grid: fn(&LaunchRequest<'_>) -> [u32; 3],
    /// Returns the bytes of dynamic shared memory per block, for a variant.
    pub dynamic_shared: fn(block: [u32; 3], variant: &str) -> u32,
    /// Whether blocks wait for each other, so that all of them must be resident at the same time.
    pub blocks_wait: bool,
    /// Whether the rung overwrites its input, which must then be restored before the next launch.
    pub in_place: bool,
    /// Whether the rung is a bound for the other rungs instead of a solution: the rung moves the bytes without doing
    /// the work.
    pub is_bound: bool,
    /// Whether one launch computes the whole result, while other rungs of the ladder leave a last step to the host.
    pub single_pass: bool,
    /// The speedup of the rung that the ladder's source text reports.
    pub published: Option<PublishedSpeedup>,
    /// The count for the rung that the source text reports, in words. Empty if the text reports no count.
    pub published_count: &'static str,
}

/// A function from a shape to the best block for it.
pub type ChooseBlock = fn(shape: &[u64]) -> [u32; 3];

/// A speedup of a rung that the ladder's source text reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedSpeedup {
    /// The speedup as a factor. Below 1, the rung is slower.
    pub factor: f64,
    /// The rung that the speedup is relative to.
    pub over: &'static str,
}

impl Rung {
    /// The defaults for most rungs. A description overrides the fields that differ.
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

    /// Returns the default block for a problem of this shape.
    pub fn block_for_shape(&self, shape: &[u64]) -> [u32; 3] {
        self.block_for.map_or(self.default_block, |block_for| block_for(shape))
    }

    /// Returns the only block that the rung supports for a problem of this shape, or `None` if the rung supports
    /// several blocks.
    pub fn only_block(&self, shape: &[u64]) -> Option<[u32; 3]> {
        self.fixed_block.then(|| self.block_for_shape(shape))
    }

    /// Returns whether the rung has entries for this variant of the ladder's computation.
    pub fn computes(&self, variant: &str) -> bool {
        self.entries.of(variant).is_some()
    }

    /// Returns the rung's name without the number at its end.
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
