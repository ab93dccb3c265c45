//! Rust source as a list of names and signs, enough to see which modules a file refers to. Comments, string
//! and character literals are left out, and so is whatever stands behind `#[cfg(test)]`.

/// A name or sign, with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// An identifier, a number, `::`, or one other character.
    pub(super) text: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
}

/// The tokens of a source file, without what is compiled for tests only. Also the names of the modules that
/// it declares for tests only, whose files are to be left out too.
pub(super) fn tokens(source: &str) -> (Vec<Token<'_>>, Vec<&str>) {
    without_tests(&scan(source))
}

fn scan(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let (length, is_token) = if let Some(length) = blank(rest) {
            (length, false)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            (end.unwrap_or(rest.len()), true)
        } else if rest.starts_with("::") {
            (2, true)
        } else {
            (first.len_utf8(), true)
        };
        let text = &rest[..length];
        if is_token {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        at += length;
    }
    tokens
}

/// The length of white space, a comment or a literal that the text begins with.
fn blank(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    if first.is_whitespace() {
        return Some(first.len_utf8());
    }
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let literal = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - literal.len();
    if prefix <= 1 && literal.starts_with('"') {
        return Some(prefix + quoted(literal));
    }
    if prefix <= 1
        && let Some(raw) = literal.strip_prefix('r')
    {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = raw[hashes + 1..].find(&end).map(|found| found + end.len());
            return Some(prefix + 2 + hashes + length.unwrap_or(raw.len() - hashes - 1));
        }
    }
    // `'a'` and `'\n'` are characters, `'a` is a lifetime.
    let mut characters = rest.strip_prefix('\'')?.char_indices();
    match characters.next()? {
        (_, '\\') => {
            let end = rest[3..].find('\'')?;
            Some(3 + end + 1)
        }
        _ => match characters.next()? {
            (index, '\'') => Some(index + 2),
            _ => Some(1),
        },
    }
}

/// Comments of this kind nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a string literal, with its quotes.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (index, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut modules = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let marked = rest.len() >= MARK.len()
            && rest
                .iter()
                .zip(MARK)
                .all(|(token, mark)| token.text == mark);
        if !marked {
            kept.push(rest[0]);
            at += 1;
            continue;
        }
        let item = &rest[MARK.len()..];
        let length = item_length(item);
        let name = item[..length]
            .windows(3)
            .find(|three| three[0].text == "mod" && three[2].text == ";");
        modules.extend(name.map(|three| three[1].text));
        at += MARK.len() + length;
    }
    (kept, modules)
}

/// How many tokens an item takes: to its `;`, or to the `}` that closes its first `{`.
fn item_length(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    // A list of imports ends in `};`.
                    let semicolon = tokens.get(index + 1).is_some_and(|next| next.text == ";");
                    return index + 1 + usize::from(semicolon);
                }
            }
            ";" if depth == 0 => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::tokens;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).0.iter().map(|token| token.text).collect()
    }

    #[test]
    fn names_and_signs_with_their_lines() {
        let (tokens, _) = tokens("use crate::a;\n\nfn f() {}");
        let found: Vec<_> = tokens
            .iter()
            .map(|token| (token.text, token.line))
            .collect();
        assert_eq!(found[..4], [("use", 1), ("crate", 1), ("::", 1), ("a", 1)]);
        assert_eq!(found[5..7], [("fn", 3), ("f", 3)]);
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        assert_eq!(
            texts("a // crate::b\nc /* d /* e */ f */ g"),
            ["a", "c", "g"]
        );
        assert_eq!(texts(r#"a "crate::b \" c" d"#), ["a", "d"]);
        assert_eq!(texts(r##"a r#"crate::b " c"# b"x" d"##), ["a", "d"]);
        assert_eq!(texts(r"a '\'' b 'c' d '\u{41}' e"), ["a", "b", "d", "e"]);
        assert_eq!(texts("&'a str"), ["&", "a", "str"]);
        assert_eq!(texts("r b crate"), ["r", "b", "crate"]);
        assert_eq!(texts("\"not closed"), Vec::<&str>::new());
    }

    #[test]
    fn tests_are_left_out() {
        let source = "a\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::b; fn f() { } }\n\
                      #[cfg(test)]\nuse crate::c::{d, e};\nb";
        let (found, modules) = tokens(source);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].line, 8);
        assert_eq!(modules, ["tests"]);
    }
}
