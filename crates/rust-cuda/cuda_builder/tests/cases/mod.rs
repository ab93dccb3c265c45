//! Small pieces of device code. Each module has a function `value` that takes a thread's index. It is compiled for the
//! GPU as one kernel, and for the host, which computes the expected value. The two programs define `cases!` and
//! `traps!` differently.

use core::fmt;

cases! {
    aligned any_and_errors associated_types atomics_narrow atomics_of_core atomics_of_cuda_std atomics_of_local_variables
    averages_and_differences binary_search bit_tricks bytes_compared bytes_compared_unaligned cells characters
    checked checked_signed chunks_and_windows closures closures_by_reference const_generics constant_static
    constants_computed constants_selected copies_of_unknown_length copy_within custom_display divisions divisions_by_constants
    drops dyn_traits enums enums_with_numbers fill_and_copy floats_by_bits floats_clamped floats_compared
    floats_divided floats_fused floats_min_max floats_narrowed floats_not_fused floats_rounded floats_to_integers
    floats_to_u128 formatted_integers formatted_structs function_pointers generics global_counter
    guards_around_barriers half_floats hashing hints i128_arithmetic i128_checked indices_of_every_type inline_assembly
    integers_to_floats
    iterators large_array let_chains_and_patterns linked_nodes loops_with_values match_on_strings maybe_uninit
    memory_functions min_and_max_by mutual_recursion narrow_integers niches operators options_and_results orderings
    custom_iterator packed pointers powers_and_roots recursion remainder_assigned remainder_f32 remainder_f64
    returned_by_value saturating scan_and_flat_map shared_2d shared_array shared_bytes_compared shared_counter
    shared_generic shared_iterated shared_selected shared_struct shifts slices_of_slices sort sort_by_key state_machine static_address_inside static_with_addresses
    static_with_value string_comparisons string_parsing string_searches structs swap_and_reverse text_case
    text_that_looks_like_ir thread_indices transmutes tuples u128_arithmetic u128_bits u128_checked u128_compared
    u128_in_memory u128_printed u128_to_floats unions utf8 volatile warp_reductions warp_shuffles warp_votes
    wide_arrays_compared wide_multiplication wrapping_and_overflowing zero_sized
}

pub mod traps;

/// Returns a 48-bit number that depends on both arguments. Sums of such numbers do not overflow.
pub fn mix(a: u64, b: u64) -> u64 {
    (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(23).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 16
}

pub fn hash(i: u32) -> u32 {
    (i ^ i >> 3).wrapping_add(1).wrapping_mul(0x9e37_79b9) ^ i << 7
}

pub fn wide(i: u32) -> u128 {
    let part = |at| u128::from(hash(i * 4 + at)) << (32 * at);
    part(0) | part(1) | part(2) | part(3)
}

pub fn fold128(x: u128) -> u64 {
    mix(x as u64, (x >> 64) as u64)
}

/// Returns special values, small values, or any values, depending on `i`.
pub fn float(i: u32) -> f32 {
    const SPECIAL: [f32; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.5,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        -3e-40,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        890541.375,
        16_777_217.0,
        -2147483648.0,
        1.8446744e19,
    ];
    match i % 3 {
        0 => SPECIAL[i as usize / 3 % 16],
        1 => (hash(i) as i32 >> 12) as f32 / 64.0,
        _ => f32::from_bits(hash(i)),
    }
}

/// Returns the bits. All NaNs count as equal.
pub fn bits32(x: f32) -> u64 {
    if x.is_nan() { 1 } else { u64::from(x.to_bits()) }
}

pub fn bits64(x: f64) -> u64 {
    if x.is_nan() { 1 } else { mix(x.to_bits(), 0) }
}

/// Text in an array.
pub struct Text {
    bytes: [u8; 320],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self { bytes: [0; 320], len: 0 }
    }
}

impl Text {
    pub fn hash(&self) -> u64 {
        self.bytes[..self.len].iter().fold(self.len as u64, |sum, term| mix(sum, u64::from(*term)))
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let to = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        to.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}
