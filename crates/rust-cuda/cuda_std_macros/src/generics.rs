//! Finds uses of const generics in a static, which Rust does not allow.
//!
//! rustc reports such uses without suggesting a fix. An attribute only sees its static, so this module reads the
//! surrounding code from the source file.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use std::fs;

/// The identifier that replaces the name at its use before the file is parsed, because parsed tokens have no positions.
const MARK: &str = "__cuda_std_use";

/// Returns the first name in `tokens` that is a const generic of an enclosing function or `impl` block. Returns `None`
/// if the source cannot be read, as in rust-analyzer. In that case, only rustc reports an error.
pub(crate) fn first_use(tokens: TokenStream) -> Option<Ident> {
    if !proc_macro::is_available() {
        return None;
    }
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(name) => is_generic(&name.to_string(), name.span())?.then_some(name),
        TokenTree::Group(group) => first_use(group.stream()),
        _ => None,
    })
}

fn is_generic(name: &str, span: Span) -> Option<bool> {
    let span = span.unwrap();
    let text = fs::read_to_string(span.local_file()?).ok()?;
    let line = text.split_inclusive('\n').nth(span.line().checked_sub(1)?)?;
    let (column, _) = line.char_indices().nth(span.column().checked_sub(1)?)?;
    let start = line.as_ptr() as usize - text.as_ptr() as usize + column;
    is_generic_at(&text, name, start)
}

/// Returns whether `name` at the byte offset `start` of a file is a const generic, or `None` if this cannot be
/// determined from the file.
fn is_generic_at(text: &str, name: &str, start: usize) -> Option<bool> {
    let after = text.get(start..)?.strip_prefix(name)?;
    // Most files do not declare such a generic. This check avoids parsing their tokens, which is the slowest step.
    let declaration_start = format!("const {name}:");
    let may_be_generic = text.split(&declaration_start).skip(1).any(|rest| {
        let end = rest.find([',', '>', '=', ';']);
        end.is_some_and(|end| matches!(rest.as_bytes()[end], b',' | b'>'))
    });
    if !may_be_generic {
        return None;
    }
    let tokens: TokenStream = format!("{}{MARK}{after}", &text[..start]).parse().ok()?;
    declaration(tokens, name)?
}

/// Returns how the innermost declaration around the mark declares `name`: as a generic (`Some(true)`), as something
/// else (`Some(false)`) or not at all (`None`). The outer `None` means that the mark is not among the tokens.
fn declaration(tokens: TokenStream, name: &str) -> Option<Option<bool>> {
    let (mut marked, mut item) = (None, None);
    // Whether the tokens belong to the header of a function or an `impl` block, and whether this header declares the
    // name.
    let (mut in_header, mut in_generics, mut after_const) = (false, false, false);
    // The punctuation before the token, and whether an attribute macro could rewrite the item.
    let (mut before, mut is_rewritten) = (None, false);
    for token in tokens {
        let is_const = matches!(&token, TokenTree::Ident(ident) if ident == "const");
        let mut punctuation = None;
        match token {
            // In a header, `fn` and `impl` are parts of types.
            TokenTree::Ident(ident) if !in_header && (ident == "fn" || ident == "impl") => {
                (in_header, in_generics) = (true, false);
            }
            TokenTree::Ident(ident) if ident == MARK => marked = Some(None),
            TokenTree::Ident(ident) if after_const && ident == name => match in_header {
                true => in_generics = true,
                false => item = Some(false),
            },
            // The identifier is the name in `macro_rules! name`.
            TokenTree::Ident(_) if before == Some('!') => punctuation = before,
            TokenTree::Punct(punct) if punct.as_char() == ';' => (in_header, is_rewritten) = (false, false),
            TokenTree::Punct(punct) => punctuation = Some(punct.as_char()),
            TokenTree::Group(group) if before == Some('#') => is_rewritten |= !is_builtin(group.stream()),
            TokenTree::Group(group) => {
                let is_braced = group.delimiter() == Delimiter::Brace;
                if let Some(found) = declaration(group.stream(), name) {
                    let found = found.or((is_braced && in_header && in_generics).then_some(true));
                    // A macro can turn a generic into a constant.
                    marked = Some(found.map(|is_generic| is_generic && !is_rewritten && before != Some('!')));
                }
                if is_braced {
                    (in_header, is_rewritten) = (false, false);
                }
            }
            _ => {}
        }
        (after_const, before) = (is_const, punctuation);
    }
    marked.map(|found| found.or(item))
}

/// Returns whether an attribute leaves a function's generics unchanged.
fn is_builtin(attribute: TokenStream) -> bool {
    let known = [
        "allow",
        "cfg",
        "cold",
        "deny",
        "doc",
        "expect",
        "gpu_only",
        "inline",
        "must_use",
        "target_feature",
        "track_caller",
        "unsafe",
        "warn",
    ];
    matches!(attribute.into_iter().next(), Some(TokenTree::Ident(name)) if known.iter().any(|attribute| name == attribute))
}

#[cfg(test)]
mod tests {
    use super::is_generic_at;

    #[test]
    fn the_innermost_declaration_counts() {
        for (text, expected) in [
            ("fn f<const N: usize>() { static S: [u8; @N] = x; }", Some(true)),
            ("fn f<const N: usize>(a: [u8; N]) -> [u8; N] { if c { g(|| shared_array![u8; @N]) } }", Some(true)),
            ("fn f<const N: usize>() -> impl Fn() { static S: [u8; @N] = x; }", Some(true)),
            ("trait T { fn f<const N: usize>(); fn g() { static S: [u8; @N] = x; } }", None),
            ("impl<T, const N: usize> S<T, N> { fn f(&self) { static S: [u8; @N] = x; } }", Some(true)),
            ("fn f<const N: usize>() { fn g() { static S: [u8; 2 * @N] = x; } }", Some(true)),
            ("fn f<const N: usize>() { const N: usize = 4; static S: [u8; @N] = x; }", Some(false)),
            ("/// F.\n#[inline(always)] fn f<const N: usize>() { static S: [u8; @N] = x; }", Some(true)),
            ("#[rung] fn f<const N: usize>() { static S: [u8; @N] = x; }", Some(false)),
            ("rung! { fn f<const N: usize>() { static S: [u8; @N] = x; } }", Some(false)),
            ("macro_rules! m { () => { fn f<const N: usize>() { static S: [u8; @N] = x; } } }", Some(false)),
            ("fn f<const N: usize>() {} const N: usize = 4; fn g() { static S: [u8; @N] = x; }", Some(false)),
            ("fn f<const N: usize>() {} fn g() { static S: [u8; @N] = x; }", None),
            ("const N: usize = 4; fn g() { static S: [u8; @N] = x; }", None),
        ] {
            let start = text.find('@').expect("a mark");
            assert_eq!(is_generic_at(&text.replace('@', ""), "N", start), expected, "{text}");
        }
    }
}
