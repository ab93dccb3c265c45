//! Sizes and blocks as they are written on a command line.

pub use rung::dims;

use crate::error::Error;

/// Reads a size: `16777216`, `1_000_000`, `2^24`, `16M`.
///
/// Underscores may stand between digits. `k`, `M` and `G`, in either case, are 2^10, 2^20 and 2^30, so
/// that `16M`, `2^24` and `16777216` are the same size.
///
/// ```
/// assert_eq!(engine::parse_size("16M").unwrap(), 1 << 24);
/// assert_eq!(engine::parse_size("2^24").unwrap(), 1 << 24);
/// assert!(engine::parse_size("16MB").is_err());
/// ```
///
/// # Errors
/// [`Error::BadSize`] when the text is not a size, and when the value does not fit into 64 bits.
pub fn parse_size(text: &str) -> Result<u64, Error> {
    let bad = |why| Error::BadSize {
        given: text.to_owned(),
        why,
    };
    const TOO_LARGE: &str = "it is larger than 64 bits";
    if let Some((base, exponent)) = text.split_once('^') {
        let base = digits(base).map_err(bad)?;
        let exponent = u32::try_from(digits(exponent).map_err(bad)?).map_err(|_| bad(TOO_LARGE))?;
        return base.checked_pow(exponent).ok_or_else(|| bad(TOO_LARGE));
    }
    let shift = match text.chars().last() {
        Some('k' | 'K') => 10,
        Some('m' | 'M') => 20,
        Some('g' | 'G') => 30,
        _ => 0,
    };
    let number = if shift == 0 {
        text
    } else {
        &text[..text.len() - 1]
    };
    digits(number)
        .map_err(bad)?
        .checked_mul(1 << shift)
        .ok_or_else(|| bad(TOO_LARGE))
}

fn digits(text: &str) -> Result<u64, &'static str> {
    if text.starts_with('-') {
        return Err("it is negative");
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    if plain.is_empty() || !text.starts_with(|c: char| c.is_ascii_digit()) || text.ends_with('_') {
        return Err("it does not begin and end with a digit");
    }
    if !plain.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it has something other than digits in it");
    }
    plain.parse().map_err(|_| "it is larger than 64 bits")
}

/// Reads a block of threads: `256`, or `32x16` for two dimensions and `8x8x4` for three.
///
/// # Errors
/// [`Error::BadBlock`] when the text is not a block. The ladder decides which blocks it supports.
pub fn parse_block(text: &str) -> Result<[u32; 3], Error> {
    let bad = || Error::BadBlock {
        given: text.to_owned(),
    };
    let mut block = [1; 3];
    let sides: Vec<&str> = text.split('x').collect();
    if sides.len() > block.len() {
        return Err(bad());
    }
    for (side, text) in block.iter_mut().zip(sides) {
        *side = digits(text)
            .ok()
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(bad)?;
    }
    Ok(block)
}

/// Writes a number of bytes with a unit of 2^10, 2^20 or 2^30.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_size_written_four_ways() {
        for text in ["16777216", "16_777_216", "2^24", "16M", "16m", "16384k"] {
            assert_eq!(parse_size(text).unwrap(), 16_777_216, "{text}");
        }
        assert_eq!(parse_size("0").unwrap(), 0);
        assert_eq!(parse_size("1G").unwrap(), 1 << 30);
        assert_eq!(parse_size("10^6").unwrap(), 1_000_000);
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for text in [
            "",
            "M",
            "_1",
            "1_",
            "-1",
            "1.5",
            "16MB",
            "2^",
            "^4",
            "2^-1",
            "2^64",
            "abc",
            "１",
            "0x10",
            "18446744073709551616",
            "20000000000G",
            " 1",
            "+1",
            "é",
        ] {
            let message = parse_size(text).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("`{text}` is not a size")),
                "{message}"
            );
        }
    }

    #[test]
    fn blocks_in_one_to_three_dimensions() {
        assert_eq!(parse_block("512").unwrap(), [512, 1, 1]);
        assert_eq!(parse_block("32x16").unwrap(), [32, 16, 1]);
        assert_eq!(parse_block("8x8x4").unwrap(), [8, 8, 4]);
        for text in ["", "x", "32x", "1x2x3x4", "5000000000", "-1", "a"] {
            assert!(parse_block(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_number_reads_back(n: u64) {
            prop_assert_eq!(parse_size(&n.to_string()).unwrap(), n);
        }

        #[test]
        fn any_block_reads_back(block in [1u32.., 1u32.., 1u32..]) {
            prop_assert_eq!(parse_block(&dims(block)).unwrap(), block);
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse_size(&text);
            let _ = parse_block(&text);
        }
    }
}
