//! What a warp shuffle does: each kernel is one exchange within one warp, and computes nothing.
//!
//! A shuffle lets a lane read a register of another lane: no memory, no barrier, a few cycles. The four modes differ
//! in how a lane finds the one to read: by number (`idx`), by a distance below (`up`) or above (`down`), or by
//! flipping bits of its own number (`xor`). A `width` divides the warp into segments; a lane that would have to read
//! outside its own keeps its value.
//!
//! Every kernel takes the lanes' values, writes what each lane has afterwards, and takes the shuffle's argument and
//! the width. Each is there for `i32` and for `f32`: a shuffle moves 32 bits, whatever they mean. The kernels follow
//! *Warp Shuffle Instruction*, an article after *Professional CUDA C Programming* (Cheng, Grossman and McKercher,
//! 2014), whose sections their descriptions name.
//!
//! # Safety
//! All kernels: one block of one dimension and at most 32 threads; `input` and `output` each point to a
//! value for each thread (four for the array), in device memory that nothing else uses during the
//! launch; `width` is 1, 2, 4, 8, 16 or 32 and divides the number of threads.

use core::array;

use cuda_std::thread;
use cuda_std::warp::{WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};
use rung::{Entries, Geometry, Rung};

use crate::warp::first_lanes;

/// How a lane finds the lane that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By number, within its segment.
    Idx,
    /// The lane that is the argument below.
    Up,
    /// The lane that is the argument above.
    Down,
    /// By the bits of its number that differ.
    Xor,
}

/// A rung, and what it shows: enough for the host to compute which lane's value each lane has afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Demonstration {
    /// The rung.
    pub rung: Rung,
    /// How its lanes find the lane to read.
    pub mode: Mode,
    /// The function of [`cuda_std::warp`].
    pub function: &'static str,
    /// The ladder's option whose value the kernel takes as its argument.
    pub option: &'static str,
    /// The argument that the mode gets, from a lane and the option's value.
    pub argument: fn(lane: u32, value: u32) -> u32,
    /// The text before the option's value where that argument is shown: `lane + `.
    pub written_before: &'static str,
    /// Values of a lane.
    pub registers: u32,
}

/// Registers of a lane in the array's demonstration.
const REGISTERS: usize = 4;

/// The values of a demonstration, unless its segments are wider.
const VALUES: u32 = 16;

/// A lane's one value, moved by the option's value: what the others differ from.
const PLAIN: Demonstration = Demonstration {
    rung: Rung::USUAL,
    mode: Mode::Idx,
    function: "",
    option: "delta",
    argument: |_, value| value,
    written_before: "",
    registers: 1,
};

/// The rungs, in the order in which they are climbed.
pub const RUNGS: &[Rung] = &{
    let mut all = [Rung::USUAL; DEMONSTRATIONS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = DEMONSTRATIONS[index].rung;
        index += 1;
    }
    all
};

/// Reads `N` neighbouring values of this lane, has them shuffled, and writes what came.
///
/// # Safety
/// As [`shuffle`](self) says; `exchange` is a shuffle of the lanes whose mask it is given.
#[inline(always)]
unsafe fn demonstrate<T: Copy, const N: usize>(input: *const T, output: *mut T, exchange: impl Fn(u32, u32, T) -> T) {
    let lane = thread::thread_idx_x();
    let mask = first_lanes(thread::block_dim_x());
    let first = lane as usize * N;
    // SAFETY: in bounds, and this thread's alone.
    unsafe {
        let values: [T; N] = array::from_fn(|i| *input.add(first + i));
        let values = values.map(|value| exchange(mask, lane, value));
        for (i, value) in values.into_iter().enumerate() {
            *output.add(first + i) = value;
        }
    }
}

