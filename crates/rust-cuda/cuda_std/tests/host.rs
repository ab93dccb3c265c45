//! `cuda_std` off the GPU: functions that need a GPU report so, and all others work.
#![allow(clippy::unwrap_used)]

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64, intrinsics, mid,
};
use cuda_std::glam::{USizeVec2, USizeVec3, UVec2, UVec3};
use cuda_std::prelude::*;
use cuda_std::{GpuFloat, address_space, mem, misc, ptr, shared, shared_array, warp};
use std::panic::catch_unwind;

/// Discards the result of a call, so that every call becomes an `fn()`. (`drop` of a `Copy` value triggers a lint.)
fn ignore<T>(_: T) {}

/// Returns the panic message of `call`.
fn message<T>(call: impl FnOnce() -> T + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(call).err().expect("the call needs a GPU");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// Converts calls to pairs of a name and a function without arguments.
macro_rules! calls {
    ($($name:literal: $call:expr;)*) => {
        // SAFETY: off the GPU the functions only panic.
        [$(($name, (|| unsafe { ignore($call) }) as fn())),*]
    };
}

#[test]
#[allow(unused_unsafe)]
fn what_needs_a_gpu_says_so_and_names_itself() {
    for (name, call) in calls! {
        "thread::thread_idx_x": thread::thread_idx_x();
        "thread::thread_idx_x": thread::thread_idx();
        "thread::block_idx_x": thread::index_1d();
        "thread::grid_dim_z": thread::grid_dim_z();
        "thread::sync_threads": thread::sync_threads();
        "thread::sync_threads_count": thread::sync_threads_count(1);
        "thread::device_fence": thread::device_fence();
        "thread::nanosleep": thread::nanosleep(1);
        "warp::lane_id": warp::lane_id();
        "warp::sync_warp": warp::sync_warp(1);
        "warp::shuffle::warp_shuffle_32": warp::warp_shuffle_xor(1, 1.0_f32, 1, 32);
        "warp::shuffle::warp_shuffle_32": warp::warp_shuffle_up(1, 1_u128, 1, 32);
        "warp::vote::warp_vote_all": warp::warp_vote_all(1, true);
        "warp::matching::match_any_64": warp::warp_match_any(1, 1.0_f64);
        "warp::reduce::reduce": warp::warp_reduce(1, 1_i32, warp::WarpReductionOp::Add);
        "shared::dynamic_shared_mem": shared::dynamic_shared_mem::<f32>();
        "mem::dynamic_smem_size": mem::dynamic_smem_size();
        "misc::clock": misc::clock();
        "ptr::is_in_address_space": ptr::is_in_address_space(&0, ptr::AddressSpace::Shared);
        "atomic::mid::atomic_fetch_add_u32_device": mid::atomic_fetch_add_u32_device(&mut 0, Relaxed, 1);
        "atomic::mid::system_thread_fence": mid::system_thread_fence(SeqCst);
        "atomic::intrinsics::atomic_fetch_cas_acqrel_f64_block":
            intrinsics::atomic_fetch_cas_acqrel_f64_block(&mut 0.0, 1.0, 2.0);
    } {
        let text = message(call);
        let expected = format!("cuda_std::{name} runs on the GPU only");
        assert!(text.starts_with(&expected), "{text:?} does not start with {expected:?}");
    }
}

#[test]
fn shared_array_names_its_crate() {
    let text = message(|| shared_array![u32; 4]);
    assert!(text.starts_with("host::shared_array runs on the GPU only"), "{text}");
}

#[kernel]
unsafe fn doubles(data: *mut f32, len: usize) {
    for i in 0..len {
        // SAFETY: the caller passes a pointer to `len` floats, and `i` is less than `len`.
        unsafe { *data.add(i) *= 2.0 };
    }
}

#[address_space(shared)]
static mut TILE: [MaybeUninit<f32>; 2] = [const { MaybeUninit::uninit() }; 2];

#[test]
fn kernels_are_functions_and_shared_statics_are_statics() {
    let mut data = [1.0, 2.5];
    // SAFETY: `data` has `len` floats, and only this test uses the static.
    let tile = unsafe {
        doubles(data.as_mut_ptr(), data.len());
        let tile = (&raw mut TILE).cast::<f32>();
        tile.write(data[1]);
        tile.read()
    };
    assert_eq!((data, tile), ([2.0, 5.0], 5.0));
}

#[test]
fn vectors_have_the_glam_methods_that_kernels_use() {
    let (a, b) = (UVec2::new(1, 2), UVec3::new(3, 4, 5));
    assert_eq!((a.x, a.y, a.to_array(), UVec2::ZERO), (1, 2, [1, 2], UVec2::default()));
    assert_eq!((b.x, b.y, b.z, b.to_array(), b.element_product()), (3, 4, 5, [3, 4, 5], 60));
    assert_eq!(UVec3::ZERO, UVec3::default());
    // The types that matrix sizes use.
    let (c, d) = (USizeVec2::new(1 << 40, 7), USizeVec3::new(3, 4, 5));
    assert_eq!((c.x, c.y, d.element_product()), (1 << 40, 7, 60));
}

#[test]
fn math_methods_have_the_names_of_std() {
    fn norm<T: GpuFloat + core::ops::Mul<Output = T>>(x: T, y: T) -> T {
        x.mul_add(x, y * y).sqrt()
    }
    assert_eq!((norm(3.0_f32, 4.0), norm(3.0_f64, 4.0)), (5.0, 5.0));
}

#[test]
fn atomic_floats_add_up_over_threads() {
    let (a, b, c, d) = (AtomicF32::new(0.5), AtomicF64::new(0.5), SystemAtomicF32::new(0.5), SystemAtomicF64::new(0.5));
    let (e, f) = (BlockAtomicF32::new(0.5), BlockAtomicF64::new(0.5));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    a.fetch_add(1.0, Relaxed);
                    b.fetch_sub(1.0, Release);
                    c.fetch_add(2.0, Acquire);
                    d.fetch_sub(2.0, AcqRel);
                    // SAFETY: the host has no blocks, so no thread can belong to another block.
                    unsafe {
                        e.fetch_add(1.0, SeqCst);
                        f.fetch_sub(1.0, Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!((a.into_inner(), b.into_inner()), (4000.5, -3999.5));
    assert_eq!((c.load(SeqCst), d.load(Acquire)), (8000.5, -7999.5));
    assert_eq!((e.into_inner(), f.into_inner()), (4000.5, -3999.5));
}

#[test]
fn atomic_floats_return_the_previous_value() {
    let a = AtomicF32::new(1.5);
    assert_eq!(a.fetch_add(2.0, SeqCst), 1.5);
    assert_eq!(a.fetch_xor(f32::from_bits(1 << 31), AcqRel), 3.5);
    assert_eq!(a.fetch_and(f32::from_bits(!(1 << 31)), Relaxed), -3.5);
    assert_eq!(a.fetch_or(-0.0, Relaxed), 3.5);
    a.store(7.25, Release);
    assert_eq!(a.load(Relaxed), 7.25);
    assert!(message(|| AtomicF32::new(0.0).load(Release)).contains("release load"));
}
