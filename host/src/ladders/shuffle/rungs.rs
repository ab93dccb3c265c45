//! The demonstrations: what the kernels are, and what of the model each of them is.

use kernels_gpu::shuffle::REGISTERS;

use super::model::Mode;
use engine::launch::Geometry;
use engine::registry::{Entries, Rung};

/// What a rung shows.
pub(super) struct Demonstration {
    /// How its lanes find the lane to read.
    pub(super) mode: Mode,
    /// The function of `cuda_std::warp`.
    pub(super) function: &'static str,
    /// The option that is its argument.
    pub(super) option: &'static str,
    /// The mode's argument, from a lane and the option's value.
    pub(super) argument: fn(u32, u32) -> u32,
    /// That argument in words: `lane + 2`.
    pub(super) written: fn(u32) -> String,
    /// Values of a lane.
    pub(super) registers: u32,
}

const ONE: Demonstration = Demonstration {
    mode: Mode::Idx,
    function: "",
    option: "delta",
    argument: |_, value| value,
    written: |value| value.to_string(),
    registers: 1,
};

const RUNG: Rung = Rung {
    source: "kernels-gpu/src/shuffle.rs",
    entries: Entries::PerVariant(&[("i32", Entries::Any), ("f32", Entries::Any)]),
    geometry: Geometry::OneBlock { each: 1 },
    default_block: [16, 1, 1],
    ..Rung::USUAL
};

/// The demonstrations, each beside its rung in [`RUNGS`].
pub(super) const DEMONSTRATIONS: [Demonstration; 7] = [
    Demonstration {
        mode: Mode::Idx,
        function: "warp_shuffle_idx",
        option: "src",
        ..ONE
    },
    Demonstration {
        mode: Mode::Up,
        function: "warp_shuffle_up",
        ..ONE
    },
    Demonstration {
        mode: Mode::Down,
        function: "warp_shuffle_down",
        ..ONE
    },
    Demonstration {
        function: "warp_shuffle_idx",
        argument: |lane, delta| lane + delta,
        written: |delta| format!("lane + {delta}"),
        ..ONE
    },
    Demonstration {
        function: "warp_shuffle_idx",
        argument: |lane, delta| (32 + lane - delta) % 32,
        written: |delta| format!("lane - {delta}"),
        ..ONE
    },
    Demonstration {
        mode: Mode::Xor,
        function: "warp_shuffle_xor",
        option: "mask",
        ..ONE
    },
    Demonstration {
        mode: Mode::Xor,
        function: "warp_shuffle_xor",
        option: "mask",
        registers: REGISTERS as u32,
        ..ONE
    },
];

pub(super) const RUNGS: &[Rung; 7] = &[
    Rung {
        name: "shuffle_broadcast",
        lesson: "every lane reads one lane: a value for all, without memory and without a barrier",
        ..RUNG
    },
    Rung {
        name: "shuffle_up",
        lesson: "every lane reads the one delta below it; the first ones keep their value",
        ..RUNG
    },
    Rung {
        name: "shuffle_down",
        lesson: "every lane reads the one delta above it; the last ones keep their value",
        ..RUNG
    },
    Rung {
        name: "shuffle_wrap",
        lesson: "down and around the end: the lane to read is named by number, modulo the width",
        ..RUNG
    },
    Rung {
        name: "shuffle_wrap_back",
        lesson: "up and around the end: the same with a negative distance",
        ..RUNG
    },
    Rung {
        name: "shuffle_xor",
        lesson: "pairs of lanes swap: the butterfly's step, after which both have both values' result",
        ..RUNG
    },
    Rung {
        name: "shuffle_xor_array",
        lesson: "the same with an array of four registers a lane: four neighbouring values move together",
        geometry: Geometry::OneBlock {
            each: REGISTERS as u32,
        },
        default_block: [4, 1, 1],
        ..RUNG
    },
];
