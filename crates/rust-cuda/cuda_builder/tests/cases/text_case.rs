use super::*;

pub fn value(i: u32) -> u64 {
    let mut text = *b"Hello, GPU world of 32 lanes";
    text[i as usize % 28..].make_ascii_uppercase();
    text[..i as usize % 14].make_ascii_lowercase();
    let words = text.split(|it| *it == b' ').map(|it| it.len() as u64).fold(0, mix);
    words
        ^ text.iter().filter(|it| it.is_ascii_uppercase()).count() as u64
        ^ u64::from(text.eq_ignore_ascii_case(b"hello, gpu world of 32 lanes"))
}
