//! Expands a function with the attribute `#[rung(…)]` into its kernels and its description.

use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, ConstParam, Error, FnArg, GenericParam, Pat, PatType, Safety, Signature, Type, Visibility};

use crate::arguments::{Arguments, Block, Published, Values};

/// A function whose body is kept as tokens, because each kernel gets a copy of the body.
struct Function {
    attrs: Vec<Attribute>,
    vis: Visibility,
    sig: Signature,
    /// The statements between the braces.
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (attrs, vis, sig) = (Attribute::parse_outer(input)?, input.parse()?, input.parse()?);
        let body;
        syn::braced!(body in input);
        Ok(Self { attrs, vis, sig, body: body.parse()? })
    }
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = Error::new(error.span(), format!("#[rung] goes on a function: {error}"));
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let checked = syn::parse2::<Arguments>(arguments).and_then(|arguments| {
        check(&arguments, &function)?;
        Ok(arguments)
    });
    match checked {
        Ok(arguments) => {
            let kernels = variants(&arguments).into_iter().flat_map(|variant| {
                let blocks = blocks_of(&arguments, &variant)
                    .map_or(vec![None], |blocks| blocks.into_iter().map(Some).collect::<Vec<_>>());
                let kernel = |block: Option<Block>| kernel(&arguments, &function, &variant, block.as_ref());
                blocks.into_iter().map(kernel).collect::<Vec<_>>()
            });
            let kernels: TokenStream = kernels.collect();
            let description = description(&arguments, &function);
            quote!(#kernels #description)
        }
        Err(error) => {
            // The constant is defined even after an error, so that the ladder's list causes no further error.
            let (error, name) = (error.to_compile_error(), constant(&function.sig.ident));
            quote!(#error #[allow(missing_docs)] pub const #name: ::rung::Rung = ::rung::Rung::USUAL;)
        }
    }
}

/// Returns the name of a rung's description.
fn constant(rung: &Ident) -> Ident {
    format_ident!("{}", rung.to_string().to_uppercase(), span = rung.span())
}

/// Returns the names of the constants for the lengths of a block with this number of dimensions.
fn block_generics(dimensions: usize) -> &'static [&'static str] {
    if dimensions == 1 { &["BLOCK"] } else { &["BLOCK_X", "BLOCK_Y", "BLOCK_Z"][..dimensions] }
}

/// Returns whether a generic is a length of the block.
fn is_block_generic(name: &Ident) -> bool {
    ["BLOCK", "BLOCK_X", "BLOCK_Y", "BLOCK_Z"].iter().any(|known| name == known)
}

/// Returns the block sizes of a variant: the value of `BLOCK` that the attribute lists, or the sizes in `blocks`.
/// Returns `None` for a kernel that accepts every block.
fn blocks_of(arguments: &Arguments, variant: &Variant) -> Option<Vec<Block>> {
    let listed = variant.generics.iter().find(|(name, _)| is_block_generic(name));
    match listed {
        Some((_, size)) => syn::parse2(size.clone()).ok().map(|block| vec![block]),
        None => arguments.blocks.clone(),
    }
}

