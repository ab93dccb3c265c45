//! The attributes of `cuda_std`: [`macro@kernel`], [`macro@address_space`], [`macro@gpu_only`] and
//! [`macro@externally_visible`]. Use them through `cuda_std`, which re-exports all four.
//!
//! They have upstream rust-cuda's names and accept what upstream's accept, but expand to code for
//! rustc's own `nvptx64-nvidia-cuda` backend: plain attributes and ABIs of the language, no codegen
//! back channel. On every other target the same items become ordinary Rust, so that `cargo check`,
//! rustdoc and rust-analyzer work without a GPU toolchain.

use proc_macro::TokenStream;

mod address_space;
mod externally_visible;
mod generics;
mod gpu_only;
mod kernel;

/// Makes an `unsafe fn` a kernel: an entry point that the host launches by the function's name.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// # Safety
/// /// `data` points to `len` floats that nothing else uses.
/// #[kernel]
/// pub unsafe fn double(data: *mut f32, len: u32) {
///     let i = thread::index_1d();
///     if i < len {
///         // SAFETY: the caller passes `len` floats; each thread has its own index.
///         unsafe { *data.add(i as usize) *= 2.0 };
///     }
/// }
/// ```
///
/// For `nvptx64` the function becomes `#[unsafe(no_mangle)] extern "ptx-kernel" fn`, a `.entry` of the PTX module (PTX
/// ISA §11.2.1). That ABI is unstable: the crate needs `feature(abi_ptx)`, which `cuda_builder` passes. For any other
/// target it stays a plain function.
///
/// A kernel * is an `unsafe fn`: nothing checks that the launch fits what the kernel reads and writes; * returns
/// nothing: results go through pointers; * has no generics, no `async`, no `const`, no receiver: a launch names one
/// piece of machine code; * takes parameters that are [`Copy`]: the driver copies them byte by byte and drops nothing.
/// Each is one argument of the launch, with the bytes that it has in memory, and a parameter of size 0 is none; * takes
/// slices as `&[T]` and `&mut [T]`, each of which is two arguments: a pointer, which is never null, and the number of
/// elements as a `usize`. Each thread gets the whole slice, so those that write through a `&mut [T]` must write to
/// elements of their own. Other pointers with a length or a vtable, such as `&str`, are refused; * takes with
/// `#[grid_constant] name: &T` a `T` that stays among the launch's arguments, where all threads read it and nobody
/// copies it: CUDA C++'s `const __grid_constant__ T`, as tensor maps have to be passed. The launch has an argument with
/// the bytes of a `T`. The crate needs `feature(asm_experimental_arch)`, and upstream has no such thing.
///
/// Anything else is a compile error at the offending tokens, on every target.
///
/// Upstream's hints, `#[kernel(grid_dim = 1d, block_dim = 2d)]`, are accepted and, as upstream, have no effect.
#[proc_macro_attribute]
pub fn kernel(hints: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(hints.into(), item.into()).into()
}

/// Puts a `static` into one of the GPU's memories.
///
/// ```
/// use core::mem::MaybeUninit;
/// use cuda_std::address_space;
///
/// #[address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 1024] = [const { MaybeUninit::uninit() }; 1024];
/// ```
///
/// | argument | memory | PTX |
/// |---|---|---|
/// | `shared` | one copy a thread block; never initialized, so the type is `MaybeUninit`, or the value zeros, which nobody writes | `.shared` |
/// | `constant` | read-only for kernels, cached, at most 64 KiB | `.const` |
/// | `global` | device memory, where a static lives anyway: no effect | `.global` |
///
/// rustc knows no address spaces. For `nvptx64` the attribute therefore leaves a mark, the link section `.shared` or
/// `.constant`, which `cuda_builder` turns into the address space (PTX ISA §5.1). A build without that step would keep
/// the static in global memory, where all blocks share one copy. For any other target the attribute does nothing.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(space.into(), item.into()).into()
}