/// Writes each demonstration's two kernels, and the list of them. A body is given the mask, the lane, its value, the
/// kernel's argument and the width, and gives the value it has afterwards. In braces stand the rung's lesson and what of
/// the description differs from [`PLAIN`].
macro_rules! demonstrations {
    ($(
        $(#[$doc:meta])*
        $name:ident($argument:ident, $registers:expr) = |$mask:ident, $lane:pat_param, $value:ident, $width:ident| $body:expr,
        { lesson: $lesson:literal, $($field:ident: $differs:expr),* $(,)? };
    )*) => {
        /// The demonstrations, in the order in which they are climbed.
        pub const DEMONSTRATIONS: &[Demonstration] = &[$(Demonstration {
            rung: Rung {
                name: stringify!($name),
                source: file!(),
                lesson: $lesson,
                entries: Entries::PerVariant(&[("i32", Entries::Any), ("f32", Entries::Any)]),
                geometry: Geometry::OneBlock {
                    items_per_thread: $registers as u32,
                },
                default_block: [VALUES / $registers as u32, 1, 1],
                ..Rung::USUAL
            },
            registers: $registers as u32,
            $($field: $differs,)*
            ..PLAIN
        }),*];
        $(
        demonstrations!(@type i32 [$(#[$doc])*] $name $argument $registers, $mask $lane, $value $width $body);
        demonstrations!(@type f32 [$(#[$doc])*] $name $argument $registers, $mask $lane, $value $width $body);
        )*
    };
    (@type $type:ident [$(#[$doc:meta])*] $name:ident $argument:ident $registers:expr,
     $mask:ident $lane:pat_param, $value:ident $width:ident $body:expr) => {
        pastey::paste! {
            $(#[$doc])*
            ///
            /// # Safety
            /// As [`shuffle`](self) says.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _ $type>](
                input: *const $type,
                output: *mut $type,
                $argument: u32,
                $width: u32,
            ) {
                // SAFETY: as the kernel's contract says; all threads of the block are here, with the mask of all.
                unsafe {
                    demonstrate::<$type, { $registers }>(input, output, |$mask, $lane, $value| value_of($body));
                }
            }
        }
    };
}

/// The value that a shuffle gives, without the flag that says whether it came from another lane.
#[inline(always)]
fn value_of<T: WarpShuffleValue>((value, _): (T, bool)) -> T {
    value
}

demonstrations! {
    /// Every lane reads lane `source` of its segment: one value for all. ("Broadcast of a Value across a Warp",
    /// `test_shfl_broadcast`.)
    shuffle_broadcast(source, 1) = |mask, _, value, width| warp_shuffle_idx(mask, value, source, width),
    {
        lesson: "every lane reads one lane: a value for all, without memory and without a barrier",
        function: "warp_shuffle_idx",
        option: "src",
    };

    /// Every lane reads the one `delta` below: values move up, and the first `delta` keep theirs, having nobody to
    /// read. ("Shift Up within a Warp", `test_shfl_up`.)
    shuffle_up(delta, 1) = |mask, _, value, width| warp_shuffle_up(mask, value, delta, width),
    {
        lesson: "every lane reads the one delta below it; the first ones keep their value",
        mode: Mode::Up,
        function: "warp_shuffle_up",
    };

    /// Every lane reads the one `delta` above: values move down, and the last `delta` keep theirs. ("Shift Down within
    /// a Warp", `test_shfl_down`.)
    shuffle_down(delta, 1) = |mask, _, value, width| warp_shuffle_down(mask, value, delta, width),
    {
        lesson: "every lane reads the one delta above it; the last ones keep their value",
        mode: Mode::Down,
        function: "warp_shuffle_down",
    };

    /// As `shuffle_down`, but around the end: every lane names the lane to read, its own number and `delta`, which is
    /// taken modulo the width. ("Shift within a Warp with Wrap Around", `test_shfl_warp` with a positive offset.)
    shuffle_wrap(delta, 1) = |mask, lane, value, width| {
        warp_shuffle_idx(mask, value, lane.wrapping_add(delta), width)
    },
    {
        lesson: "down and around the end: the lane to read is named by number, modulo the width",
        function: "warp_shuffle_idx",
        argument: |lane, delta| lane + delta,
        written_before: "lane + ",
    };

    /// As `shuffle_up`, but around the end. ("Shift within a Warp with Wrap Around", `test_shfl_warp` with a negative
    /// offset.)
    shuffle_wrap_back(delta, 1) = |mask, lane, value, width| {
        warp_shuffle_idx(mask, value, lane.wrapping_sub(delta), width)
    },
    {
        lesson: "up and around the end: the same with a negative distance",
        function: "warp_shuffle_idx",
        argument: |lane, delta| (32 + lane - delta) % 32,
        written_before: "lane - ",
    };

    /// Pairs of lanes swap: every lane reads the one whose number differs in the bits of `lane_mask`. The step of a
    /// reduction after which every lane has the result. ("Butterfly Exchange across the Warp", `test_shfl_xor`.)
    shuffle_xor(lane_mask, 1) = |mask, _, value, width| {
        warp_shuffle_xor(mask, value, lane_mask, width)
    },
    {
        lesson: "pairs of lanes swap: the butterfly's step, after which both have both values' result",
        mode: Mode::Xor,
        function: "warp_shuffle_xor",
        option: "mask",
    };

    /// The same with four registers a lane: four shuffles, which exchange four neighbouring values at a time. An array
    /// stays in registers where every index is known when the kernel is compiled. ("Exchange Values of an Array across
    /// a Warp", `test_shfl_xor_array`.)
    shuffle_xor_array(lane_mask, REGISTERS) = |mask, _, value, width| {
        warp_shuffle_xor(mask, value, lane_mask, width)
    },
    {
        lesson: "the same with an array of four registers a lane: four neighbouring values move together",
        mode: Mode::Xor,
        function: "warp_shuffle_xor",
        option: "mask",
    };
}
