//! `#[gpu_only]`: compiles a function's body for the GPU only. On every other target, the function panics with the
//! reason.

use crate::common::{Function, errors_before};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(token) = attr.into_iter().next() {
        return errors_before(Error::new(token.span(), "#[gpu_only] takes no arguments"), item);
    }
    let function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = Error::new(error.span(), format!("#[gpu_only] goes on a function: {error}"));
            return errors_before(error, item);
        }
    };
    let Function { attrs, vis, sig, block } = function;
    let name = sig.ident.to_string();
    let mut host = sig.clone();
    host.abi = None;
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #vis #sig #block

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(unused_variables, unused_mut)]
        #[track_caller]
        #vis #host {
            ::core::panic!(::core::concat!(
                ::core::module_path!(), "::", #name,
                " runs on the GPU only: call it from a kernel, in a crate that is compiled for \
                 nvptx64-nvidia-cuda (as cuda_builder does)"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::common::testing::{messages, text};
    use quote::quote;

    #[test]
    fn the_body_is_for_the_gpu_only() {
        let item = quote! { #[inline] pub unsafe extern "C" fn f(mut x: u32) -> u32 { x } };
        let out = text(&expand(quote!(), item));
        let (gpu, host) = out.split_once("# [cfg (not (").expect("two versions");
        for (version, part) in [
            (gpu, "extern \"C\" fn f (mut x : u32) -> u32 { x }"),
            (gpu, "# [inline]"),
            (host, "pub unsafe fn f (mut x : u32) -> u32 { :: core :: panic !"),
            (host, "# [inline]"),
            (host, "runs on the GPU only"),
        ] {
            assert!(version.contains(part), "{part}: {version}");
        }
    }

    #[test]
    fn misuse_is_an_error() {
        assert_eq!(messages(&expand(quote!(x), quote! { fn f() {} })), ["#[gpu_only] takes no arguments"]);
        assert!(messages(&expand(quote!(), quote! { struct S; }))[0].contains("goes on a function"));
    }
}