/// Checks that the arguments and the function are consistent.
fn check(arguments: &Arguments, function: &Function) -> syn::Result<()> {
    let (signature, name) = (&function.sig, &function.sig.ident);
    let fail = |span: Span, message: String| Err(Error::new(span, message));
    match &arguments.lesson {
        None => {
            let message = "a rung needs a lesson: write `lesson = \"what changes and why it helps\"`";
            return fail(Span::call_site(), message.to_owned());
        }
        Some(lesson) if lesson.value().trim().is_empty() => {
            return fail(lesson.span(), "the lesson is empty: write what changes and why it helps".to_owned());
        }
        Some(_) => {}
    }
    if !matches!(signature.safety, Safety::Unsafe(_)) {
        let message = format!("a kernel relies on its launch for safety: write `unsafe fn {name}`");
        return fail(name.span(), message);
    }
    let dimensions = match arguments.blocks.as_deref() {
        Some([]) => return fail(name.span(), "`blocks` lists no size: write `blocks = [128]`".to_owned()),
        Some([first, others @ ..]) => {
            if let Some(other) = others.iter().find(|other| other.dimensions != first.dimensions) {
                return fail(other.span, "all blocks of a rung must have the same number of lengths".to_owned());
            }
            Some(first.dimensions)
        }
        None => None,
    };
    for Values { generics, values } in &arguments.values {
        let Some(place) = generics.iter().position(is_block_generic) else { continue };
        let name = &generics[place];
        if arguments.blocks.is_some() || name != "BLOCK" {
            return fail(name.span(), "if the values of a generic list `BLOCK`, omit `blocks`".to_owned());
        }
        for (_, sizes) in values {
            syn::parse2::<Block>(sizes[place].clone())?;
        }
    }
    let is_listed = |ident: &Ident| arguments.values.iter().any(|values| values.generics.contains(ident));
    for generic in &signature.generics.params {
        let (ident, is_const) = match generic {
            GenericParam::Const(ConstParam { ident, .. }) => (ident, true),
            GenericParam::Type(parameter) => (&parameter.ident, false),
            GenericParam::Lifetime(lifetime) => {
                let message = "a kernel has no lifetime parameters: omit the lifetimes of references".to_owned();
                return fail(lifetime.lifetime.span(), message);
            }
        };
        if is_const && is_block_generic(ident) && !is_listed(ident) {
            match dimensions {
                None => {
                    let message =
                        format!("`{ident}` is the block size, but no size is listed: write `blocks = [128, 256]`");
                    return fail(ident.span(), message);
                }
                Some(dimensions) if !block_generics(dimensions).iter().any(|known| ident == known) => {
                    let names = block_generics(dimensions).join("`, `");
                    let message = format!("the generics for this number of lengths are named `{names}`, not `{ident}`");
                    return fail(ident.span(), message);
                }
                Some(_) => {}
            }
        } else if !is_listed(ident) {
            let hint = if is_const { "name: 1" } else { "name: f32" };
            let message = format!(
                "`{ident}` is not the block size (`BLOCK`, or `BLOCK_X` and `BLOCK_Y`), and #[rung] lists no values for \
                 it: write `{ident} = {{ {hint} }}`"
            );
            return fail(ident.span(), message);
        }
    }
    let is_generic = |name: &Ident| {
        signature.generics.params.iter().any(|generic| match generic {
            GenericParam::Const(parameter) => parameter.ident == *name,
            GenericParam::Type(parameter) => parameter.ident == *name,
            GenericParam::Lifetime(_) => false,
        })
    };
    let mut listed = arguments.values.iter().flat_map(|values| &values.generics);
    if let Some(unknown) = listed.find(|name| !is_generic(name)) {
        return fail(unknown.span(), format!("`{name}` has no generic `{unknown}`"));
    }
    let uses_block = signature.generics.params.iter().any(|generic| match generic {
        GenericParam::Const(parameter) => is_block_generic(&parameter.ident),
        _ => false,
    });
    if let Some([_, second, ..]) = arguments.blocks.as_deref()
        && !uses_block
    {
        let names = block_generics(dimensions.unwrap_or(1));
        let generics: Vec<_> = names.iter().map(|name| format!("const {name}: u32")).collect();
        let message = format!(
            "kernels for several block sizes need the size as a generic: write `{name}<{}>`, or omit `blocks` if one \
             kernel accepts every block",
            generics.join(", ")
        );
        return fail(second.span, message);
    }
    if arguments.default_block.is_none() && arguments.blocks.as_deref().is_none_or(|blocks| blocks.len() != 1) {
        return fail(name.span(), "the default block is missing: write `default_block = 128`".to_owned());
    }
    if let (Some(default), Some(blocks)) = (&arguments.default_block, &arguments.blocks)
        && !blocks.iter().any(|block| block.lengths == default.lengths)
    {
        return fail(default.span, "the default block is not among `blocks`".to_owned());
    }
    for (map, _) in &arguments.box_rows {
        let is_map = |input: &FnArg| match input {
            FnArg::Typed(parameter) => matches!(&*parameter.pat, Pat::Ident(pat) if pat.ident == *map),
            FnArg::Receiver(_) => false,
        };
        if !signature.inputs.iter().any(is_map) {
            return fail(map.span(), format!("`{name}` has no parameter `{map}`"));
        }
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                return fail(receiver.self_token.span, "a kernel is a function, not a method".to_owned());
            }
            FnArg::Typed(PatType { pat, .. }) if !matches!(&**pat, Pat::Ident(_)) => {
                let message = "the host finds a kernel's arguments by name: write `name: type`".to_owned();
                return Err(Error::new_spanned(pat, message));
            }
            FnArg::Typed(parameter) => {
                if let Some(marker) = grid_constant(parameter)
                    && referenced(parameter).is_none()
                {
                    let message = "#[grid_constant] goes on a parameter of type `&T`".to_owned();
                    return Err(Error::new_spanned(marker, message));
                }
            }
        }
    }
    Ok(())
}

