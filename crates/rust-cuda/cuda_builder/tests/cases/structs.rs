use super::*;

#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
struct Point {
    x: f32,
    y: f32,
    label: u8,
    inside: bool,
}
fn moved(point: Point, by: f32) -> Point {
    Point { x: point.x + by, inside: !point.inside, ..point }
}
pub fn value(i: u32) -> u64 {
    let point = Point { x: i as f32, label: i as u8, ..Point::default() };
    let other = moved(moved(point, 0.5), i as f32 / 3.0);
    bits32(other.x) ^ u64::from(other.label) ^ u64::from(other.inside) << 9 ^ u64::from(point < other) << 10
}
