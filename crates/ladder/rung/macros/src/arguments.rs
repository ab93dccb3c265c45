//! The arguments of `#[rung(…)]`.

use proc_macro2::{Ident, Span, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, LitFloat, LitInt, LitStr, Token, braced, bracketed, parenthesized, token};

/// A block size: the lengths in x, y and z.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) lengths: [u32; 3],
    /// The number of lengths that were written.
    pub(crate) dimensions: usize,
    pub(crate) span: Span,
}

impl Block {
    /// Returns the suffix of a kernel's name: `256`, `32x16`.
    pub(crate) fn suffix(&self) -> String {
        let lengths: Vec<_> = self.lengths[..self.dimensions].iter().map(u32::to_string).collect();
        lengths.join("x")
    }
}

impl Parse for Block {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let span = input.span();
        let length = |input: ParseStream<'_>| input.parse::<LitInt>()?.base10_parse::<u32>();
        let lengths: Vec<u32> = if input.peek(token::Paren) {
            let inner;
            parenthesized!(inner in input);
            Punctuated::<LitInt, Token![,]>::parse_terminated(&inner)?
                .iter()
                .map(LitInt::base10_parse)
                .collect::<syn::Result<_>>()?
        } else {
            vec![length(input)?]
        };
        let threads = lengths.iter().try_fold(1u32, |all, &length| all.checked_mul(length));
        if !(1..=3).contains(&lengths.len()) || !threads.is_some_and(|threads| (1..=1024).contains(&threads)) {
            return Err(Error::new(
                span,
                "a block has one to three lengths and 1 to 1024 threads: `256` or `(32, 16)`",
            ));
        }
        let mut all = [1; 3];
        all[..lengths.len()].copy_from_slice(&lengths);
        Ok(Self { lengths: all, dimensions: lengths.len(), span })
    }
}

/// The values of one generic, or of several generics together.
pub(crate) struct Values {
    pub(crate) generics: Vec<Ident>,
    /// For each value of the list, its suffix (empty for `_`) and the tokens for each generic.
    pub(crate) values: Vec<(String, Vec<TokenStream>)>,
}

/// The published speedup and the rung that it is compared with.
pub(crate) struct Published {
    pub(crate) factor: f64,
    pub(crate) over: Ident,
}

impl Parse for Published {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let factor = if input.peek(LitInt) {
            input.parse::<LitInt>()?.base10_parse()?
        } else {
            input.parse::<LitFloat>()?.base10_parse()?
        };
        let over: Ident = input.parse()?;
        if over != "over" {
            return Err(Error::new(over.span(), "write a published speedup as `1.4 over other_rung`"));
        }
        Ok(Self { factor, over: input.parse()? })
    }
}

/// The arguments of the attribute.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) lesson: Option<LitStr>,
    pub(crate) after: Option<Ident>,
    pub(crate) blocks: Option<Vec<Block>>,
    pub(crate) default_block: Option<Block>,
    pub(crate) block_for: Option<Expr>,
    pub(crate) items_per_thread: Option<Expr>,
    pub(crate) row_bytes: Option<Expr>,
    /// The rows of the boxes of each tensor map that the rung chooses.
    pub(crate) box_rows: Vec<(Ident, Expr)>,
    pub(crate) grid: Option<Expr>,
    pub(crate) dynamic_shared: Option<Expr>,
    pub(crate) values: Vec<Values>,
    pub(crate) published: Option<Published>,
    pub(crate) published_count: Option<LitStr>,
    pub(crate) resident: Option<Expr>,
    pub(crate) cluster: Option<Expr>,
    /// The [`FLAGS`] that are set.
    pub(crate) flags: Vec<Ident>,
}

/// The arguments that have no value.
const FLAGS: &[&str] = &["fixed_block", "in_place", "single_pass", "is_bound", "blocks_wait"];

/// The arguments that have a value.
const KEYS: &[&str] = &[
    "lesson",
    "after",
    "blocks",
    "default_block",
    "block_for",
    "items_per_thread",
    "row_bytes",
    "box_rows",
    "grid",
    "dynamic_shared",
    "published",
    "published_count",
    "resident",
    "cluster",
];

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut all = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            if input.peek(token::Paren) {
                let names;
                parenthesized!(names in input);
                let generics = Punctuated::<Ident, Token![,]>::parse_terminated(&names)?.into_iter().collect();
                input.parse::<Token![=]>()?;
                all.values.push(values(generics, input)?);
            } else {
                let key: Ident = input.parse()?;
                if seen.contains(&key) {
                    return Err(Error::new(key.span(), format!("`{key}` is given twice")));
                }
                all.argument(&key, input)?;
                seen.push(key);
            }
            if input.is_empty() {
                break;
            }
            input.parse::<Token![,]>()?;
        }
        Ok(all)
    }
}