/// One combination of values of the generics, except the block size.
struct Variant {
    /// The suffixes, joined by `_`.
    suffix: String,
    generics: Vec<(Ident, TokenStream)>,
}

/// Returns every combination of the listed values.
fn variants(arguments: &Arguments) -> Vec<Variant> {
    let mut all = vec![Variant { suffix: String::new(), generics: Vec::new() }];
    for Values { generics, values } in &arguments.values {
        all = all
            .iter()
            .flat_map(|before| {
                values.iter().map(move |(suffix, each)| {
                    let mut generics_of_all = before.generics.clone();
                    generics_of_all.extend(generics.iter().cloned().zip(each.iter().cloned()));
                    Variant { suffix: join(&before.suffix, suffix), generics: generics_of_all }
                })
            })
            .collect();
    }
    all
}

/// Joins two parts of a name with `_`.
fn join(first: &str, second: &str) -> String {
    let separator = if first.is_empty() || second.is_empty() { "" } else { "_" };
    format!("{first}{separator}{second}")
}

/// Replaces names in tokens.
fn substitute(tokens: TokenStream, generics: &[(Ident, TokenStream)]) -> TokenStream {
    let replace = |tree: TokenTree| match tree {
        TokenTree::Ident(ident) => match generics.iter().find(|(name, _)| ident == *name) {
            Some((_, value)) => value.clone(),
            None => ident.into_token_stream(),
        },
        TokenTree::Group(group) => {
            let mut replaced = proc_macro2::Group::new(group.delimiter(), substitute(group.stream(), generics));
            replaced.set_span(group.span());
            replaced.into_token_stream()
        }
        other => other.into_token_stream(),
    };
    tokens.into_iter().map(replace).collect()
}

/// Returns the attribute `#[grid_constant]` of a parameter.
fn grid_constant(parameter: &PatType) -> Option<&Attribute> {
    parameter.attrs.iter().find(|attr| attr.path().is_ident("grid_constant"))
}

/// Returns the type `T` of a parameter `name: &T`.
fn referenced(parameter: &PatType) -> Option<&Type> {
    match &*parameter.ty {
        Type::Reference(reference) if reference.mutability.is_none() => Some(&reference.elem),
        _ => None,
    }
}

