use super::*;

pub fn value(i: u32) -> u64 {
    let text = ["17", "-300", "99999999999", "", "0x1f", "+8", "255 "][i as usize % 7];
    let number = text.trim().parse::<i32>().map_or_else(|error| 1000 + error.kind().clone() as u64, |it| it as u64);
    mix(number, u64::from(u8::from_str_radix(text, 16).unwrap_or(3)))
}
