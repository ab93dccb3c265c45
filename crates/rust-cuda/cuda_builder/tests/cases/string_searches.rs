use super::*;

pub fn value(i: u32) -> u64 {
    let text = "so many words, so few lines; größe, and so on";
    let place = |it: Option<usize>| it.map_or(999, |at| at as u64);
    let needle = ["so", "öß", "lines;", "none", ","][i as usize % 5];
    let from = [0, 10, 24][i as usize / 5 % 3];
    mix(place(text[from..].find(needle)), mix(place(text.rfind('s')), text.split(needle).count() as u64))
}
