//! The attributes of `cuda_std`: [`macro@kernel`], [`macro@address_space`], [`macro@gpu_only`] and
//! [`macro@externally_visible`]. Use them through `cuda_std`, which re-exports all four.
//!
//! The attributes have the same names and accept the same input as upstream rust-cuda's, but expand to code for rustc's
//! `nvptx64-nvidia-cuda` backend. The expansion only uses ordinary attributes and ABIs of the language. On every other
//! target, the same items become ordinary Rust, so that `cargo check`, rustdoc and rust-analyzer work without a GPU
//! toolchain.

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
/// /// The caller must ensure that `data` points to `len` floats that nothing else uses.
/// #[kernel]
/// pub unsafe fn double(data: *mut f32, len: u32) {
///     let i = thread::index_1d();
///     if i < len {
///         // SAFETY: `i < len`, so `i` is within the `len` floats, and each thread has a different `i`.
///         unsafe { *data.add(i as usize) *= 2.0 };
///     }
/// }
/// ```
///
/// For `nvptx64`, the function becomes `#[unsafe(no_mangle)] extern "ptx-kernel" fn`, an `.entry` of the PTX module
/// (PTX ISA §11.2.1). This ABI is unstable, so the crate needs `feature(abi_ptx)`, which `cuda_builder` passes. For any
/// other target, the function stays an ordinary function.
///
/// A kernel
/// * is an `unsafe fn`: nothing checks that the launch's arguments and grid match what the kernel reads and writes;
/// * returns nothing: it writes results through pointers;
/// * has no generics, no `async`, no `const` and no receiver: a launch names one piece of machine code;
/// * takes parameters that are [`Copy`]: the driver copies them byte by byte and drops nothing. Each parameter is one
///   argument of the launch, which passes the parameter's bytes. A parameter of size 0 is not an argument;
/// * takes slices as `&[T]` and `&mut [T]`. Each slice is two arguments: a pointer, which is never null, and the number
///   of elements as a `usize`. Each thread receives the whole slice, so threads that write through a `&mut [T]` must
///   write to different elements. Other pointers with a length or a vtable, such as `&str`, are rejected;
/// * can take a `T` as `#[grid_constant] name: &T`. The `T` stays in the launch's arguments, where all threads read it
///   without a copy, as with CUDA C++'s `const __grid_constant__ T`. Tensor maps must be passed this way. The launch
///   passes the bytes of a `T`. The crate needs `feature(asm_experimental_arch)`; upstream has no such attribute.
///
/// Anything else is a compile error at the offending tokens, on every target.
///
/// Upstream's hints, `#[kernel(grid_dim = 1d, block_dim = 2d)]`, are accepted and have no effect, as in upstream.
#[proc_macro_attribute]
pub fn kernel(hints: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(hints.into(), item.into()).into()
}

/// Places a `static` in one of the GPU's memories.
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
/// | `shared` | one copy per thread block; never initialized, so its type is `MaybeUninit`, or its value is all zeros, which the launch does not write | `.shared` |
/// | `constant` | read-only for kernels, cached, at most 64 KiB | `.const` |
/// | `global` | device memory, where statics live by default: no effect | `.global` |
///
/// rustc does not support address spaces. For `nvptx64`, the attribute therefore marks the static with the link section
/// `.shared` or `.constant`, which `cuda_builder` turns into the address space (PTX ISA §5.1). A build without this
/// step would leave the static in global memory, where all blocks share one copy. For any other target, the attribute
/// has no effect.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(space.into(), item.into()).into()
}

/// Compiles a function's body for the GPU only. On other targets, a call panics with the function's name.
///
/// The signature stays the same on all targets, so that callers type-check on the host. Only an explicit ABI is removed
/// on other targets.
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

/// Keeps a `#[unsafe(no_mangle)]` device function in the PTX even if no kernel calls it.
///
/// Upstream's backend needs this attribute. rustc keeps every exported function, so in this crate the attribute only
/// checks that the function is exported.
#[proc_macro_attribute]
pub fn externally_visible(attr: TokenStream, item: TokenStream) -> TokenStream {
    externally_visible::expand(attr.into(), item.into()).into()
}

/// Helpers that the attributes share: parsing functions and other attributes, and testing.
mod common {
    use proc_macro2::TokenStream;
    use quote::ToTokens;
    use syn::parse::{Parse, ParseStream};
    use syn::{Attribute, Meta, Signature, Visibility};

    /// A function whose body is not parsed, because parsing it would be the slowest step and the compiler parses it
    /// anyway.
    pub(crate) struct Function {
        pub(crate) attrs: Vec<Attribute>,
        pub(crate) vis: Visibility,
        pub(crate) sig: Signature,
        /// The body, including its braces.
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

    /// Returns whether `attr` is `#[no_mangle]` or `#[unsafe(no_mangle)]`.
    pub(crate) fn has_no_mangle(attr: &Attribute) -> bool {
        match &attr.meta {
            Meta::Path(path) => path.is_ident("no_mangle"),
            Meta::List(list) if list.path.is_ident("unsafe") => {
                list.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("no_mangle"))
            }
            _ => false,
        }
    }

    /// Emits the errors and then the unchanged item, so that uses of its name do not cause further errors.
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

        /// Returns the tokens as text with single spaces, so that assertions do not depend on layout.
        pub(crate) fn text(tokens: &TokenStream) -> String {
            tokens.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
        }

        /// Returns the messages of all `compile_error!`s in `tokens`.
        pub(crate) fn messages(tokens: &TokenStream) -> Vec<String> {
            let file: syn::File = syn::parse2(tokens.clone()).expect("an attribute expands to items");
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
