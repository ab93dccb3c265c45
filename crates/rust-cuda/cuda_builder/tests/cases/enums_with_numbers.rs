use super::*;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i16)]
enum Level {
    Low = -5,
    Middle,
    High = 1000,
}
pub fn value(i: u32) -> u64 {
    let levels = [Level::Low, Level::Middle, Level::High];
    let (a, b) = (levels[i as usize % 3], levels[i as usize / 3 % 3]);
    mix(a as i16 as u64, a.max(b) as u64) + u64::from(a < b) + size_of::<Option<Level>>() as u64
}
