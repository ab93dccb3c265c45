use super::*;
use core::num::NonZeroU32;
pub fn value(i: u32) -> u64 {
    let number = NonZeroU32::new(i % 5);
    let nested: Option<Option<bool>> = [None, Some(None), Some(Some(false)), Some(Some(true))][i as usize % 4];
    let letter = char::from_u32(0xD7F0 + i);
    let nested = match core::hint::black_box(nested) {
        None => 1,
        Some(None) => 2,
        Some(Some(it)) => 3 + u64::from(it),
    };
    number.map_or(100, |it| u64::from(it.get())) + 1000 * nested + u64::from(letter.is_none()) * 10_000
}
