use super::*;

pub fn value(i: u32) -> u64 {
    let letter = char::from_u32(i * 517).unwrap_or('?');
    let mut bytes = [0; 4];
    let text = letter.encode_utf8(&mut bytes);
    let kinds =
        u64::from(letter.is_alphabetic()) + 2 * u64::from(letter.is_numeric()) + 4 * u64::from(letter.is_whitespace());
    let cases =
        letter.to_uppercase().chain(letter.to_lowercase()).fold(0, |sum, term| mix(sum, u64::from(u32::from(term))));
    mix(kinds + text.len() as u64, cases) + letter.to_digit(36).map_or(0, u64::from)
}
