use super::*;
use core::fmt::{self, Write};
struct Celsius(i32);
impl fmt::Display for Celsius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() { f.pad("warm") } else { write!(f, "{}.{}°C", self.0 / 10, self.0 % 10) }
    }
}
pub fn value(i: u32) -> u64 {
    let mut text = Text::default();
    let parts: [&dyn fmt::Display; 3] = [&Celsius(i as i32), &'x', &"text"];
    let _ = write!(text, "{} {:#8} {}", parts[i as usize % 3], Celsius(1), parts[0]);
    text.hash()
}
