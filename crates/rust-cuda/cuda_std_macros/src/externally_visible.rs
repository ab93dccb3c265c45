//! `#[externally_visible]`: only checks the function, because rustc already exports every `no_mangle` function.

use crate::common::{Function, errors_before, has_no_mangle};
use proc_macro2::TokenStream;
use syn::Error;

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(token) = attr.into_iter().next() {
        return errors_before(Error::new(token.span(), "#[externally_visible] takes no arguments"), item);
    }
    match syn::parse2::<Function>(item.clone()) {
        Err(error) => {
            let message = format!("#[externally_visible] goes on a function: {error}");
            errors_before(Error::new(error.span(), message), item)
        }
        Ok(function) if function.attrs.iter().any(has_no_mangle) => item,
        Ok(function) => errors_before(
            Error::new(
                function.sig.ident.span(),
                "an externally visible function needs a stable name: add `#[unsafe(no_mangle)]`",
            ),
            item,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::common::testing::{messages, text};
    use quote::quote;

    #[test]
    fn an_exported_function_stays_unchanged() {
        for item in
            [quote! { #[no_mangle] pub extern "C" fn f() {} }, quote! { #[unsafe(no_mangle)] pub extern "C" fn f() {} }]
        {
            assert_eq!(text(&expand(quote!(), item.clone())), text(&item));
        }
    }

    #[test]
    fn misuse_is_an_error() {
        let found = messages(&expand(quote!(), quote! { pub fn f() {} }));
        assert!(found.len() == 1 && found[0].contains("add `#[unsafe(no_mangle)]`"), "{found:?}");
        assert_eq!(messages(&expand(quote!(1), quote! { fn f() {} })).len(), 1);
        assert_eq!(messages(&expand(quote!(), quote! { static S: u8 = 0; })).len(), 1);
    }
}