/// Generates the kernel of a variant for one block, or for every block.
fn kernel(arguments: &Arguments, function: &Function, variant: &Variant, block: Option<&Block>) -> TokenStream {
    let Function { attrs, vis, sig, body } = function;
    let mut name = join(&sig.ident.to_string(), &variant.suffix);
    if let Some(block) = block {
        name = join(&name, &block.suffix());
    }
    let name = Ident::new(&name, sig.ident.span());

    let mut constants = TokenStream::new();
    let mut generics = variant.generics.clone();
    for generic in &sig.generics.params {
        let value = |ident: &Ident| generics.iter().find(|(name, _)| name == ident).map(|(_, value)| value.clone());
        match generic {
            GenericParam::Const(ConstParam { ident, ty, .. }) => {
                let length = block.and_then(|block| {
                    let place = block_generics(block.dimensions).iter().position(|name| ident == name)?;
                    Some(Literal::u32_unsuffixed(block.lengths[place]).into_token_stream())
                });
                if let Some(value) = length.or_else(|| value(ident)) {
                    constants.extend(quote!(const #ident: #ty = #value;));
                    generics.push((ident.clone(), value));
                }
            }
            GenericParam::Type(parameter) => {
                let ident = &parameter.ident;
                if let Some(value) = value(ident) {
                    constants.extend(quote!(type #ident = #value;));
                    // Check the bounds, and mark as used the traits that the bounds name.
                    if !parameter.bounds.is_empty() {
                        let bounds = &parameter.bounds;
                        constants.extend(quote!(const _: fn() = { fn is<__Value: #bounds>() {} is::<#ident> };));
                    }
                }
            }
            GenericParam::Lifetime(_) => {}
        }
    }

    let mut parameters = TokenStream::new();
    // The launch does not pass parameters of size 0.
    let mut place = quote!(0);
    let mut markers = TokenStream::new();
    if let Some(block) = block {
        let threads: u32 = block.lengths.iter().product();
        let threads = Literal::u32_suffixed(threads);
        markers.extend(match &arguments.resident {
            Some(resident) => marker(&quote!("// launch_bounds {} {}", const #threads, const #resident)),
            None => marker(&quote!("// launch_bounds {}", const #threads)),
        });
    }
    if let Some(cluster) = &arguments.cluster {
        markers.extend(marker(&quote!("// cluster {}", const #cluster)));
    }
    for input in &sig.inputs {
        let FnArg::Typed(parameter) = input else { continue };
        let ty = substitute(parameter.ty.to_token_stream(), &generics);
        if let (Some(_), Some(target)) = (grid_constant(parameter), referenced(parameter)) {
            let target = substitute(target.to_token_stream(), &generics);
            markers.extend(marker(&quote!(
                "// grid_constant {} {} {}",
                const #place, const ::core::mem::size_of::<#target>(), const ::core::mem::align_of::<#target>()
            )));
        }
        let others = parameter.attrs.iter().filter(|attr| !attr.path().is_ident("grid_constant"));
        let pat = &parameter.pat;
        parameters.extend(quote!(#(#others)* #pat: #ty,));
        place.extend(quote!(+ (::core::mem::size_of::<#ty>() != 0) as usize));
    }
    let count = sig.inputs.len();
    let lint = (count > 7).then(|| {
        quote!(#[allow(clippy::too_many_arguments, reason = "a kernel's parameters are the arguments of its launch")])
    });
    quote! {
        #(#attrs)*
        #lint
        #[::cuda_std::kernel]
        #vis unsafe fn #name(#parameters) {
            #constants
            #markers
            #body
        }
    }
}

/// Generates a comment in the kernel's assembly, which `cuda_builder` turns into a directive or an attribute of a
/// parameter. Upstream's `cuda_builder` leaves the comment unchanged.
fn marker(comment: &TokenStream) -> TokenStream {
    quote! {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the assembly is a comment.
        unsafe { ::core::arch::asm!(#comment, options(nomem, nostack, preserves_flags)) };
    }
}

/// Generates the constant that describes the rung.
fn description(arguments: &Arguments, function: &Function) -> TokenStream {
    let name = &function.sig.ident;
    let (constant, text) = (constant(name), name.to_string());
    let doc = format!("The rung `{name}`.");
    let mut fields = TokenStream::new();
    let lesson = &arguments.lesson;
    fields.extend(quote!(lesson: #lesson,));
    if let Some(after) = &arguments.after {
        let after = Literal::string(&after.to_string());
        fields.extend(quote!(after: #after,));
    }
    let parameters = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(PatType { pat, .. }) => match &**pat {
            Pat::Ident(pat) => Some(pat.ident.to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    fields.extend(quote!(parameters: &[#(#parameters),*],));
    let lengths = |block: &Block| {
        let [x, y, z] = block.lengths;
        quote!([#x, #y, #z])
    };
    let entries = |blocks: Option<Vec<Block>>| match blocks {
        Some(blocks) => {
            let blocks = blocks.iter().map(lengths);
            quote!(::rung::Entries::PerBlock(&[#(#blocks),*]))
        }
        None => quote!(::rung::Entries::Any),
    };
    if arguments.values.is_empty() {
        let entries = entries(arguments.blocks.clone());
        fields.extend(quote!(entries: #entries,));
    } else {
        let of_variants = variants(arguments).into_iter().map(|variant| {
            let (suffix, entries) = (&variant.suffix, entries(blocks_of(arguments, &variant)));
            quote!((#suffix, #entries))
        });
        fields.extend(quote!(entries: ::rung::Entries::PerVariant(&[#(#of_variants),*]),));
    }
    let only = || arguments.blocks.as_ref().and_then(|blocks| blocks.first());
    if let Some(default) = arguments.default_block.as_ref().or_else(only) {
        let default = lengths(default);
        fields.extend(quote!(default_block: #default,));
    }
    if let Some(block_for) = &arguments.block_for {
        fields.extend(quote!(block_for: ::core::option::Option::Some(#block_for),));
    }
    if let Some(items) = &arguments.items_per_thread {
        fields.extend(quote!(items_per_thread: (#items) as u32,));
    }
    if let Some(bytes) = &arguments.row_bytes {
        fields.extend(quote!(row_bytes: #bytes,));
    }
    if !arguments.box_rows.is_empty() {
        let of_variants = variants(arguments).into_iter().flat_map(|Variant { suffix, generics }| {
            let rows = arguments.box_rows.iter().map(move |(map, rows)| {
                let (map, rows) = (map.to_string(), substitute(rows.to_token_stream(), &generics));
                quote!((#suffix, #map) => ::core::option::Option::Some(#rows),)
            });
            rows.collect::<Vec<_>>()
        });
        fields.extend(quote!(box_rows: |variant, map| match (variant, map) {
            #(#of_variants)*
            _ => ::core::option::Option::None,
        },));
    }
    if let Some(grid) = &arguments.grid {
        fields.extend(quote!(grid: #grid,));
    }
    if let Some(bytes) = &arguments.dynamic_shared {
        let constants = function.sig.generics.params.iter().filter_map(|generic| match generic {
            GenericParam::Const(parameter) if is_block_generic(&parameter.ident) => {
                let dimensions = arguments.blocks.as_ref()?.first()?.dimensions;
                let place = block_generics(dimensions).iter().position(|name| parameter.ident == name)?;
                let (ident, ty) = (&parameter.ident, &parameter.ty);
                Some(quote_spanned!(ident.span()=>
                    #[allow(non_snake_case, unused_variables, clippy::unnecessary_cast)]
                    let #ident = block[#place] as #ty;
                ))
            }
            _ => None,
        });
        let of_variants = variants(arguments).into_iter().map(|Variant { suffix, generics }| {
            let bytes = substitute(bytes.to_token_stream(), &generics);
            quote!(#suffix => (#bytes) as u32,)
        });
        fields.extend(quote!(dynamic_shared: |block, variant| {
            let _ = block;
            #(#constants)*
            match variant { #(#of_variants)* _ => 0 }
        },));
    }
    if let Some(Published { factor, over }) = &arguments.published {
        let over = over.to_string();
        fields.extend(quote!(published: ::core::option::Option::Some(::rung::PublishedSpeedup {
            factor: #factor, over: #over,
        }),));
    }
    if let Some(count) = &arguments.published_count {
        fields.extend(quote!(published_count: #count,));
    }
    for flag in ["fixed_block", "in_place", "single_pass", "is_bound", "blocks_wait"] {
        if arguments.has(flag) {
            let flag = Ident::new(flag, Span::call_site());
            fields.extend(quote!(#flag: true,));
        }
    }
    quote! {
        #[doc = #doc]
        pub const #constant: ::rung::Rung = ::rung::Rung {
            name: #text,
            source: ::core::file!(),
            #fields
            ..::rung::Rung::USUAL
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Returns the expansion of the attribute, as text with single spaces.
    fn expanded(arguments: TokenStream, item: TokenStream) -> String {
        expand(arguments, item).to_string().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn assert_error(arguments: TokenStream, item: TokenStream, message: &str) {
        let text = expanded(arguments, item);
        assert!(text.contains("compile_error") && text.contains(message), "{message}: {text}");
        // The ladder's list still finds the description.
        assert!(text.contains("pub const SOME : "), "{text}");
    }

    #[test]
    fn a_kernel_for_each_value_and_block() {
        let text = expanded(
            quote!(lesson = "x", blocks = [64, 128], default_block = 64, (A, C) = { _: (u16, u16), f32: (u16, f32) }),
            quote! {
                /// Docs.
                pub unsafe fn some<A, C: Copy, const BLOCK: usize>(a: *const A, c: *mut C) {
                    body::<BLOCK>();
                }
            },
        );
        for name in ["some_64", "some_128", "some_f32_64", "some_f32_128"] {
            assert!(text.contains(&format!("pub unsafe fn {name} (")), "{name}: {text}");
        }
        for part in [
            "a : * const u16 , c : * mut f32 ,",
            "const BLOCK : usize = 128 ;",
            "type C = f32 ;",
            "parameters : & [\"a\" , \"c\"]",
            "\"// launch_bounds {}\" , const 64u32",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("compile_error"), "{text}");
    }

    #[test]
    fn blocks_of_two_dimensions_and_tensor_maps() {
        let text = expanded(
            quote!(lesson = "x", after = other, blocks = [(32, 16)], resident = 2, cluster = 2, in_place, published = 2 over other),
            quote! {
                pub unsafe fn some<const BLOCK_X: u32, const BLOCK_Y: u32>(#[grid_constant] map: &Map, n: u32) {}
            },
        );
        for part in [
            "fn some_32x16 (map : & Map , n : u32 ,)",
            "\"// grid_constant {} {} {}\" , const 0 , const :: core :: mem :: size_of :: < Map > ()",
            "\"// launch_bounds {} {}\" , const 512u32 , const 2",
            "\"// cluster {}\" , const 2",
            "const BLOCK_Y : u32 = 16 ;",
            "in_place : true",
            "after : \"other\"",
            "factor : 2f64",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_rung_chooses_the_rows_of_boxes_for_each_variant() {
        let text = expanded(
            quote!(lesson = "x", blocks = [64], box_rows = { a_map: 128, b_map: 8 * D }, D = { _: 2, d64: 4 }),
            quote! {
                pub unsafe fn some<const D: u32>(#[grid_constant] a_map: &Map, #[grid_constant] b_map: &Map) {}
            },
        );
        for part in [
            "(\"\" , \"a_map\") => :: core :: option :: Option :: Some (128)",
            "(\"\" , \"b_map\") => :: core :: option :: Option :: Some (8 * 2)",
            "(\"d64\" , \"b_map\") => :: core :: option :: Option :: Some (8 * 4)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_variant_lists_its_block() {
        let text = expanded(
            quote!(lesson = "x", default_block = 384, (D, BLOCK) = { _: (128, 384), d64: (64, 512) }),
            quote! {
                pub unsafe fn some<const D: u32, const BLOCK: u32>() {}
            },
        );
        for part in [
            "fn some_384 () { const D : u32 = 128 ; const BLOCK : u32 = 384 ;",
            "fn some_d64_512 () { const D : u32 = 64 ; const BLOCK : u32 = 512 ;",
            "(\"\" , :: rung :: Entries :: PerBlock (& [[384u32 , 1u32 , 1u32]]))",
            "(\"d64\" , :: rung :: Entries :: PerBlock (& [[512u32 , 1u32 , 1u32]]))",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        let plain = quote!(
            pub unsafe fn some(n: u32) {}
        );
        let sized = quote!(
            pub unsafe fn some<const BLOCK: u32>(n: u32) {}
        );
        let cases = [
            (quote!(default_block = 64), &plain, "write `lesson ="),
            (quote!(lesson = " ", default_block = 64), &plain, "the lesson is empty"),
            (quote!(lesson = "x"), &plain, "write `default_block = 128`"),
            (quote!(lesson = "x", blocks = []), &plain, "`blocks` lists no size"),
            (quote!(lesson = "x", blocks = [2048]), &sized, "1 to 1024 threads"),
            (quote!(lesson = "x", blocks = [64, (8, 8)]), &sized, "the same number of lengths"),
            (quote!(lesson = "x", blocks = [(8, 8)]), &sized, "named `BLOCK_X`, `BLOCK_Y`, not `BLOCK`"),
            (quote!(lesson = "x", default_block = 64), &sized, "write `blocks = [128, 256]`"),
            (quote!(lesson = "x", blocks = [64, 128], default_block = 64), &plain, "write `some<const BLOCK: u32>`"),
            (quote!(lesson = "x", blocks = [64, 128], default_block = 32), &sized, "not among `blocks`"),
            (quote!(lesson = "x", blocks = [64], BLOCK = { _: 64 }), &sized, "omit `blocks`"),
            (quote!(lesson = "x", default_block = 64, BLOCK = { _: 2048 }), &sized, "1 to 1024 threads"),
            (quote!(lesson = "x", default_block = 64, speed = 3), &plain, "no argument `speed`"),
            (quote!(lesson = "x", default_block = 64, T = { f32: f32 }), &plain, "no generic `T`"),
            (quote!(lesson = "x", default_block = 64, box_rows = { map: 8 }), &plain, "`some` has no parameter `map`"),
            (quote!(lesson = "x", lesson = "y"), &plain, "`lesson` is given twice"),
        ];
        for (arguments, item, message) in cases {
            assert_error(arguments, item.clone(), message);
        }
        let generic = quote!(
            pub unsafe fn some<T>(n: T) {}
        );
        assert_error(quote!(lesson = "x", default_block = 64), generic, "write `T = { name: f32 }`");
        let safe = quote!(
            pub fn some(n: u32) {}
        );
        assert_error(quote!(lesson = "x", default_block = 64), safe, "write `unsafe fn some`");
        let text = expanded(
            quote!(lesson = "x"),
            quote!(
                struct Some;
            ),
        );
        assert!(text.contains("goes on a function"), "{text}");
    }
}
