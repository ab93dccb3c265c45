//! `#[kernel]`: checks a function against what an entry point can be, then gives it the entry ABI.

use crate::common::{Errors, errors_before, is_no_mangle};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Error, FnArg, ItemFn, Lit, ReturnType, Token, Type,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
    spanned::Spanned,
};

pub(crate) fn expand(hints: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = Error::new(error.span(), format!("#[kernel] goes on a function: {error}"));
            return errors_before(error, item);
        }
    };
    match check(hints, &function) {
        Ok(()) => entry_point(&function),
        Err(error) => errors_before(error, item),
    }
}

/// Checks everything that the tokens alone can tell. That parameters are `Copy` is checked by the
/// compiler, in the code that [`entry_point`] writes.
fn check(hints: TokenStream, function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    let name = &signature.ident;
    let mut errors = Errors::default();
    let mut reject = |tokens: &dyn ToTokens, message: String| {
        errors.push(Error::new_spanned(tokens.to_token_stream(), message));
    };

    if signature.unsafety.is_none() {
        reject(
            &signature.fn_token,
            format!(
                "a kernel is an `unsafe fn`, because nothing checks that a launch fits what it reads \
                 and writes: write `unsafe fn {name}`"
            ),
        );
    }
    if !signature.generics.params.is_empty() {
        reject(
            &signature.generics.params,
            format!(
                "a kernel has no generics, because a launch names one piece of machine code: make \
                 the body a generic `#[inline(always)] unsafe fn`, and `{name}` a kernel that calls \
                 it with concrete arguments, one kernel for each"
            ),
        );
    } else if let Some(clause) = &signature.generics.where_clause {
        reject(clause, "a kernel has no `where` clause, because it has no generics: remove it".into());
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        // `-> ()` is what leaving it out means.
        if !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) {
            reject(
                &signature.output,
                "a kernel returns nothing, because no thread waits for its result: write the \
                 result through a pointer parameter"
                    .into(),
            );
        }
    }
    if let Some(token) = &signature.asyncness {
        reject(token, "a kernel cannot be `async`: a GPU thread has no executor".into());
    }
    if let Some(token) = &signature.constness {
        reject(token, "a kernel cannot be `const`: it is launched, not evaluated".into());
    }
    if let Some(token) = &signature.variadic {
        reject(token, "a kernel cannot be variadic: the driver passes a fixed list".into());
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => reject(
                receiver,
                "a kernel is a free function, not a method: pass what `self` holds as parameters".into(),
            ),
            FnArg::Typed(parameter) => {
                if let Type::ImplTrait(ty) = &*parameter.ty {
                    reject(
                        ty,
                        "a kernel parameter has a concrete type: `impl Trait` is a generic in \
                         disguise"
                            .into(),
                    );
                }
            }
        }
    }
    if let Err(error) = Punctuated::<Hint, Token![,]>::parse_terminated.parse2(hints) {
        errors.push(error);
    }
    errors.into_result()
}

/// Writes the function twice, for the GPU and for other targets, and the check of its parameters once.
fn entry_point(function: &ItemFn) -> TokenStream {
    // Written by us, with the right condition.
    let attrs = function.attrs.iter().filter(|attr| !is_no_mangle(attr)).collect::<Vec<_>>();
    let (vis, block) = (&function.vis, &function.block);

    let mut host = function.sig.clone();
    host.abi = None;
    let mut device = host.clone();
    device.abi = Some(syn::parse_quote!(extern "ptx-kernel"));

    // A span of its own for each parameter, so that the compiler points at the type.
    let checks = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(parameter) => {
            let ty = &parameter.ty;
            Some(quote_spanned!(ty.span()=> kernel_parameters_must_be_copy::<#ty>();))
        }
        FnArg::Receiver(_) => None,
    });

    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis #device #block

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(dead_code)]
        #vis #host #block

        const _: () = {
            #[allow(dead_code)]
            const fn kernel_parameters_must_be_copy<T: ::core::marker::Copy>() {}
            #(#checks)*
        };
    }
}

/// One of upstream's hints, `grid_dim = 2d`. It is checked and then ignored, as upstream does.
struct Hint;

