//! Comparisons of recorded numbers.

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
