use super::*;

pub fn value(i: u32) -> u64 {
    let mut bytes = *b"gr\xc3\xb6\xc3\x9fe \xe2\x82\xac \xf0\x9f\xa6\x80!";
    bytes[i as usize % 17] ^= (i >> 5) as u8;
    match core::str::from_utf8(&bytes) {
        Ok(text) => text.chars().rev().fold(1, |sum, term| mix(sum, u64::from(u32::from(term)))),
        Err(error) => error.valid_up_to() as u64 * 10 + error.error_len().unwrap_or(9) as u64,
    }
}
