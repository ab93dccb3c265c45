//! `ld` and `st`: widths, vectors, extension, spaces, qualifiers.

use super::{outcome, words};

#[test]
fn a_word_goes_from_one_buffer_to_another() {
    let body = "ld.global.u32 %r2, [%rd1+8];\nst.global.u32 [%rd2], %r2;";
    let input: Vec<u32> = (0..4).map(|i| i * 0x0101_0101).collect();
    let out: Vec<u32> = words(&outcome(body, bytemuck::cast_slice(&input), 4));
    assert_eq!(out, [0x0202_0202]);
}
