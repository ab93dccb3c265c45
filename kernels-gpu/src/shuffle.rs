//! What a warp shuffle does, to look at: one warp or less, one exchange, nothing computed.
//!
//! A shuffle lets a lane read a register of another lane: no memory, no barrier, a few cycles. The four
//! modes differ in how a lane finds the one to read: by number (`idx`), so many below (`up`), so many
//! above (`down`), or by flipping bits of its own number (`xor`). A `width` divides the warp into
//! segments; a lane that would have to read outside its own keeps its value.
//!
//! Every kernel takes the lanes' values, writes what each lane has afterwards, and takes the shuffle's
//! argument and the width. Each is there for `i32` and for `f32`: a shuffle moves 32 bits and does not ask
//! what they are.
//!
//! # Safety
//! All kernels: one block of one dimension and at most 32 threads; `input` and `output` each point to a
//! value for each thread (four for the array), in device memory that nothing else uses during the
//! launch; `width` is 1, 2, 4, 8, 16 or 32 and divides the number of threads.

use core::array;

use cuda_std::thread;
use cuda_std::warp::{
    WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};

use crate::warp::first_lanes;

/// Registers of a lane in the array's demonstration.
pub const REGISTERS: usize = 4;

/// Reads `N` neighbouring values of this lane, has them shuffled, and writes what came.
///
/// # Safety
/// As [`shuffle`](self) says; `exchange` is a shuffle of the lanes whose mask it is given.
#[inline(always)]
unsafe fn demonstrate<T: Copy, const N: usize>(
    input: *const T,
    output: *mut T,
    exchange: impl Fn(u32, u32, T) -> T,
) {
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

/// Writes a demonstration's two kernels. Its body is given the mask, the lane, its value, the kernel's
/// argument and the width, and gives the value it has afterwards.
macro_rules! demonstrations {
    ($(
        $(#[$doc:meta])*
        $name:ident($argument:ident, $registers:expr) = |$mask:ident, $lane:pat_param, $value:ident, $width:ident| $body:expr;
    )*) => {$(
        demonstrations!(@type i32 [$(#[$doc])*] $name $argument $registers, $mask $lane, $value $width $body);
        demonstrations!(@type f32 [$(#[$doc])*] $name $argument $registers, $mask $lane, $value $width $body);
    )*};
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
                // SAFETY: the kernel's contract; all threads of the block are here, with the mask of all.
                unsafe {
                    demonstrate::<$type, { $registers }>(input, output, |$mask, $lane, $value| moved($body));
                }
            }
        }
    };
}

/// The value of a shuffle, without whether it came from another lane.
#[inline(always)]
fn moved<T: WarpShuffleValue>((value, _): (T, bool)) -> T {
    value
}

demonstrations! {
    /// Every lane reads lane `source` of its segment: one value for all. (Seed: `test_shfl_broadcast`.)
    shuffle_broadcast(source, 1) = |mask, _, value, width| warp_shuffle_idx(mask, value, source, width);

    /// Every lane reads the one `delta` below: values move up, and the first `delta` keep theirs, having
    /// nobody to read. (Seed: `test_shfl_up`.)
    shuffle_up(delta, 1) = |mask, _, value, width| warp_shuffle_up(mask, value, delta, width);

    /// Every lane reads the one `delta` above: values move down, and the last `delta` keep theirs. (Seed:
    /// `test_shfl_down`.)
    shuffle_down(delta, 1) = |mask, _, value, width| warp_shuffle_down(mask, value, delta, width);

    /// As `shuffle_down`, but around the end: every lane names the lane to read, its own number and
    /// `delta`, which is taken modulo the width. (Seed: `test_shfl_warp` with a positive offset.)
    shuffle_wrap(delta, 1) = |mask, lane, value, width| {
        warp_shuffle_idx(mask, value, lane.wrapping_add(delta), width)
    };

    /// As `shuffle_up`, but around the end. (Seed: `test_shfl_warp` with a negative offset.)
    shuffle_wrap_back(delta, 1) = |mask, lane, value, width| {
        warp_shuffle_idx(mask, value, lane.wrapping_sub(delta), width)
    };

    /// Pairs of lanes swap: every lane reads the one whose number differs in the bits of `lane_mask`. The
    /// step of a reduction after which every lane has the result. (Seed: `test_shfl_xor`.)
    shuffle_xor(lane_mask, 1) = |mask, _, value, width| {
        warp_shuffle_xor(mask, value, lane_mask, width)
    };

    /// The same with four registers a lane: four shuffles, which exchange four neighbouring values at a
    /// time. An array stays in registers where every index is known when the kernel is compiled. (Seed:
    /// `test_shfl_xor_array`.)
    shuffle_xor_array(lane_mask, REGISTERS) = |mask, _, value, width| {
        warp_shuffle_xor(mask, value, lane_mask, width)
    };
}
