//! Splits a directive or a command into words.

/// Splits a line at blanks, except between double quotes.
///
/// # Errors
/// Returns a message when a quote is not closed.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut is_quoted, mut has_word) = (Vec::new(), String::new(), false, false);
    for character in line.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                has_word = true;
            }
            blank if blank.is_whitespace() && !is_quoted => {
                if has_word {
                    words.push(std::mem::take(&mut word));
                }
                has_word = false;
            }
            other => {
                word.push(other);
                has_word = true;
            }
        }
    }
    if is_quoted {
        return Err(format!("a quote is not closed: {line}"));
    }
    if has_word {
        words.push(word);
    }
    Ok(words)
}

/// Returns the value of `key=value` among these words.
pub(crate) fn value<'w>(words: &'w [String], key: &str) -> Option<&'w str> {
    words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::{value, words};

    #[test]
    fn quotes_keep_words_together() {
        let found = words(r#"a "b c" until="d e""#).expect("the quotes are closed");
        assert_eq!(found, ["a", "b c", "until=d e"]);
        assert_eq!(value(&found, "until"), Some("d e"));
        assert_eq!(value(&found, "unt"), None);
        assert!(words("\"a").is_err());
    }
}
