//! Numbers of recorded tables.

/// The first number of a cell in its smallest unit: `4.314 ms` and `4314 µs` are the same, as are `0.98 (0.97–0.99)` and
/// `0.98×`.
///
/// # Errors
/// When the cell does not begin with a number.
pub(crate) fn number(cell: &str) -> Result<f64, String> {
    let end = cell.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(cell.len());
    let (digits, rest) = cell.split_at(end);
    let number: f64 = digits.parse().map_err(|_| format!("`{cell}` is no number"))?;
    let unit = rest.trim_start().split(' ').next().unwrap_or_default();
    Ok(number
        * match unit {
            "s" => 1e9,
            "ms" => 1e6,
            "µs" => 1e3,
            "TB/s" => 1e12,
            _ => 1.0,
        })
}

/// Whether a comparison holds: `<`, `>`, or `~` for numbers that are at most 5 % apart.
///
/// # Errors
/// When it is none of these.
pub(crate) fn holds(a: f64, comparison: &str, b: f64) -> Result<bool, String> {
    match comparison {
        "<" => Ok(a < b),
        ">" => Ok(a > b),
        "~" => Ok((a - b).abs() <= 0.05 * a.abs().max(b.abs())),
        other => Err(format!("`{other}` is no comparison; `<`, `>` and `~` are")),
    }
}

#[cfg(test)]
mod tests {
    use super::{holds, number};

    #[test]
    fn cells_are_numbers_in_one_unit() {
        for (cell, expected) in [
            ("4.314 ms", 4.314e6),
            ("82.61 µs", 82610.0),
            ("11.2 %", 11.2),
            ("1.7×", 1.7),
            ("-2.9 %", -2.9),
            ("0.98 (0.97–0.99)", 0.98),
        ] {
            assert!((number(cell).expect(cell) - expected).abs() < 1e-6, "{cell}");
        }
        assert!(number("–").is_err() && number("right").is_err());
    }

    #[test]
    fn comparisons() {
        assert_eq!(holds(1.0, "<", 2.0), Ok(true));
        assert_eq!(holds(1.0, ">", 2.0), Ok(false));
        assert_eq!(holds(1.0, "~", 1.04), Ok(true));
        assert_eq!(holds(1.0, "~", 1.1), Ok(false));
        assert!(holds(1.0, "=", 1.0).is_err());
    }
}