impl Arguments {
    /// Reads the rest of the argument that starts with `key`.
    fn argument(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = key.to_string();
        if FLAGS.contains(&name.as_str()) {
            self.flags.push(key.clone());
            return Ok(());
        }
        let is_generic = name.starts_with(char::is_uppercase);
        if !is_generic && !KEYS.contains(&name.as_str()) {
            let known = [KEYS, FLAGS].concat().join("`, `");
            let message = format!("#[rung] has no argument `{name}`; it has `{known}`, and the names of generics");
            return Err(Error::new(key.span(), message));
        }
        input.parse::<Token![=]>()?;
        match name.as_str() {
            "lesson" => self.lesson = Some(input.parse()?),
            "after" => self.after = Some(input.parse()?),
            "blocks" => {
                let list;
                bracketed!(list in input);
                self.blocks = Some(Punctuated::<Block, Token![,]>::parse_terminated(&list)?.into_iter().collect());
            }
            "default_block" => self.default_block = Some(input.parse()?),
            "block_for" => self.block_for = Some(input.parse()?),
            "items_per_thread" => self.items_per_thread = Some(input.parse()?),
            "row_bytes" => self.row_bytes = Some(input.parse()?),
            "box_rows" => {
                let list;
                braced!(list in input);
                let rows = |input: ParseStream<'_>| {
                    let map = input.parse()?;
                    input.parse::<Token![:]>()?;
                    Ok((map, input.parse()?))
                };
                self.box_rows =
                    Punctuated::<_, Token![,]>::parse_terminated_with(&list, rows)?.into_iter().collect::<Vec<_>>();
            }
            "grid" => self.grid = Some(input.parse()?),
            "dynamic_shared" => self.dynamic_shared = Some(input.parse()?),
            "published" => self.published = Some(input.parse()?),
            "published_count" => self.published_count = Some(input.parse()?),
            "resident" => self.resident = Some(input.parse()?),
            "cluster" => self.cluster = Some(input.parse()?),
            _ => self.values.push(values(vec![key.clone()], input)?),
        }
        Ok(())
    }

    /// Returns whether this flag is set.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|set| set == flag)
    }
}

/// Reads `{ _: value, suffix: value }`, where the value of several generics is a tuple.
fn values(generics: Vec<Ident>, input: ParseStream<'_>) -> syn::Result<Values> {
    if !input.peek(token::Brace) {
        let message = "write the values of a generic as `{ _: value, suffix: value }`, where `_` means no suffix";
        return Err(Error::new(input.span(), message));
    }
    let list;
    braced!(list in input);
    let mut values = Vec::new();
    while !list.is_empty() {
        let suffix = if list.peek(Token![_]) {
            list.parse::<Token![_]>()?;
            String::new()
        } else {
            list.parse::<Ident>()?.to_string()
        };
        list.parse::<Token![:]>()?;
        let span = list.span();
        let each: Vec<TokenStream> = if generics.len() == 1 {
            vec![value(&list)?]
        } else {
            let tuple;
            parenthesized!(tuple in list);
            let mut each = Vec::new();
            while !tuple.is_empty() {
                each.push(value(&tuple)?);
                if tuple.is_empty() {
                    break;
                }
                tuple.parse::<Token![,]>()?;
            }
            each
        };
        if each.len() != generics.len() {
            let message = format!("there are {} generics but {} values", generics.len(), each.len());
            return Err(Error::new(span, message));
        }
        values.push((suffix, each));
        if list.is_empty() {
            break;
        }
        list.parse::<Token![,]>()?;
    }
    if values.is_empty() {
        return Err(Error::new(generics[0].span(), "a generic needs at least one value"));
    }
    Ok(Values { generics, values })
}

/// One value: a type, or an expression such as `true` or `16`.
fn value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    use quote::ToTokens;
    let ahead = input.fork();
    if ahead.parse::<syn::Lit>().is_ok() || input.peek(Token![-]) {
        return Ok(input.parse::<Expr>()?.into_token_stream());
    }
    Ok(input.parse::<syn::Type>()?.into_token_stream())
}
