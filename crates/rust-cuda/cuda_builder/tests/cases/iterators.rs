use super::*;

pub fn value(i: u32) -> u64 {
    let squares = (1..=20).map(|it| u64::from(i) * it * it);
    let odd = squares.clone().filter(|it| it % 2 == 1).step_by(2).take(4).sum::<u64>();
    let zipped = squares.clone().zip((0..20).rev()).skip_while(|it| it.0 < 300).map(|it| it.0 ^ it.1).max();
    mix(odd, zipped.unwrap_or(7)) + squares.rev().position(|it| it < 90).unwrap_or(99) as u64
}
