use super::*;

pub fn value(i: u32) -> u64 {
    let word = ["add", "subtract", "multiply by a long word", "@TILE", "", "add "][i as usize % 6];
    match core::hint::black_box(word) {
        "add" => 1,
        "subtract" => 2,
        "multiply by a long word" => 3,
        "@TILE" => 4,
        "" => 5,
        _ => u64::from(i),
    }
}
