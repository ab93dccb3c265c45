//! Reads Rust source as a list of identifiers and punctuation, to find the modules to which a file refers. It leaves
//! out comments, literals, and items under `#[cfg(test)]`.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// An identifier or punctuation, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// An identifier, `::`, or one other character.
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
}

/// The tokens of a source file.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// The tokens outside of test code.
    pub(super) all: Vec<Token>,
    /// The names of the modules that the file declares only for tests; their files are left out too.
    pub(super) test_modules: Vec<String>,
}

impl Tokens {
    /// Parses a file. A file that is not valid Rust yields no tokens; the compiler reports the error.
    pub(super) fn parse(source: &str) -> Self {
        let mut tokens = Self::default();
        if let Ok(stream) = source.parse() {
            tokens.read(stream);
        }
        tokens
    }

    fn read(&mut self, stream: TokenStream) {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let mut rest = &trees[..];
        let mut is_joint = false;
        while let [tree, after @ ..] = rest {
            rest = after;
            let line = tree.span().start().line;
            match tree {
                TokenTree::Punct(sign) if is_joint && sign.as_char() == ':' => {
                    self.all.pop();
                    self.push("::", line);
                }
                TokenTree::Punct(sign) if sign.as_char() == '#' && is_for_tests(after) => {
                    rest = self.skip_item(&after[1..]);
                }
                TokenTree::Group(group) => {
                    let [open, close] = match group.delimiter() {
                        Delimiter::Brace => ["{", "}"],
                        Delimiter::Bracket => ["[", "]"],
                        Delimiter::Parenthesis | Delimiter::None => ["(", ")"],
                    };
                    self.push(open, line);
                    self.read(group.stream());
                    self.push(close, group.span_close().start().line);
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => self.push(tree.to_string(), line),
                TokenTree::Literal(_) => {}
            }
            is_joint = !is_joint
                && matches!(tree, TokenTree::Punct(sign)
                    if sign.as_char() == ':' && sign.spacing() == Spacing::Joint);
        }
    }

    fn push(&mut self, text: impl Into<String>, line: usize) {
        let text = text.into();
        self.all.push(Token { text, line });
    }

    /// Skips an item and returns the rest. An item ends with its `;` or with its block; a list of imports ends in `};`.
    fn skip_item<'t>(&mut self, trees: &'t [TokenTree]) -> &'t [TokenTree] {
        let is_end = |tree: &TokenTree| is_semicolon(tree) || is_block(tree);
        let end = trees.iter().position(is_end).unwrap_or(trees.len());
        if let [.., keyword, name] = &trees[..end]
            && keyword.to_string() == "mod"
            && trees.get(end).is_some_and(is_semicolon)
        {
            self.test_modules.push(name.to_string());
        }
        let rest = trees.get(end + 1..).unwrap_or_default();
        match rest {
            [semicolon, rest @ ..] if is_semicolon(semicolon) => rest,
            rest => rest,
        }
    }
}

/// Returns whether the tokens after a `#` are `[cfg(test)]`.
fn is_for_tests(rest: &[TokenTree]) -> bool {
    matches!(rest, [TokenTree::Group(attribute), ..]
        if attribute.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn is_semicolon(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ';')
}

fn is_block(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    fn texts(source: &str) -> Vec<String> {
        let tokens = Tokens::parse(source).all.into_iter();
        tokens.map(|token| token.text).collect()
    }

    #[test]
    fn names_and_signs_with_their_lines() {
        let tokens = Tokens::parse("use crate::a;\n\nfn f() {}").all;
        let found: Vec<_> = tokens.iter().map(|token| (token.text.as_str(), token.line)).collect();
        assert_eq!(found[..4], [("use", 1), ("crate", 1), ("::", 1), ("a", 1)]);
        assert_eq!(found[5..7], [("fn", 3), ("f", 3)]);
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        assert_eq!(texts("a // crate::b\nc /* d /* e */ f */ g"), ["a", "c", "g"]);
        assert_eq!(texts(r##"a r#"crate::b " c"# b"x" 'c' d"##), ["a", "d"]);
        assert!(!texts("/// crate::b\nfn a() {}").contains(&"crate".to_owned()));
        assert!(texts("\"not closed").is_empty());
    }

    #[test]
    fn test_code_is_left_out() {
        let source = "a\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { use crate::b; fn f() { } }\n\
                      #[cfg(test)]\nuse crate::c::{d, e};\nb";
        let found = Tokens::parse(source);
        assert_eq!(found.all.len(), 2);
        assert_eq!(found.all[1].line, 8);
        assert_eq!(found.test_modules, ["tests"]);
    }
}
