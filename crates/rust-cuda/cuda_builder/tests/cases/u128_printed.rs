use super::*;
use core::fmt::Write;
pub fn value(i: u32) -> u64 {
    let mut text = Text::default();
    let _ = write!(text, "{} {:x} {}", wide(i), wide(i + 1), wide(i) as i128);
    text.hash()
}
