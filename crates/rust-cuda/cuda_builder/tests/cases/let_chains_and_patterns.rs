use super::*;

pub fn value(i: u32) -> u64 {
    let data = [i, i / 2, i / 3, i / 4, 9];
    let matched = match data {
        [0, ..] => 1,
        [a, .., b] if a < b => 2,
        [a @ 10..=99, rest @ ..] => a + rest.len() as u32,
        [_, b, middle @ .., 9] => b * 100 + middle[0],
        _ => 5,
    };
    let Some(x) = data.iter().find(|it| **it % 7 == 3) else { return u64::from(matched) };
    u64::from(matched) * u64::from(*x)
}
