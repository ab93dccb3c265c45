//! `#[address_space(…)]`: marks a static that `cuda_builder` moves to another address space.

use crate::common::errors_before;
use crate::generics;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, ItemStatic};

pub(crate) fn expand(space: TokenStream, item: TokenStream) -> TokenStream {
    let parsed: ItemStatic = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = format!("#[address_space] goes on a `static` with an initializer: {error}");
            return errors_before(Error::new(error.span(), text), item);
        }
    };
    if let Some(name) = generics::first_use(parsed.ty.to_token_stream()) {
        let error = Error::new(
            name.span(),
            format!(
                "a static cannot use the generic parameter `{name}` of the enclosing function: declare the static in the \
                 kernel, with a constant length, and pass its pointer to the generic function"
            ),
        );
        let ItemStatic { vis, mutability, ident, .. } = parsed;
        return errors_before(error, quote!(#vis static #mutability #ident: () = ();));
    }
    match section(space) {
        Ok(None) => item,
        Ok(Some(section)) => quote! {
            #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
            #item
        },
        Err(error) => errors_before(error, item),
    }
}

/// Returns the link section that marks `space`, or `None` for global memory, where statics live by default.
fn section(space: TokenStream) -> syn::Result<Option<&'static str>> {
    let known = "one of `shared`, `constant`, `global`";
    let name: Ident = syn::parse2(space).map_err(|error| {
        Error::new(error.span(), format!("#[address_space(…)] takes {known}, for example #[address_space(shared)]"))
    })?;
    match name.to_string().as_str() {
        "shared" => Ok(Some(".shared")),
        "constant" => Ok(Some(".constant")),
        "global" => Ok(None),
        "local" => Err(Error::new(
            name.span(),
            "a static cannot be in local memory, which is private to each thread: use a `let` in \
             the kernel",
        )),
        other => Err(Error::new(name.span(), format!("unknown address space `{other}`: use {known}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use crate::common::testing::{messages, text};
    use quote::quote;

    #[test]
    fn shared_and_constant_leave_a_mark_and_global_does_not() {
        let item = quote! { static mut S: [MaybeUninit<f32>; 4] = [const { MaybeUninit::uninit() }; 4]; };
        for (space, section) in [(quote!(shared), ".shared"), (quote!(constant), ".constant")] {
            assert_eq!(
                text(&expand(space, item.clone())),
                text(&quote! {
                    #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))]
                    #item
                })
            );
        }
        assert_eq!(text(&expand(quote!(global), item.clone())), text(&item));
    }

    #[test]
    fn anything_else_is_an_error() {
        let item = quote! { static S: u32 = 0; };
        for (space, part) in [
            (quote!(local), "local memory"),
            (quote!(texture), "unknown address space `texture`"),
            (quote!(), "one of `shared`"),
            (quote!(shared, 3), "one of `shared`"),
        ] {
            let found = messages(&expand(space, item.clone()));
            assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
        }
        let found = messages(&expand(quote!(shared), quote! { const S: u32 = 0; }));
        assert!(found.len() == 1 && found[0].contains("goes on a `static`"), "{found:?}");
    }
}
