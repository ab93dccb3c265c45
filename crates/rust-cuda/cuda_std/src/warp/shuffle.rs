//! Shuffles: each lane reads another lane's register (PTX ISA §9.7.9.6, `shfl.sync`).

use crate::gpu_only;

#[cfg(target_arch = "nvptx64")]
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.shfl.sync.up.i32p"]
    fn llvm_shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.down.i32p"]
    fn llvm_shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32p"]
    fn llvm_shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32p"]
    fn llvm_shfl_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> (u32, bool);
}

/// How a shuffle finds its source lane.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// The lane a given distance below the calling lane: [`warp_shuffle_up`].
    Up,
    /// The lane a given distance above the calling lane: [`warp_shuffle_down`].
    Down,
    /// The lane with a given index: [`warp_shuffle_idx`].
    Idx,
    /// The lane whose index is the exclusive or of the calling lane's index and a mask: [`warp_shuffle_xor`].
    Xor,
}

/// Defines the four shuffles. Their documentation differs only in the first lines.
macro_rules! shuffles {
    ($($name:ident($arg:ident) = $mode:ident, $ptx:literal, $summary:literal;)*) => {$(
        #[doc = $summary]
        ///
        /// The warp is divided into segments of `width` lanes (1, 2, 4, 8, 16 or 32). A lane reads only from its
        /// segment.
        ///
        /// Returns the source lane's value, and whether the source lane is in the segment. If the source lane is
        /// outside the segment, the returned value is the calling lane's. If the source lane is in the segment but not
        /// in `mask`, the returned value is unspecified.
        ///
        #[doc = concat!("One `shfl.sync.", $ptx, ".b32` (PTX ISA §9.7.9.6) for each 32 bits of `T`.")]
        /// A constant `width` adds no instructions, and the `bool` costs nothing.
        ///
        /// # Panics
        /// Panics if `width` is not one of these six values. On the GPU, the panic is a trap. A constant `width` is
        /// checked at compile time and generates no code.
        ///
        /// # Safety
        /// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
        /// All lanes in `mask` must make this call with the same `mask`.
        #[inline(always)]
        pub unsafe fn $name<T: WarpShuffleValue>(mask: u32, value: T, $arg: u32, width: u32) -> (T, bool) {
            // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
            unsafe { T::shuffle(WarpShuffleMode::$mode, mask, value, $arg, width) }
        }
    )*};
}

shuffles! {
    warp_shuffle_up(delta) = Up, "up",
        "Reads `value` from the lane `delta` below this one. Values move up, as in each step of a scan.";
    warp_shuffle_down(delta) = Down, "down",
        "Reads `value` from the lane `delta` above this one. Values move down, as in each step \
         of a reduction into the first lane.";
    warp_shuffle_idx(idx) = Idx, "idx",
        "Reads `value` from lane `idx` modulo `width` of this lane's segment: a broadcast.";
    warp_shuffle_xor(lane_mask) = Xor, "bfly",
        "Reads `value` from lane `lane_id ^ lane_mask`. Pairs of lanes swap values, as in each step of a \
         reduction into every lane. (A source lane above the segment counts as outside; for a source lane below the \
         segment, the hardware reads the lower segment.)";
}

/// A value that a shuffle can move: integers of 8 to 128 bits, `f32`, `f64`, `f16` and `bf16`.
pub trait WarpShuffleValue: Sized {
    /// Executes the shuffle of kind `mode` with its argument `b`. Kernels call the functions of this module instead;
    /// `mode` should be a constant.
    ///
    /// # Safety
    /// The caller must ensure that the calling lane is in `mask` and that no lane in `mask` has exited.
    /// All lanes in `mask` must make this call with the same `mask`.
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool);
}

/// Returns the third operand of `shfl`. Bits 8 to 12 select the bits of the lane index that stay fixed (the segment).
/// Bits 0 to 4 are the last lane of the segment that can be read. `up` compares with the *first* lane, so its clamp is
/// 0.
#[cfg(any(target_arch = "nvptx64", test))]
#[inline(always)]
const fn segment(mode: WarpShuffleMode, width: u32) -> u32 {
    assert!(width.is_power_of_two() && width <= 32, "the width of a warp shuffle must be 1, 2, 4, 8, 16 or 32");
    let clamp = match mode {
        WarpShuffleMode::Up => 0,
        WarpShuffleMode::Down | WarpShuffleMode::Idx | WarpShuffleMode::Xor => 0x1f,
    };
    ((32 - width) << 8) | clamp
}

#[gpu_only]
#[inline(always)]
unsafe fn warp_shuffle_32(mode: WarpShuffleMode, mask: u32, value: u32, b: u32, width: u32) -> (u32, bool) {
    let c = segment(mode, width);
    // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
    unsafe {
        match mode {
            WarpShuffleMode::Up => llvm_shfl_up(mask, value, b, c),
            WarpShuffleMode::Down => llvm_shfl_down(mask, value, b, c),
            WarpShuffleMode::Idx => llvm_shfl_idx(mask, value, b, c),
            WarpShuffleMode::Xor => llvm_shfl_bfly(mask, value, b, c),
        }
    }
}

