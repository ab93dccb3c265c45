//! Modules that are linked. The codes are those that an H200 answers.

use std::ffi::{CStr, c_void};

use super::support::{
    Handle, INVALID_VALUE, OK, context, cuMemAlloc_v2, cuMemcpyDtoH_v2, cuModuleGetFunction, cuModuleLoadData,
    functions,
};

const INVALID_IMAGE: u32 = 200;
const INVALID_PTX: u32 = 218;
const UNSUPPORTED_PTX_VERSION: u32 = 222;
const INVALID_SOURCE: u32 = 300;
const FILE_NOT_FOUND: u32 = 301;
const INVALID_HANDLE: u32 = 400;

functions! {
    fn cuLinkCreate_v2(count: u32, names: *const u32, values: *mut usize, linker: *mut Handle);
    fn cuLinkAddData_v2(
        linker: Handle, kind: u32, data: *const u8, bytes: usize, name: *const u8, count: u32, names: *const u32,
        values: *mut usize,
    );
    fn cuLinkAddFile_v2(linker: Handle, kind: u32, path: *const u8, count: u32, names: *const u32, values: *mut usize);
    fn cuLinkComplete(linker: Handle, linked: *mut *const u8, bytes: *mut usize);
    fn cuLinkDestroy(linker: Handle);
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const c_void, extra: *const usize,
    );
}

const CALLER: &str = ".version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b32 result) square(.param .b32 value);
.extern .global .align 4 .u32 factor;
.global .align 4 .u32 own = 5;
.weak .func (.param .b32 result) shared_by_both(.param .b32 value)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [value];
    st.param.b32 [result], %r1;
    ret;
}
.func (.param .b32 result) helper(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    ld.global.u32 %r2, [own];
    add.u32 %r1, %r1, %r2;
    st.param.b32 [result], %r1;
    ret;
}
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.b32 %r1, 3;
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), square, (a);
    ld.param.b32 %r2, [b];
    }
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r2;
    call.uni (b), helper, (a);
    ld.param.b32 %r3, [b];
    }
    ld.global.u32 %r4, [factor];
    st.global.v2.u32 [%rd1], {%r3, %r4};
    ret;
}
";

const CALLED: &str = "// The header of another compiler.
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 factor = 7;
.global .align 4 .u32 own = 100;
.weak .func (.param .b32 result) shared_by_both(.param .b32 value)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [value];
    st.param.b32 [result], %r1;
    ret;
}
.func (.param .b32 result) helper(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    ld.global.u32 %r2, [own];
    mad.lo.u32 %r1, %r1, %r1, %r2;
    st.param.b32 [result], %r1;
    ret;
}
.visible .func (.param .b32 result) square(.param .b32 value)
{
    .reg .b32 %r<3>;
    ld.param.b32 %r1, [value];
    {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), helper, (a);
    ld.param.b32 %r2, [b];
    }
    st.param.b32 [result], %r2;
    ret;
}
";

fn linker() -> Handle {
    let mut linker = 0;
    assert_eq!(cuLinkCreate_v2(0, std::ptr::null(), std::ptr::null_mut(), &mut linker), OK);
    linker
}

/// Adds a text of a kind (`CUjitInputType`).
fn add(linker: Handle, kind: u32, text: &str) -> u32 {
    let (names, values) = (std::ptr::null(), std::ptr::null_mut());
    cuLinkAddData_v2(linker, kind, text.as_ptr(), text.len(), c"text".as_ptr().cast(), 0, names, values)
}

fn complete(linker: Handle) -> Result<(*const u8, usize), u32> {
    let (mut linked, mut bytes) = (std::ptr::null(), 0);
    match cuLinkComplete(linker, &mut linked, &mut bytes) {
        OK => Ok((linked, bytes)),
        code => Err(code),
    }
}

#[test]
fn two_modules() {
    context(0);
    for texts in [[CALLER, CALLED], [CALLED, CALLER]] {
        let linker = linker();
        for text in texts {
            assert_eq!(add(linker, 1, text), OK);
        }
        let (linked, bytes) = complete(linker).unwrap();
        assert!(!linked.is_null() && bytes > CALLED.len());
        let (mut module, mut function, mut out) = (0, 0, 0_u64);
        assert_eq!(cuModuleLoadData(&mut module, linked), OK);
        assert_eq!(cuLinkDestroy(linker), OK);
        assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), OK);
        assert_eq!(cuMemAlloc_v2(&mut out, 8), OK);
        let params = [(&raw const out).cast()];
        assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, params.as_ptr(), std::ptr::null()), OK);
        let mut found = [0_u32; 2];
        assert_eq!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), out, 8), OK);
        // Each module has a helper and a variable of its own: 3² + 100, and 5 more.
        assert_eq!(found, [114, 7]);
    }
}

#[test]
fn codes() {
    context(0);
    let own = linker();
    assert_eq!(
        (add(own, 1, "garbage"), add(own, 9, CALLED), add(own, 1, "")),
        (INVALID_IMAGE, INVALID_VALUE, INVALID_VALUE)
    );
    assert_eq!(add(own, 1, ".version 8.0\n.target sm_80\n.what"), INVALID_PTX);
    assert_eq!(add(own, 1, ".version 9.9\n.target sm_80\n.what"), UNSUPPORTED_PTX_VERSION);
    assert_eq!(add(own, 0, "\x7fELF and so on"), 209);
    assert_eq!(add(own, 4, "!<arch>"), 801);
    let null = std::ptr::null();
    assert_eq!(cuLinkAddData_v2(own, 1, null, 5, null, 0, std::ptr::null(), std::ptr::null_mut()), INVALID_VALUE);
    let path = c"/there is no such file".as_ptr().cast();
    assert_eq!(cuLinkAddFile_v2(own, 1, path, 0, std::ptr::null(), std::ptr::null_mut()), FILE_NOT_FOUND);
    assert_eq!((add(own, 1, CALLER), complete(own)), (OK, Err(INVALID_SOURCE)));
    assert_eq!((add(own, 1, CALLED), add(own, 1, CALLED)), (OK, INVALID_SOURCE));
    assert!(complete(own).is_ok());
    assert_eq!((complete(own), add(own, 1, CALLED)), (Err(INVALID_HANDLE), INVALID_VALUE));
    assert_eq!((cuLinkDestroy(own), cuLinkDestroy(own)), (OK, INVALID_HANDLE));
    assert!(complete(linker()).is_ok());
}

#[test]
fn logs() {
    context(0);
    let mut log = [7_u8; 200];
    // `CU_JIT_ERROR_LOG_BUFFER` and its size.
    let (names, mut values) = ([5, 6], [log.as_mut_ptr() as usize, log.len()]);
    let mut own = 0;
    assert_eq!(cuLinkCreate_v2(2, names.as_ptr(), values.as_mut_ptr(), &mut own), OK);
    assert_eq!((add(own, 1, CALLER), complete(own)), (OK, Err(INVALID_SOURCE)));
    let said = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(said.contains("`square`") || said.contains("`factor`"), "{said}");
    assert_eq!(values[1], said.len() + 1);
}
