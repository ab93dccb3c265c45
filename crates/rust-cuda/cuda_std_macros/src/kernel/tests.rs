use super::expand;
use crate::common::testing::{messages, text};
use proc_macro2::TokenStream;
use quote::quote;

#[track_caller]
fn rejects(hints: TokenStream, item: TokenStream, expected: &[&str]) {
    let found = messages(&expand(hints, item));
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (message, part) in found.iter().zip(expected) {
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
    }
}

#[test]
fn a_kernel_is_an_entry_point_on_the_gpu_and_a_function_elsewhere() {
    let out = expand(quote!(), quote! { /** Doc. */ pub unsafe fn k(p: *mut f32, n: u32) { body() } });
    let device_and_host = text(&quote! {
        #[cfg(target_arch = "nvptx64")]
        /** Doc. */
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn k(p: *mut f32, n: u32) {
            ::cuda_std::__parameters!("// parameters 0 p: *mut f32 | 1 n: u32");
            { body() }
        }
        #[cfg(not(target_arch = "nvptx64"))]
        /** Doc. */
        #[allow(dead_code)]
        pub unsafe fn k(p: *mut f32, n: u32) { body() }
    });
    let out = text(&out);
    assert_eq!(out, device_and_host, "numbers and pointers to numbers need no check");
}

#[test]
fn types_that_the_macro_does_not_know_are_checked_by_the_compiler() {
    let out = expand(quote!(), quote! { unsafe fn k(p: *mut Cell, n: Count, v: &f32, w: &mut u8, m: [i32; 4]) {} });
    let out = text(&out);
    for ty in [quote!(*mut Cell), quote!(Count), quote!(&mut u8)] {
        for check in [quote!(kernel_parameters_must_be_copy::<#ty>();), quote!(!Parameter::<#ty>::IS_WIDE)] {
            assert!(out.contains(&text(&check)), "{out}");
        }
    }
    assert_eq!(out.matches("kernel_parameters_must_be_copy :: <").count(), 3, "{out}");
}

#[test]
fn a_slice_is_two_parameters_on_the_gpu() {
    let item = quote! { unsafe fn k(a: &[f32], n: u32, #[x] mut b: &'static mut ([u8])) { body() } };
    let out = text(&expand(quote!(), item));
    let device = text(&quote! {
        unsafe extern "ptx-kernel" fn k(
            slice_0: &[f32; 0], slice_0_len: usize, n: u32,
            #[x] slice_2: *mut u8, #[x] slice_2_len: usize
        ) {
            ::cuda_std::__parameters!("// parameters 0 [] a: &[f32] | 2 n: u32 | 3 [] b: &mut [u8]");
            let a: &[f32] = unsafe { ::core::slice::from_raw_parts(slice_0.as_ptr(), slice_0_len) };
            #[x] let mut b: &'static mut ([u8]) =
                unsafe { ::core::slice::from_raw_parts_mut(slice_2, slice_2_len) };
            { body() }
        }
    });
    assert!(out.contains(&device), "{out}");
    assert!(out.contains("unsafe fn k (a : & [f32] , n : u32 ,"), "{out}");
    assert!(!out.contains("kernel_parameters_must_be_copy"), "{out}");
}

#[test]
fn an_explicit_abi_and_no_mangle_are_replaced() {
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

#[test]
fn a_grid_constant_becomes_a_marker_with_its_index() {
    let item = quote! { unsafe fn k(s: &[f32], n: u32, #[grid_constant] map: &Map) { body() } };
    let out = text(&expand(quote!(), item));
    // A slice counts as two parameters. A number counts as one parameter unless its type has size 0.
    let marker = quote! {
        "// grid_constant {} {} {}",
        const 0 + 2 + (::core::mem::size_of::<u32>() != 0) as usize,
        const ::core::mem::size_of::<Map>(), const ::core::mem::align_of::<Map>(),
    };
    assert!(out.contains(&text(&marker)), "{out}");
    assert!(!out.contains("#[grid_constant]"), "{out}");

    let by_value = quote! { unsafe fn k(#[grid_constant] map: Map) {} };
    rejects(quote!(), by_value, &["goes on a parameter of type `&T`"]);
}
