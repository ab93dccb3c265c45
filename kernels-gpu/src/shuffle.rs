//! Warp shuffles: each kernel performs one exchange within one warp and computes nothing.
//!
//! A shuffle lets a lane read a register of another lane in a few cycles, without memory or a barrier. There are four
//! modes. A lane specifies the lane to read by its number (`idx`), by the distance to a lower lane (`up`) or a higher
//! lane (`down`), or by the bits in which the two lanes' numbers differ (`xor`). A `width` divides the warp into
//! segments. A lane that would read outside its segment keeps its value.
//!
//! Every rung is one kernel in one file. The kernel reads the lanes' values and writes the value that each lane has
//! after the shuffle. Its parameters include the shuffle's argument and the width. Each rung has one entry point for
//! `i32` and one for `f32`, because a shuffle moves 32 bits of any type. The kernels follow *Warp Shuffle Instruction*,
//! an article based on *Professional CUDA C Programming* (Cheng, Grossman and McKercher, 2014). Their descriptions name
//! the article's sections.
//!
//! # Safety
//! For all kernels, the grid is a single one-dimensional block of at most 32 threads. `input` and `output` each point
//! to one value per thread (four for the array), in device memory that nothing else uses during the launch. `width` is
//! 1, 2, 4, 8, 16 or 32 and divides the number of threads.

use rung::Rung;

pub mod broadcast;
pub mod down;
pub mod up;
pub mod wrap;
pub mod wrap_back;
pub mod xor;
pub mod xor_array;

/// The rungs, in the order of the ladder.
pub const RUNGS: &[Rung] = &[
    broadcast::SHUFFLE_BROADCAST,
    up::SHUFFLE_UP,
    down::SHUFFLE_DOWN,
    wrap::SHUFFLE_WRAP,
    wrap_back::SHUFFLE_WRAP_BACK,
    xor::SHUFFLE_XOR,
    xor_array::SHUFFLE_XOR_ARRAY,
];
