use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Stop,
    Turn(u8),
    Move { x: i32, y: i16 },
    Name(&'static str),
}
pub fn value(i: u32) -> u64 {
    let steps = [Step::Stop, Step::Turn(i as u8), Step::Move { x: i as i32, y: -7 }, Step::Name("north")];
    match core::hint::black_box(steps)[i as usize % 4] {
        Step::Stop => 1,
        Step::Turn(by) => u64::from(by),
        Step::Move { x, y } => (x * i32::from(y)) as u64,
        Step::Name(name) => name.len() as u64 + u64::from(steps[3] == Step::Name("north")),
    }
}
