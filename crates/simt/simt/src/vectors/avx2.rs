//! [`Vectors`] for CPUs with AVX2.

use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_cmpgt_epi64,
    _mm256_movemask_pd, _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_sllv_epi64, _mm256_srl_epi64, _mm256_srli_epi64, _mm256_sub_epi64, _mm256_testz_si256, _mm256_xor_si256,
};

use super::{Pattern, Steps, Vectors};
use crate::regs::{HALF, LANES, Lanes64};

/// A proof that the CPU supports AVX2. Only functions compiled for AVX2 can create the proof without `unsafe`, and
/// `host_simd.rs` calls these functions only after `is_x86_feature_detected!`.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// Generates the trait's methods. Each method calls the function of the same name, which is compiled for AVX2.
macro_rules! vectors {
    ($(fn $name:ident($($arg:ident: $ty:ty),+) -> $result:ty;)*) => {
        impl Vectors for Avx2 {$(
            #[inline(always)]
            fn $name(self, $($arg: $ty),+) -> $result {
                // SAFETY: `self` was created by `Avx2::new`, which can be called only if the CPU supports AVX2.
                unsafe { $name($($arg),+) }
            }
        )*}
    };
}

vectors! {
    fn patterns(at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]>;
    fn inside(at: &Lanes64, base: u64, last: u64, align: u64) -> bool;
    fn steps(at: &Lanes64, shift: u32) -> Steps;
    fn repeats(at: &Lanes64) -> bool;
    fn banks(at: &Lanes64) -> u32;
}

/// For each access size: the offsets of the lanes in a [`Pattern::Row`].
const RAMPS: [[u64; HALF]; 8] = {
    let mut ramps = [[0; HALF]; 8];
    let mut size = 0;
    while size < ramps.len() {
        let mut lane = 0;
        while lane < HALF {
            ramps[size][lane] = (lane as u64) << size;
            lane += 1;
        }
        size += 1;
    }
    ramps
};

#[inline]
#[target_feature(enable = "avx2")]
fn patterns(at: &Lanes64, bytes: u32) -> Option<[Pattern; 2]> {
    let ramp = RAMPS[bytes.trailing_zeros() as usize % RAMPS.len()].as_chunks::<4>().0;
    let halves = at.as_chunks::<HALF>().0;
    Some([pattern(&halves[0], ramp)?, pattern(&halves[1], ramp)?])
}

#[inline]
#[target_feature(enable = "avx2")]
fn pattern(at: &[u64; HALF], ramp: &[[u64; 4]]) -> Option<Pattern> {
    let first = _mm256_set1_epi64x(at[0].cast_signed());
    let (mut row, mut same) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for (at, ramp) in at.as_chunks::<4>().0.iter().zip(ramp) {
        let offset = _mm256_sub_epi64(wide(at), first);
        row = _mm256_or_si256(row, _mm256_xor_si256(offset, wide(ramp)));
        same = _mm256_or_si256(same, offset);
    }
    if zero(row) {
        Some(Pattern::Row)
    } else if zero(same) {
        Some(Pattern::Same)
    } else {
        None
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn inside(at: &Lanes64, base: u64, last: u64, align: u64) -> bool {
    let all = |value: u64| _mm256_set1_epi64x(value.cast_signed());
    let (base, last) = (all(base), all(last));
    // If an offset is too large, the offset or its difference from `last` has the highest bit set.
    let (mut high, mut low) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for at in at.as_chunks::<4>().0 {
        let offset = _mm256_sub_epi64(wide(at), base);
        high = _mm256_or_si256(high, offset);
        high = _mm256_or_si256(high, _mm256_sub_epi64(last, offset));
        low = _mm256_or_si256(low, wide(at));
    }
    bits(high) == 0 && _mm256_testz_si256(low, all(align - 1)) == 1
}

#[inline]
#[target_feature(enable = "avx2")]
fn steps(at: &Lanes64, shift: u32) -> Steps {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    // Addresses are less than 2^63, so a signed comparison gives the correct order.
    let step = |now: __m256i, before: __m256i| {
        let same = _mm256_cmpeq_epi64(now, before);
        let (over, under) = (_mm256_srl_epi64(now, shift), _mm256_srl_epi64(before, shift));
        let within = _mm256_cmpeq_epi64(over, under);
        let less = _mm256_cmpgt_epi64(before, now);
        [bits(same) ^ 0xf, bits(within) ^ 0xf, bits(less)]
    };
    let first = wide(&[at[0], at[1], at[2], at[3]]);
    // 0, 0, 1, 2
    let mut masks = step(first, _mm256_permute4x64_epi64::<0b10_01_00_00>(first));
    for chunk in 1..LANES / 4 {
        let lane = chunk * 4;
        let now = wide(&[at[lane], at[lane + 1], at[lane + 2], at[lane + 3]]);
        let before = wide(&[at[lane - 1], at[lane], at[lane + 1], at[lane + 2]]);
        for (mask, bits) in masks.iter_mut().zip(step(now, before)) {
            *mask |= bits << lane;
        }
    }
    let [moves, crosses, descends] = masks;
    Steps { moves, crosses, descends }
}

#[inline]
#[target_feature(enable = "avx2")]
fn repeats(at: &Lanes64) -> bool {
    let (low, high) = at.split_at(HALF);
    let mut differs = _mm256_setzero_si256();
    for (low, high) in low.as_chunks::<4>().0.iter().zip(high.as_chunks::<4>().0) {
        differs = _mm256_or_si256(differs, _mm256_xor_si256(wide(low), wide(high)));
    }
    zero(differs)
}

#[inline]
#[target_feature(enable = "avx2")]
fn banks(at: &Lanes64) -> u32 {
    let (one, last) = (_mm256_set1_epi64x(1), _mm256_set1_epi64x(31));
    let mut banks = _mm256_setzero_si256();
    for at in at.as_chunks::<4>().0 {
        let bank = _mm256_and_si256(_mm256_srli_epi64::<2>(wide(at)), last);
        banks = _mm256_or_si256(banks, _mm256_sllv_epi64(one, bank));
    }
    let [a, b, c, d]: [u64; 4] = bytemuck::cast(banks);
    (a | b | c | d) as u32
}

/// Returns the highest bit of each of the four values.
#[inline]
#[target_feature(enable = "avx2")]
fn bits(values: __m256i) -> u32 {
    _mm256_movemask_pd(_mm256_castsi256_pd(values)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide(values: &[u64; 4]) -> __m256i {
    bytemuck::cast(*values)
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero(value: __m256i) -> bool {
    _mm256_testz_si256(value, value) == 1
}
