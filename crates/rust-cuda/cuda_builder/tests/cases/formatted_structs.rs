use super::*;
use core::fmt::Write;
#[derive(Debug)]
enum Shape {
    Point,
    Line { from: (i32, i32), to: [u8; 2] },
    Named(u8, Option<i16>),
}
pub fn value(i: u32) -> u64 {
    let mut text = Text::default();
    let shape = match i % 3 {
        0 => Shape::Point,
        1 => Shape::Line { from: (i as i32, -1), to: [i as u8, 2] },
        _ => Shape::Named(3, (i % 2 == 0).then_some(-7)),
    };
    let _ = write!(text, "{shape:?}");
    text.hash()
}
