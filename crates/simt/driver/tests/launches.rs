//! Launches whose arguments do not match the kernel's parameters.

use std::ptr::{null, without_provenance};

use crate::captures::ADD;
use crate::graphs::{KernelParams, cuGraphAddKernelNode_v2, cuLaunchKernel, graph};
use crate::streams::device_memory;
use crate::support::{Handle, INVALID_VALUE, OK, context, cuCtxSynchronize, functions, in_child_process, kernel};

functions! {
    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const u64,
    );
    fn cuLaunchKernelEx(config: *const [u64; 7], function: Handle, params: *const *const u64, extra: *const usize);
}

/// Runs a test in a child process and checks that the driver's messages contain each of the expected texts.
fn check_messages(test: &str, act: impl FnOnce(), expected: &[&str]) {
    let log = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = log.path().display().to_string();
    if in_child_process(test, &[(driver::LOG, &path)]) {
        return act();
    }
    let messages = std::fs::read_to_string(&path).expect("the driver's messages are readable");
    for expected in expected {
        assert!(messages.contains(expected), "`{expected}` is not in: {messages}");
    }
}

/// Launches one thread of a kernel with these argument addresses.
fn launch(function: Handle, params: &[*const u64]) -> u32 {
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, params.as_ptr(), null())
}

#[test]
fn a_missing_argument_is_named() {
    let act = || {
        context(0);
        let (add, target) = (kernel(ADD), device_memory(4));
        // If a program omits the last argument, the word after its list is arbitrary.
        for bad_address in
            [null(), without_provenance(5), without_provenance(1 << 40), without_provenance(usize::MAX - 1)]
        {
            let params = [&raw const target, bad_address];
            assert_eq!(launch(add, &params), INVALID_VALUE);
            assert_eq!(cuLaunchCooperativeKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, params.as_ptr()), INVALID_VALUE);
            let config = [1 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0, 0, 0, 0];
            assert_eq!(cuLaunchKernelEx(&config, add, params.as_ptr(), null()), INVALID_VALUE);
            let (grid, block, params) = ([1; 3], [1; 3], params.as_ptr());
            let params = KernelParams {
                function: add,
                grid,
                block,
                shared_bytes: 0,
                params,
                extra: null(),
                kernel: 0,
                context: 0,
            };
            assert_eq!(cuGraphAddKernelNode_v2(&mut 0, graph(), null(), 0, &params), INVALID_VALUE);
        }
        assert_eq!(launch(add, &[without_provenance(64), &raw const target]), INVALID_VALUE);
        // A list at an unreadable address, and an argument buffer at an unreadable address.
        assert_eq!(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, without_provenance(4096), null()), INVALID_VALUE);
        let (start, bytes) = (4096_usize, 12_usize);
        let buffer = [1, start, 2, (&raw const bytes).addr(), 0];
        assert_eq!(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, null(), buffer.as_ptr()), INVALID_VALUE);
        assert_eq!((launch(add, &[&raw const target, &raw const target]), cuCtxSynchronize()), (OK, OK));
    };
    check_messages(
        "launches::a_missing_argument_is_named",
        act,
        &[
            "argument 1 of 2, for the parameter `number` (.u32), is missing: its address 0x5 cannot be read",
            "argument 1 of 2, for the parameter `number` (.u32), is missing: it has a null address",
            "argument 0 of 2, for the parameter `place` (.u64), is missing: its address 0x40 cannot be read",
            "is missing: the list of addresses ends before it",
            "two for a slice: its pointer and its length",
        ],
    );
}

/// `k(data: &mut [f32], n: u32)`, which stores `n`.
const STORE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(
    .param .u64 data, // rust: data: &mut [f32]
    .param .u64 data_len, // rust: data.len()
    .param .u32 n // rust: n: u32
)
{
    .reg .b64 %a;
    .reg .b32 %r;
    ld.param.u64 %a, [data];
    ld.param.u32 %r, [n];
    st.global.u32 [%a], %r;
    ret;
}
";

#[test]
fn slice_lengths_are_checked() {
    let act = || {
        context(0);
        let (store, target) = (kernel(STORE), device_memory(64));
        let n = 7;
        let call = |address: u64, len: u64| launch(store, &[&raw const address, &raw const len, &raw const n]);
        for (address, len) in [(target, 16), (target + 32, 8), (target, 0)] {
            assert_eq!((call(address, len), cuCtxSynchronize()), (OK, OK), "{address:#x} {len}");
        }
        for (address, len) in [(target, 17), (target + 32, 9), (4, 1), (n, target), (target, u64::MAX)] {
            assert_eq!(call(address, len), INVALID_VALUE, "{address:#x} {len}");
        }
        // Without the length, every later argument is one position too early.
        assert_eq!(launch(store, &[&raw const target, &raw const n, null()]), INVALID_VALUE);
        assert_eq!(launch(store, &[&raw const target, &raw const target, null()]), INVALID_VALUE);
    };
    check_messages(
        "launches::slice_lengths_are_checked",
        act,
        &[
            "argument 1, the length of `data: &mut [f32]`, is 17: 68 bytes exceed the 64 bytes left in the allocation",
            "argument 0 for `data: &mut [f32]` is 0x4, which is not an address of memory",
            "a slice is two arguments: its pointer and its length",
            "argument 1, the length of `data: &mut [f32]`, is 8589",
            "argument 2 of 3, for the parameter `n: u32`, is missing: it has a null address",
        ],
    );
}
