//! Compares recorded numbers.

/// Returns whether a comparison holds. The comparison is `<`, `>`, or `~` for numbers that differ by at most 5 %.
///
/// # Errors
/// Returns a message when `comparison` is not one of these three signs.
pub(crate) fn holds(a: f64, comparison: &str, b: f64) -> Result<bool, String> {
    match comparison {
        "<" => Ok(a < b),
        ">" => Ok(a > b),
        "~" => Ok((a - b).abs() <= 0.05 * a.abs().max(b.abs())),
        other => Err(format!("`{other}` is not a comparison; use `<`, `>` or `~`")),
    }
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn comparisons() {
        assert_eq!(holds(1.0, "<", 2.0), Ok(true));
        assert_eq!(holds(1.0, ">", 2.0), Ok(false));
        assert_eq!(holds(1.0, "~", 1.04), Ok(true));
        assert_eq!(holds(1.0, "~", 1.1), Ok(false));
        assert!(holds(1.0, "=", 1.0).is_err());
    }
}