/// Keeps a function's body for the GPU; on other targets calling it panics, naming the function.
///
/// The signature stays the same everywhere (except that an explicit ABI is dropped off the GPU), so
/// that callers type-check on the host.
///
/// ```
/// use core::arch::asm;
/// use cuda_std::gpu_only;
///
/// #[gpu_only]
/// pub fn warps_of_the_multiprocessor() -> u32 {
///     let warps;
///     // SAFETY: reading a special register has no preconditions.
///     unsafe { asm!("mov.u32 {}, %nwarpid;", out(reg32) warps) };
///     warps
/// }
/// ```
#[proc_macro_attribute]
pub fn gpu_only(attr: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(attr.into(), item.into()).into()
}

/// Keeps a `#[unsafe(no_mangle)]` device function in the PTX although no kernel calls it.
///
/// Upstream's backend needs to be told; rustc's keeps every exported function, so the attribute only
/// checks that the function is exported.
#[proc_macro_attribute]
pub fn externally_visible(attr: TokenStream, item: TokenStream) -> TokenStream {
    externally_visible::expand(attr.into(), item.into()).into()
}

/// Helpers that the attributes share, for reading functions and other attributes, and for testing.
mod common {
    use proc_macro2::TokenStream;
    use quote::ToTokens;
    use syn::parse::{Parse, ParseStream};
    use syn::{Attribute, Meta, Signature, Visibility};

    /// A function whose body stays as it is: reading it would take longer than all else, and the compiler does so too.
    pub(crate) struct Function {
        pub(crate) attrs: Vec<Attribute>,
        pub(crate) vis: Visibility,
        pub(crate) sig: Signature,
        /// With its braces.
        pub(crate) block: TokenStream,
    }

    impl Parse for Function {
        fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
            let (attrs, vis, sig) = (Attribute::parse_outer(input)?, input.parse()?, input.parse()?);
            let body;
            let braces = syn::braced!(body in input);
            let body: TokenStream = body.parse()?;
            let mut block = TokenStream::new();
            braces.surround(&mut block, |block| body.to_tokens(block));
            Ok(Self { attrs, vis, sig, block })
        }
    }

    /// Whether `attr` is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
    pub(crate) fn is_no_mangle(attr: &Attribute) -> bool {
        match &attr.meta {
            Meta::Path(path) => path.is_ident("no_mangle"),
            Meta::List(list) if list.path.is_ident("unsafe") => {
                list.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("no_mangle"))
            }
            _ => false,
        }
    }

    /// Emits the errors and then the item unchanged, so that later uses of its name do not add errors
    /// that are mere consequences of the first.
    pub(crate) fn errors_before(error: syn::Error, item: TokenStream) -> TokenStream {
        let mut tokens = error.to_compile_error();
        tokens.extend(item);
        tokens
    }

    /// Collects errors so that all of them are reported at once.
    #[derive(Default)]
    pub(crate) struct Errors(Option<syn::Error>);

    impl Errors {
        pub(crate) fn push(&mut self, error: syn::Error) {
            match &mut self.0 {
                Some(first) => first.combine(error),
                none => *none = Some(error),
            }
        }

        pub(crate) fn into_result(self) -> syn::Result<()> {
            self.0.map_or(Ok(()), Err)
        }
    }

    #[cfg(test)]
    pub(crate) mod testing {
        use proc_macro2::TokenStream;

        /// Tokens as text with single spaces, so that assertions do not depend on layout.
        pub(crate) fn text(tokens: &TokenStream) -> String {
            tokens.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        }

        /// The messages of all `compile_error!`s in `tokens`.
        pub(crate) fn messages(tokens: &TokenStream) -> Vec<String> {
            let file: syn::File = syn::parse2(tokens.clone()).expect("what an attribute expands to is items");
            file.items
                .iter()
                .filter_map(|item| match item {
                    syn::Item::Macro(found) if found.mac.path.segments.last()?.ident == "compile_error" => {
                        Some(found.mac.parse_body::<syn::LitStr>().ok()?.value())
                    }
                    _ => None,
                })
                .collect()
        }
    }
}
