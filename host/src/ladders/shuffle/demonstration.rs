//! The demonstration of each rung, with the data that determine which lane's value each lane holds after the shuffle.

use engine::registry::Rung;

use super::model::Mode;

/// The shuffle that a rung demonstrates.
#[derive(Debug)]
pub(super) struct Demonstration {
    /// The name of the rung.
    rung: &'static str,
    /// The function of `cuda_std::warp` that the kernel calls.
    pub(super) function: &'static str,
    /// How a lane of the kernel finds the lane to read.
    pub(super) mode: Mode,
    /// The ladder's option that sets the kernel's argument.
    pub(super) option: &'static str,
    /// Returns the argument of the shuffle for a lane and the option's value.
    pub(super) argument: fn(lane: u32, value: u32) -> u32,
    /// The text before the option's value in a picture: `lane + `.
    pub(super) written_before: &'static str,
}

impl Demonstration {
    /// Returns the demonstration of a rung of this ladder.
    pub(super) fn of(rung: &Rung) -> &'static Self {
        let found = DEMONSTRATIONS.iter().find(|demonstration| demonstration.rung == rung.name);
        found.expect("every rung of the ladder has a demonstration")
    }
}

/// The demonstrations of all rungs.
const DEMONSTRATIONS: &[Demonstration] = &[
    Demonstration {
        rung: "shuffle_broadcast",
        function: "warp_shuffle_idx",
        mode: Mode::Idx,
        option: "src",
        argument: |_, source| source,
        written_before: "",
    },
    Demonstration {
        rung: "shuffle_up",
        function: "warp_shuffle_up",
        mode: Mode::Up,
        option: "delta",
        argument: |_, delta| delta,
        written_before: "",
    },
    Demonstration {
        rung: "shuffle_down",
        function: "warp_shuffle_down",
        mode: Mode::Down,
        option: "delta",
        argument: |_, delta| delta,
        written_before: "",
    },
    Demonstration {
        rung: "shuffle_wrap",
        function: "warp_shuffle_idx",
        mode: Mode::Idx,
        option: "delta",
        argument: |lane, delta| lane + delta,
        written_before: "lane + ",
    },
    Demonstration {
        rung: "shuffle_wrap_back",
        function: "warp_shuffle_idx",
        mode: Mode::Idx,
        option: "delta",
        argument: |lane, delta| (32 + lane - delta) % 32,
        written_before: "lane - ",
    },
    Demonstration {
        rung: "shuffle_xor",
        function: "warp_shuffle_xor",
        mode: Mode::Xor,
        option: "mask",
        argument: |_, lane_mask| lane_mask,
        written_before: "",
    },
    Demonstration {
        rung: "shuffle_xor_array",
        function: "warp_shuffle_xor",
        mode: Mode::Xor,
        option: "mask",
        argument: |_, lane_mask| lane_mask,
        written_before: "",
    },
];
