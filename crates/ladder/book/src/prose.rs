//! Finds measured numbers in prose. Measured numbers must be written as directives, so that they cannot differ from the
//! measurement.

/// Units of measured quantities.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "GB/s", "TB/s", "GFLOP/s", "TFLOP/s", "%", "×"];

/// Returns the numbers with a unit of measurement in a line, except in directives and code.
pub(crate) fn numbers_without_source(line: &str) -> Vec<String> {
    let mut outside_of_directives = String::new();
    let mut rest = line;
    while let Some((before, start)) = rest.split_once("{{") {
        outside_of_directives += before;
        outside_of_directives += "…";
        rest = start.split_once("}}").map_or("", |(_, after)| after);
    }
    outside_of_directives += rest;
    let outside_of_code: Vec<&str> = outside_of_directives.split('`').step_by(2).collect();
    let text = outside_of_code.join("…");
    let mut found = Vec::new();
    for (at, unit) in UNITS.iter().flat_map(|unit| text.match_indices(unit)) {
        let (before, after) = (text[..at].trim_end_matches(' '), &text[at + unit.len()..]);
        let is_word = after.starts_with(|next: char| next.is_alphanumeric() || next == '/');
        // `32 × 16` is a shape, and so is `32 ×` at the end of a line.
        let is_shape = unit == "×"
            && (text[..at].ends_with(' ') || after.trim_start().starts_with(|next: char| next.is_ascii_digit()));
        if before.ends_with(|last: char| last.is_ascii_digit()) && !is_word && !is_shape {
            let number: String = before.chars().rev().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            found.push(format!("{} {unit}", number.chars().rev().collect::<String>()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::numbers_without_source;

    #[test]
    fn measured_numbers_are_found() {
        assert_eq!(
            numbers_without_source("It takes 82.6 µs, or 12%, and is 1.5× as fast."),
            ["82.6 µs", "12 %", "1.5 ×"]
        );
        let fine = "32 × 16 threads, 48 KB, {{recorded h200 a time}} or `12 %`, 4 sectors, tens of ns; 3 msets";
        assert_eq!(numbers_without_source(fine), [""; 0]);
    }
}
