use super::*;
use core::fmt::Write;
pub fn value(i: u32) -> u64 {
    let mut text = Text::default();
    let _ = write!(text, "{i} {:+} {:#06x} {:>8} {:<5}| {:^7} {:b}", i as i8, i, i * i, i % 10, "mid", i);
    text.hash()
}
