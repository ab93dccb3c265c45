//! Sizes and blocks in their command-line syntax, and numbers with units.

pub use rung::dims;

use crate::error::Error;

/// Parses a size: `16777216`, `1_000_000`, `2^24`, `16M`.
///
/// Underscores may separate digits. `k`, `M` and `G`, in either case, mean 2^10, 2^20 and 2^30, so `16M`, `2^24` and
/// `16777216` are the same size.
///
/// ```
/// assert_eq!(engine::parse_size("16M").unwrap(), 1 << 24);
/// assert_eq!(engine::parse_size("2^24").unwrap(), 1 << 24);
/// assert!(engine::parse_size("16MB").is_err());
/// ```
///
/// # Errors
/// Returns [`Error::BadValue`] when the text is not a size, and when the value does not fit into 64 bits.
pub fn parse_size(text: &str) -> Result<u64, Error> {
    let bad = |why| {
        Error::BadValue(format!(
            "`{text}` is not a size: {why}; write 16777216, 1_000_000, 2^24 or 16M (k, M, G: 2^10, 2^20, 2^30)"
        ))
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
    let number = &text[..text.len() - usize::from(shift > 0)];
    digits(number).map_err(bad)?.checked_mul(1 << shift).ok_or_else(|| bad(TOO_LARGE))
}

fn digits(text: &str) -> Result<u64, &'static str> {
    if text.starts_with('-') {
        return Err("it is negative");
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    if plain.is_empty() || !text.starts_with(|c: char| c.is_ascii_digit()) || text.ends_with('_') {
        return Err("it does not start and end with a digit");
    }
    if !plain.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it contains characters other than digits");
    }
    plain.parse().map_err(|_| "it is larger than 64 bits")
}

/// Parses a block of threads: `256`, `32x16` for two dimensions or `8x8x4` for three.
///
/// # Errors
/// Returns [`Error::BadValue`] when the text is not a block. The ladder decides which blocks it supports.
pub fn parse_block(text: &str) -> Result<[u32; 3], Error> {
    let bad = || {
        Error::BadValue(format!(
            "`{text}` is not a block size; write a number of threads, such as 256, or 32x16 for two dimensions"
        ))
    };
    let mut block = [1; 3];
    let sides: Vec<&str> = text.split('x').collect();
    if sides.len() > block.len() {
        return Err(bad());
    }
    for (side, text) in block.iter_mut().zip(sides) {
        *side = digits(text).ok().and_then(|n| u32::try_from(n).ok()).ok_or_else(bad)?;
    }
    Ok(block)
}

/// Formats a number of bytes with a unit of 2^10, 2^20 or 2^30.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB"];
    match (bytes.max(1).ilog2() / 10).min(3) as usize {
        0 => format!("{bytes} B"),
        unit => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * unit)) as f64, units[unit]),
    }
}

/// Formats a count with a noun: `1 bank`, `2 banks`.
#[must_use]
pub fn plural(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests;
