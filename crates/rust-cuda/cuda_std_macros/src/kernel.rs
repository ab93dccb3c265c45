//! `#[kernel]`: checks that a function can be an entry point, and gives it the entry-point ABI.

use crate::common::{Errors, Function, errors_before, has_no_mangle};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Error, FnArg, Lit, Pat, PatType, ReturnType, Safety, Token, Type, TypeGroup, TypeParen, TypeReference,
    parse::{Parse, ParseStream, Parser},
    parse_quote,
    punctuated::Punctuated,
    spanned::Spanned,
};

pub(crate) fn expand(hints: TokenStream, item: TokenStream) -> TokenStream {
    let function: Function = match syn::parse2(item.clone()) {
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

/// Checks everything that can be determined from the tokens. The code that [`entry_point`] generates makes the compiler
/// check that parameters are `Copy`.
fn check(hints: TokenStream, function: &Function) -> syn::Result<()> {
    let signature = &function.sig;
    let name = &signature.ident;
    let mut errors = Errors::default();
    let mut reject = |tokens: &dyn ToTokens, message: String| {
        errors.push(Error::new_spanned(tokens.to_token_stream(), message));
    };

    if !matches!(signature.safety, Safety::Unsafe(_)) {
        reject(
            &signature.fn_token,
            format!(
                "a kernel must be an `unsafe fn`, because nothing checks that a launch fits what it reads \
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
                 it with concrete arguments, with one kernel for each combination"
            ),
        );
    } else if let Some(clause) = &signature.generics.where_clause {
        reject(clause, "a kernel has no `where` clause, because it has no generics: remove it".into());
    }
    if let ReturnType::Type(_, ty) = &signature.output {
        // `-> ()` is equivalent to no return type.
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
        reject(token, "a kernel cannot be variadic: the driver passes a fixed list of arguments".into());
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => reject(
                receiver,
                "a kernel must be a free function, not a method: pass the fields of `self` as parameters".into(),
            ),
            FnArg::Typed(parameter) => {
                if let Type::ImplTrait(ty) = &*parameter.ty {
                    reject(
                        ty,
                        "a kernel parameter must have a concrete type: `impl Trait` is an anonymous \
                         generic"
                            .into(),
                    );
                }
                let marker = parameter.attrs.iter().find(|attr| attr.path().is_ident(GRID_CONSTANT));
                if let (Some(marker), None) = (marker, grid_constant(parameter)) {
                    reject(
                        marker,
                        "#[grid_constant] goes on a parameter of type `&T`: the launch passes the `T` as an argument"
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

/// Generates the function twice (for the GPU and for other targets), and the checks of its parameters once.
fn entry_point(function: &Function) -> TokenStream {
    // The generated code adds `no_mangle` itself, for the GPU only.
    let attrs = function.attrs.iter().filter(|attr| !has_no_mangle(attr)).collect::<Vec<_>>();
    let (vis, block) = (&function.vis, &function.block);

    let mut host = function.sig.clone();
    host.abi = None;
    let mut device = host.clone();
    device.abi = Some(parse_quote!(extern "ptx-kernel"));
    device.inputs.clear();
    let mut slices = TokenStream::new();
    let mut checks = TokenStream::new();
    let mut markers = TokenStream::new();
    let mut description = Description::default();
    // The number of parameters in the IR so far. Parameters of size 0 do not count.
    let mut place = quote!(0);
    for (number, input) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(parameter) = input else {
            continue;
        };
        let ty = &parameter.ty;
        if let Some(target) = grid_constant(parameter) {
            markers.extend(quote_spanned!(ty.span()=>
                // SAFETY (for the generated code): a comment has no effect.
                unsafe {
                    ::core::arch::asm!(
                        "// grid_constant {} {} {}",
                        const #place, const ::core::mem::size_of::<#target>(), const ::core::mem::align_of::<#target>(),
                        options(nomem, nostack, preserves_flags)
                    );
                }
            ));
        }
        description.add(parameter, &place);
        let Some((reference, element)) = slice(ty) else {
            place.extend(quote!(+ (::core::mem::size_of::<#ty>() != 0) as usize));
            if !is_known(ty) {
                // Each parameter has a separate span, so that the compiler points at its type.
                checks.extend(quote_spanned!(ty.span()=> kernel_parameters_must_be_copy::<#ty>();));
                checks.extend(
                    quote_spanned!(ty.span()=> const _: () = ::core::assert!(!Parameter::<#ty>::IS_WIDE, #WIDE);),
                );
            }
            device.inputs.push(without_grid_constant(input));
            continue;
        };
        place.extend(quote!(+ 2));
        let (attrs, pat) = (&parameter.attrs, &parameter.pat);
        let data = format_ident!("slice_{}", number, span = Span::mixed_site());
        let len = format_ident!("slice_{}_len", number, span = Span::mixed_site());
        let (thin, from) = if reference.mutability.is_some() {
            // All threads share this slice, but LLVM would treat a `&mut` as the only way to access its elements.
            (quote!(*mut #element), quote!(from_raw_parts_mut(#data, #len)))
        } else {
            // No code writes through a `&[T]`, so its elements can be loaded through the read-only cache. A parameter
            // of type `&[T; 0]` tells LLVM that the memory is read-only. With this type, no length is passed, and an
            // empty slice requires no valid memory.
            let lifetime = &reference.lifetime;
            (quote!(&#lifetime [#element; 0]), quote!(from_raw_parts(#data.as_ptr(), #len)))
        };
        device.inputs.push(parse_quote!(#(#attrs)* #data: #thin));
        device.inputs.push(parse_quote!(#(#attrs)* #len: usize));
        // SAFETY (for the generated code): the launch passes the slice's pointer and length.
        slices.extend(quote!(#(#attrs)* let #pat: #ty = unsafe { ::core::slice::#from };));
    }
    let description = description.marker();
    let is_plain = slices.is_empty() && markers.is_empty() && description.is_empty();
    let body = if is_plain { quote!(#block) } else { quote!({ #description #markers #slices #block }) };
    host.inputs = host.inputs.iter().map(without_grid_constant).collect();

    let checks = if checks.is_empty() { checks } else { in_checks(&checks) };
    // On the GPU, `print!` itself reports that it needs the feature `alloc`.
    let printing = printing(block.clone())
        .map(|span| quote_spanned!(span=> #[cfg(not(target_arch = "nvptx64"))] ::cuda_std::__printing_needs_alloc!();));
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis #device #body

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(dead_code)]
        #vis #host #block

        #checks
        #printing
    }
}

/// The names and types of a kernel's parameters. `cuda_builder` writes them into the PTX as comments.
///
/// The text has the form `0 [] a: &[f32] | 2 sum: *mut f32`. Each parameter has its index in the PTX. Slices have
/// brackets, which contain the size of an element in bytes if the type does not show it: `0 [4] a: &[Color]`.
#[derive(Default)]
struct Description {
    text: String,
    /// The value of each `{}` in the text.
    numbers: Vec<TokenStream>,
    /// Whether only the compiler knows the next index, because it depends on the sizes of earlier parameters.
    is_index_unknown: bool,
    next: usize,
}

impl Description {
    fn add(&mut self, parameter: &PatType, place: &TokenStream) {
        let ty = &parameter.ty;
        let element = slice(ty).map(|(_, element)| element);
        let shown = match slice(ty) {
            Some((reference, element)) if reference.mutability.is_some() => quote!(&mut [#element]),
            Some((_, element)) => quote!(&[#element]),
            None => grid_constant(parameter).unwrap_or(ty).to_token_stream(),
        };
        let name = match &*parameter.pat {
            Pat::Ident(name) => name.ident.to_string(),
            _ => "_".to_owned(),
        };
        let separator = if self.text.is_empty() { "" } else { " | " };
        let index = match self.is_index_unknown {
            true => {
                self.numbers.push(place.clone());
                "{}".to_owned()
            }
            false => self.next.to_string(),
        };
        let brackets = match element {
            Some(element) if !is_known(element) => {
                self.numbers.push(quote!(::core::mem::size_of::<#element>()));
                " [{}]"
            }
            Some(_) => " []",
            None => "",
        };
        let shown = plain(&shown.to_string());
        self.text += &format!("{separator}{index}{brackets} {name}: {}", shown.replace('{', "{{").replace('}', "}}"));
        self.next += if element.is_some() { 2 } else { 1 };
        self.is_index_unknown |= element.is_none() && (matches!(**ty, Type::Array(_)) || !is_known(ty));
    }

    fn marker(&self) -> TokenStream {
        let Self { text, numbers, .. } = self;
        if text.is_empty() {
            return TokenStream::new();
        }
        let text = format!("// parameters {text}");
        quote!(::cuda_std::__parameters!(#text #(, const #numbers)*);)
    }
}

/// Returns a type in its usual notation: `&[f32]` instead of `& 'a [f32]`.
fn plain(tokens: &str) -> String {
    let mut text = String::new();
    for word in tokens.split_whitespace().filter(|word| !word.starts_with('\'')) {
        let is_name = text.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let needs_space = text.ends_with([',', ';'])
            || is_name && word.starts_with(|c: char| c.is_alphanumeric() || "_[(&*".contains(c));
        if needs_space {
            text.push(' ');
        }
        text += word;
    }
    text
}

/// Returns the span of the first `print!` or `println!` in a kernel.
fn printing(block: TokenStream) -> Option<Span> {
    let mut name = None;
    for token in block {
        match (&token, name.take()) {
            (TokenTree::Punct(punct), Some(span)) if punct.as_char() == '!' => return Some(span),
            (TokenTree::Ident(ident), _) if ident == "print" || ident == "println" => name = Some(ident.span()),
            (TokenTree::Group(group), _) => {
                if let Some(span) = printing(group.stream()) {
                    return Some(span);
                }
            }
            _ => {}
        }
    }
    None
}

/// Wraps the parameter checks in a block with the items that these checks use.
fn in_checks(checks: &TokenStream) -> TokenStream {
    quote! {
        #[allow(dead_code)]
        const _: () = {
            const fn kernel_parameters_must_be_copy<T: ::core::marker::Copy>() {}
            struct Parameter<T: ?Sized>(::core::marker::PhantomData<T>);
            trait Thin {
                const IS_WIDE: bool = false;
            }
            impl<T: ?Sized> Thin for Parameter<T> {}
            // An inherent item takes precedence over a trait item of the same name.
            impl<T: ?Sized> Parameter<&T> {
                const IS_WIDE: bool = ::core::mem::size_of::<&T>() > ::core::mem::size_of::<usize>();
            }
            impl<T: ?Sized> Parameter<*const T> {
                const IS_WIDE: bool = Parameter::<&T>::IS_WIDE;
            }
            impl<T: ?Sized> Parameter<*mut T> {
                const IS_WIDE: bool = Parameter::<&T>::IS_WIDE;
            }
            #checks
        };
    }
}

/// Returns whether a type is a number or a pointer to numbers, which is `Copy` and not a wide pointer. Most parameters
/// have such types, and compiling a kernel's checks takes longer than compiling the kernel.
fn is_known(ty: &Type) -> bool {
    const NUMBERS: &[&str] = &[
        "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
        "usize",
    ];
    match ty {
        Type::Path(path) => path.qself.is_none() && NUMBERS.iter().any(|name| path.path.is_ident(name)),
        Type::Ptr(pointer) => is_known(&pointer.elem),
        Type::Reference(reference) => reference.mutability.is_none() && is_known(&reference.elem),
        Type::Array(array) => is_known(&array.elem),
        Type::Group(TypeGroup { elem, .. }) | Type::Paren(TypeParen { elem, .. }) => is_known(elem),
        _ => false,
    }
}

const GRID_CONSTANT: &str = "grid_constant";

/// Returns the type `T` of a parameter `#[grid_constant] name: &T`.
fn grid_constant(parameter: &PatType) -> Option<&Type> {
    let is_marked = parameter.attrs.iter().any(|attr| attr.path().is_ident(GRID_CONSTANT));
    match &*parameter.ty {
        Type::Reference(reference) if is_marked && reference.mutability.is_none() && slice(&parameter.ty).is_none() => {
            Some(&reference.elem)
        }
        _ => None,
    }
}

/// Returns the parameter without the attribute, which only this macro understands.
fn without_grid_constant(input: &FnArg) -> FnArg {
    let mut input = input.clone();
    if let FnArg::Typed(parameter) = &mut input {
        parameter.attrs.retain(|attr| !attr.path().is_ident(GRID_CONSTANT));
    }
    input
}

/// Returns the reference and the element type of `&[T]` or `&mut [T]`. As in upstream's kernels, such a slice becomes
/// two parameters: the pointer and the length.
fn slice(ty: &Type) -> Option<(&TypeReference, &Type)> {
    match ty {
        Type::Group(group) => slice(&group.elem),
        Type::Paren(paren) => slice(&paren.elem),
        Type::Reference(reference) => {
            let mut elem = &*reference.elem;
            while let Type::Group(TypeGroup { elem: inner, .. }) | Type::Paren(TypeParen { elem: inner, .. }) = elem {
                elem = inner;
            }
            match elem {
                Type::Slice(slice) => Some((reference, &slice.elem)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The compiler's message for `&str`, `&dyn Trait`, `*const [T]`, and for slices that a type alias hides.
const WIDE: &str = "a kernel parameter is a wide pointer, with a length or a vtable, which a launch cannot pass as one \
                    argument: write a slice as `&[T]` or `&mut [T]`, which are two arguments, a pointer and a length, \
                    and pass anything else as a pointer and separate parameters";

/// One of upstream's hints, such as `grid_dim = 2d`. The hint is checked and then ignored, as in upstream.
struct Hint;

impl Parse for Hint {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        if name != "grid_dim" && name != "block_dim" {
            return Err(Error::new(
                name.span(),
                format!(
                    "#[kernel] has no option `{name}`; its options are `grid_dim = 1d` and `block_dim = 1d` \
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
mod tests;