impl Parse for Hint {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        if name != "grid_dim" && name != "block_dim" {
            return Err(Error::new(
                name.span(),
                format!(
                    "#[kernel] has no option `{name}`; it has `grid_dim = 1d` and `block_dim = 1d` \
                     (1d, 2d or 3d)"
                ),
            ));
        }
        input.parse::<Token![=]>()?;
        // `1d` lexes as the integer 1 with the suffix `d`.
        let dimension: Lit = input.parse()?;
        match dimension.to_token_stream().to_string().as_str() {
            "1d" | "1D" | "2d" | "2D" | "3d" | "3D" => Ok(Self),
            other => Err(Error::new(
                dimension.span(),
                format!("`{other}` is not a dimension of a launch; write 1d, 2d or 3d"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::common::testing::{messages, text};
    use proc_macro2::TokenStream;
    use quote::quote;

    #[track_caller]
    fn rejects(hints: TokenStream, item: TokenStream, expected: &[&str]) {
        let found = messages(&expand(hints, item));
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (message, part) in found.iter().zip(expected) {
            assert!(message.contains(part), "{message:?} has no {part:?}");
        }
    }

    #[test]
    fn is_an_entry_point_on_the_gpu_and_a_function_elsewhere() {
        let out = expand(quote!(), quote! { /** Doc. */ pub unsafe fn k(p: *mut f32, n: u32) { body() } });
        assert_eq!(
            text(&out),
            text(&quote! {
                #[cfg(target_arch = "nvptx64")]
                /** Doc. */
                #[unsafe(no_mangle)]
                pub unsafe extern "ptx-kernel" fn k(p: *mut f32, n: u32) { body() }
                #[cfg(not(target_arch = "nvptx64"))]
                /** Doc. */
                #[allow(dead_code)]
                pub unsafe fn k(p: *mut f32, n: u32) { body() }
                const _: () = {
                    #[allow(dead_code)]
                    const fn kernel_parameters_must_be_copy<T: ::core::marker::Copy>() {}
                    kernel_parameters_must_be_copy::<*mut f32>();
                    kernel_parameters_must_be_copy::<u32>();
                };
            })
        );
    }

    #[test]
    fn an_abi_and_no_mangle_of_ones_own_are_replaced() {
        for attr in [quote!(#[no_mangle]), quote!(#[unsafe(no_mangle)])] {
            let item = quote! { #attr pub unsafe extern "C" fn k() -> () {} };
            let out = text(&expand(quote!(), item));
            assert_eq!(out.matches("no_mangle").count(), 1, "{out}");
            assert!(!out.contains("\"C\""), "{out}");
        }
    }

    #[test]
    fn hints_are_accepted() {
        let kernel = quote! { unsafe fn k() {} };
        for (hints, expected) in [
            (quote!(grid_dim = 1d), &[][..]),
            (quote!(grid_dim = 3D, block_dim = 2d,), &[]),
            (quote!(grid_dim = 4d), &["`4d` is not a dimension"]),
            (quote!(max = 1d), &["no option `max`"]),
        ] {
            rejects(hints, kernel.clone(), expected);
        }
    }

    #[test]
    fn every_violation_is_named() {
        for (item, expected) in [
            (quote! { fn k() {} }, "write `unsafe fn k`"),
            (quote! { unsafe fn k<T>(t: T) {} }, "no generics"),
            (quote! { unsafe fn k<const N: u32>() {} }, "no generics"),
            (quote! { unsafe fn k() where u8: Copy {} }, "no `where`"),
            (quote! { unsafe fn k() -> i32 { 0 } }, "returns nothing"),
            (quote! { async unsafe fn k() {} }, "`async`"),
            (quote! { const unsafe fn k() {} }, "`const`"),
            (quote! { unsafe fn k(&self) {} }, "not a method"),
            (quote! { unsafe fn k(f: impl Fn()) {} }, "`impl Trait`"),
            (quote! { struct K; }, "goes on a function"),
        ] {
            rejects(quote!(), item, &[expected]);
        }
    }

    #[test]
    fn all_violations_are_reported_at_once_and_the_name_stays_known() {
        let item = quote! { fn k<T>() -> i32 { 0 } };
        let all = ["`unsafe fn`", "no generics", "returns nothing"];
        rejects(quote!(), item.clone(), &all);
        assert!(text(&expand(quote!(), item.clone())).ends_with(&text(&item)));
    }
}