/// Defines the shuffle of a word as shuffles of its two halves.
macro_rules! by_halves {
    ($($name:ident: $word:ident = $half:ident of $bits:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(mode: WarpShuffleMode, mask: u32, value: $word, b: u32, width: u32) -> ($word, bool) {
            // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
            let ((low, in_segment), (high, _)) = unsafe {
                (
                    $half(mode, mask, value as $bits, b, width),
                    $half(mode, mask, (value >> $bits::BITS) as $bits, b, width),
                )
            };
            ($word::from(high) << $bits::BITS | $word::from(low), in_segment)
        }
    )*};
}

by_halves! {
    warp_shuffle_64: u64 = warp_shuffle_32 of u32;
    warp_shuffle_128: u128 = warp_shuffle_64 of u64;
}

/// Implements the trait for a type, given the function that moves its bits and the conversions to and from bits.
macro_rules! impl_shuffle {
    ($($type:ty: $shuffle:ident, $to:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            unsafe fn shuffle(
                mode: WarpShuffleMode,
                mask: u32,
                value: Self,
                b: u32,
                width: u32,
            ) -> (Self, bool) {
                // SAFETY: the caller ensures that every lane in `mask` makes this call with the same `mask`.
                let (bits, in_segment) = unsafe { $shuffle(mode, mask, $to(value), b, width) };
                ($from(bits), in_segment)
            }
        }
    )*};
}

impl_shuffle! {
    i8: warp_shuffle_32, |v| v as u32, |bits| bits as i8;
    u8: warp_shuffle_32, |v| v as u32, |bits| bits as u8;
    i16: warp_shuffle_32, |v| v as u32, |bits| bits as i16;
    u16: warp_shuffle_32, |v| v as u32, |bits| bits as u16;
    i32: warp_shuffle_32, |v| v as u32, |bits| bits as i32;
    u32: warp_shuffle_32, |v| v, |bits| bits;
    f32: warp_shuffle_32, f32::to_bits, f32::from_bits;
    i64: warp_shuffle_64, |v| v as u64, |bits| bits as i64;
    u64: warp_shuffle_64, |v| v, |bits| bits;
    f64: warp_shuffle_64, f64::to_bits, f64::from_bits;
    i128: warp_shuffle_128, |v| v as u128, |bits| bits as i128;
    u128: warp_shuffle_128, |v| v, |bits| bits;
}

#[cfg(feature = "half")]
impl_shuffle! {
    half::f16: warp_shuffle_32, |v: Self| v.to_bits().into(), |bits| Self::from_bits(bits as u16);
    half::bf16: warp_shuffle_32, |v: Self| v.to_bits().into(), |bits| Self::from_bits(bits as u16);
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::{WarpShuffleMode, segment};

    /// Returns the source lane of `shfl` and whether it is in range, as PTX ISA §9.7.9.6 defines it.
    fn source_lane(mode: WarpShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
        let (bval, cval, segmask) = (b & 0x1f, c & 0x1f, (c >> 8) & 0x1f);
        let max_lane = (lane & segmask) | (cval & !segmask);
        let min_lane = lane & segmask;
        let (j, in_range) = match mode {
            WarpShuffleMode::Up => {
                let j = lane as i32 - bval as i32;
                (j, j >= max_lane as i32)
            }
            WarpShuffleMode::Down => ((lane + bval) as i32, lane + bval <= max_lane),
            WarpShuffleMode::Xor => ((lane ^ bval) as i32, lane ^ bval <= max_lane),
            WarpShuffleMode::Idx => {
                let j = min_lane | (bval & !segmask);
                (j as i32, j <= max_lane)
            }
        };
        (if in_range { j as u32 } else { lane }, in_range)
    }

    #[test]
    fn every_width_keeps_lanes_in_their_segment() {
        for width in [1, 2, 4, 8, 16, 32] {
            for lane in 0..32 {
                let (first, place) = (lane - lane % width, lane % width);
                for b in 0..32 {
                    let read = |mode| source_lane(mode, lane, b, segment(mode, width));
                    let unchanged = (lane, false);
                    let from_below = if b <= place { (lane - b, true) } else { unchanged };
                    let is_in_segment = place + b < width;
                    let from_above = if is_in_segment { (lane + b, true) } else { unchanged };
                    for (mode, expected) in [
                        (WarpShuffleMode::Up, Some(from_below)),
                        (WarpShuffleMode::Down, Some(from_above)),
                        (WarpShuffleMode::Idx, Some((first + b % width, true))),
                        (WarpShuffleMode::Xor, (b < width).then_some((lane ^ b, true))),
                    ] {
                        let found = expected.map(|_| read(mode));
                        assert_eq!(found, expected, "{mode:?} {lane} {b} {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_full_warp_has_the_operands_that_nvcc_writes() {
        assert_eq!(segment(WarpShuffleMode::Xor, 32), 31);
        assert_eq!(segment(WarpShuffleMode::Up, 32), 0);
        assert_eq!(segment(WarpShuffleMode::Down, 8), 0x181f);
        assert_eq!(segment(WarpShuffleMode::Up, 8), 0x1800);
    }

    #[test]
    fn an_invalid_width_panics() {
        for width in [0, 24, 64] {
            let panic = std::panic::catch_unwind(|| segment(WarpShuffleMode::Down, width));
            let panic = panic.expect_err("the width is invalid");
            let message = panic.downcast_ref::<&str>().expect("a message");
            assert!(message.contains("1, 2, 4, 8, 16 or 32"), "{width}: {message}");
        }
    }
}
