//! Linking of modules. The error codes match an H200.

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
    fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: Handle);
    fn cuCtxGetSharedMemConfig(config: *mut u32);
    fn cuCtxSetSharedMemConfig(config: u32);
    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: Handle, params: *const *const c_void,
    );
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
.global .align 4 .u32 local_value = 5;
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
    ld.global.u32 %r2, [local_value];
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
.global .align 4 .u32 local_value = 100;
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
    ld.global.u32 %r2, [local_value];
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

/// Adds a text with the input type `kind` (`CUjitInputType`).
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
        // Each module has a private helper and a private variable, so the result is 3² + 100 + 5.
        assert_eq!(found, [114, 7]);
    }
}

#[test]
fn link_error_codes() {
    context(0);
    let link_state = linker();
    assert_eq!(
        (add(link_state, 1, "garbage"), add(link_state, 9, CALLED), add(link_state, 1, "")),
        (INVALID_IMAGE, INVALID_VALUE, INVALID_VALUE)
    );
    assert_eq!(add(link_state, 1, ".version 8.0\n.target sm_80\n.what"), INVALID_PTX);
    assert_eq!(add(link_state, 1, ".version 9.9\n.target sm_80\n.what"), UNSUPPORTED_PTX_VERSION);
    assert_eq!(add(link_state, 0, "\x7fELF and so on"), 209);
    assert_eq!(add(link_state, 4, "!<arch>"), 801);
    let null = std::ptr::null();
    assert_eq!(
        cuLinkAddData_v2(link_state, 1, null, 5, null, 0, std::ptr::null(), std::ptr::null_mut()),
        INVALID_VALUE
    );
    let path = c"/there is no such file".as_ptr().cast();
    assert_eq!(cuLinkAddFile_v2(link_state, 1, path, 0, std::ptr::null(), std::ptr::null_mut()), FILE_NOT_FOUND);
    assert_eq!((add(link_state, 1, CALLER), complete(link_state)), (OK, Err(INVALID_SOURCE)));
    assert_eq!((add(link_state, 1, CALLED), add(link_state, 1, CALLED)), (OK, INVALID_SOURCE));
    assert!(complete(link_state).is_ok());
    assert_eq!((complete(link_state), add(link_state, 1, CALLED)), (Err(INVALID_HANDLE), INVALID_VALUE));
    assert_eq!((cuLinkDestroy(link_state), cuLinkDestroy(link_state)), (OK, INVALID_HANDLE));
    assert!(complete(linker()).is_ok());
}

#[test]
fn link_error_log() {
    context(0);
    let mut log = [7_u8; 200];
    // `CU_JIT_ERROR_LOG_BUFFER` and its size.
    let (names, mut values) = ([5, 6], [log.as_mut_ptr() as usize, log.len()]);
    let mut link_state = 0;
    assert_eq!(cuLinkCreate_v2(2, names.as_ptr(), values.as_mut_ptr(), &mut link_state), OK);
    assert_eq!((add(link_state, 1, CALLER), complete(link_state)), (OK, Err(INVALID_SOURCE)));
    let message = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(message.contains("`square`") || message.contains("`factor`"), "{message}");
    assert_eq!(values[1], message.len() + 1);
}

/// The error codes match an H100 (driver 580.159), and `nvlink` 13.5 accepts and refuses the same parameters.
#[test]
fn prototypes_match() {
    context(0);
    let header = ".version 7.8\n.target sm_80\n.address_size 64\n";
    let defined = |prototype: &str| format!("{header}.visible .func {prototype}\n{{\nret;\n}}\n");
    let call = |prototype: &str, result: &str, call: &str| {
        format!(
            "{header}.extern .func {prototype};\n.visible .entry k()\n{{\n.param .b32 a;\n.param .b64 b;\n{result}\n\
             call.uni {call};\nret;\n}}\n"
        )
    };
    let one = "f(.param .b32 v)";
    let same = [
        (one.to_owned(), call(one, "", "f, (a)")),
        ("f(.param .s32 v)".to_owned(), call("f(.param .u32 v)", "", "f, (a)")),
        (
            "f(.param .align 4 .b8 v[8])".to_owned(),
            call("f(.param .align 8 .b8 v[8])", ".param .align 8 .b8 c[8];", "f, (c)"),
        ),
        // Objects do not contain declarations of functions that are never called.
        (one.to_owned(), format!("{header}.extern .func f();\n.visible .entry k()\n{{\nret;\n}}\n")),
    ];
    let other = [
        (one.to_owned(), call("(.param .b32 r) f(.param .b32 v)", ".param .b32 c;", "(c), f, (a)")),
        (one.to_owned(), call("f(.param .b32 v, .param .b64 w)", "", "f, (a, b)")),
        (one.to_owned(), call("f()", "", "f, ()")),
        (one.to_owned(), call("f(.param .b64 v)", "", "f, (b)")),
        ("f(.param .f32 v)".to_owned(), call(one, "", "f, (a)")),
        ("f(.param .align 4 .b8 v[4])".to_owned(), call(one, "", "f, (a)")),
    ];
    let expected = [(same.as_slice(), OK), (other.as_slice(), INVALID_SOURCE)];
    for (pairs, code) in expected {
        for (definition, call) in pairs {
            for texts in [[&defined(definition), call], [call, &defined(definition)]] {
                let link_state = linker();
                assert_eq!(
                    (add(link_state, 1, texts[0]), add(link_state, 1, texts[1])),
                    (OK, code),
                    "{definition}\n{call}"
                );
                assert_eq!(cuLinkDestroy(link_state), OK);
            }
        }
    }
}

/// Adds bytes with the input type `kind` (`CUjitInputType`).
fn add_bytes(linker: Handle, kind: u32, bytes: &[u8]) -> u32 {
    let (names, values) = (std::ptr::null(), std::ptr::null_mut());
    cuLinkAddData_v2(linker, kind, bytes.as_ptr(), bytes.len(), c"library".as_ptr().cast(), 0, names, values)
}

/// Completes a link and returns its kernel `k`.
fn linked_kernel(linker: Handle) -> Handle {
    let (linked, _) = complete(linker).unwrap();
    let (mut module, mut function) = (0, 0);
    assert_eq!(cuModuleLoadData(&mut module, linked), OK);
    assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), OK);
    function
}

/// Each thread stores its rank plus 1 into `data` and waits for the grid. Then it stores into `out` the value that the
/// thread with the opposite rank stored into `data`. The PTX follows numba's code for `cg.this_grid().sync()`.
const COOPERATIVE: &str = ".version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 func_retval0) cudaCGGetIntrinsicHandle(.param .b32 param_0);
.extern .func (.param .b32 func_retval0) cudaCGSynchronize(.param .b64 param_0, .param .b32 param_1);
.extern .func (.param .b32 func_retval0) cudaCGGetSize(.param .b64 a, .param .b64 b, .param .b64 c);
.extern .func (.param .b32 func_retval0) cudaCGGetRank(.param .b64 a, .param .b64 b, .param .b64 c);
.visible .entry k(.param .u64 data, .param .u64 out)
{
    .local .align 4 .b8 numbers[16];
    .reg .b32 %r<10>;
    .reg .b64 %rd<10>;
    {
    .param .b32 a;
    .param .b64 b;
    st.param.b32 [a], 1;
    call.uni (b), cudaCGGetIntrinsicHandle, (a);
    ld.param.b64 %rd1, [b];
    }
    mov.u64 %rd2, numbers;
    cvta.local.u64 %rd2, %rd2;
    add.s64 %rd3, %rd2, 4;
    {
    .param .b64 a;
    .param .b64 b;
    .param .b64 c;
    .param .b32 d;
    st.param.b64 [a], %rd2;
    st.param.b64 [b], 0;
    st.param.b64 [c], %rd1;
    call.uni (d), cudaCGGetRank, (a, b, c);
    st.param.b64 [a], %rd3;
    call.uni (d), cudaCGGetSize, (a, b, c);
    }
    ld.u32 %r1, [%rd2];
    ld.u32 %r2, [%rd3];
    ld.param.u64 %rd4, [data];
    mad.wide.u32 %rd5, %r1, 4, %rd4;
    add.s32 %r3, %r1, 1;
    st.global.u32 [%rd5], %r3;
    {
    .param .b64 a;
    .param .b32 b;
    .param .b32 c;
    st.param.b64 [a], %rd1;
    st.param.b32 [b], 0;
    call.uni (c), cudaCGSynchronize, (a, b);
    ld.param.b32 %r4, [c];
    }
    sub.s32 %r5, %r2, %r3;
    mad.wide.u32 %rd6, %r5, 4, %rd4;
    ld.global.u32 %r6, [%rd6];
    add.s32 %r6, %r6, %r4;
    ld.param.u64 %rd7, [out];
    mad.wide.u32 %rd8, %r1, 4, %rd7;
    st.global.u32 [%rd8], %r6;
    ret;
}
";

#[test]
fn grids_synchronize_with_the_runtime_library() {
    context(0);
    let link_state = linker();
    // The text may end in a NUL.
    assert_eq!(add(link_state, 1, &format!("{COOPERATIVE}\0")), OK);
    assert_eq!(
        add(link_state, 4, "!<arch>\ncuda_device_runtime.o/ 0           0     0     644     4         `\n\x7fELF"),
        OK
    );
    let function = linked_kernel(link_state);
    const COUNT: usize = 3 * 2 * 40 * 2;
    let (mut data, mut out) = (0_u64, 0_u64);
    assert_eq!((cuMemAlloc_v2(&mut data, COUNT * 4), cuMemAlloc_v2(&mut out, COUNT * 4)), (OK, OK));
    let params = [(&raw const data).cast(), (&raw const out).cast()];
    let mut found = [0_u32; COUNT];
    // The barrier is reusable.
    for _ in 0..3 {
        assert_eq!(cuLaunchCooperativeKernel(function, 3, 2, 1, 40, 2, 1, 0, 0, params.as_ptr()), OK);
        assert_eq!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), out, COUNT * 4), OK);
        assert!(found.iter().rev().copied().eq(1..=COUNT as u32), "{found:?}");
    }
    // Without the library, the functions are undefined.
    let without = linker();
    assert_eq!((add(without, 1, COOPERATIVE), complete(without)), (OK, Err(INVALID_SOURCE)));
}

/// Returns a fatbin with PTX for an architecture.
fn fatbin(text: &str, arch: u32) -> Vec<u8> {
    let mut entry = [0_u8; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8..12].copy_from_slice(&(text.len() as u32).to_le_bytes());
    entry[28..32].copy_from_slice(&arch.to_le_bytes());
    let follow = (64 + text.len()) as u64;
    [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &follow.to_le_bytes(), &entry, text.as_bytes()].concat()
}

#[test]
fn objects_and_libraries_with_ptx() {
    context(0);
    for kind in [3, 4] {
        let link_state = linker();
        let library = [b"!<arch>\nfirst", &fatbin(CALLED, 80)[..], b"second", &fatbin(CALLER, 75), b"end"].concat();
        assert_eq!(add_bytes(link_state, kind, &library), OK);
        assert_ne!(linked_kernel(link_state), 0);
        let link_state = linker();
        assert_eq!(add_bytes(link_state, kind, &fatbin(CALLED, 121)), 209);
        assert_eq!(add_bytes(link_state, kind, b"\x7fELF without code for a GPU"), 801);
        assert_eq!(add_bytes(link_state, kind, &fatbin(CALLED, 80)[..40]), INVALID_IMAGE);
    }
}

#[test]
fn constants_and_banks() {
    context(0);
    let text = ".version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .b8 table[40];\n.const .align 8 .f64 factor;\n\
        .const .align 4 .b8 other[4000];\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r;\n.reg .b64 %a;\n\
        .reg .f64 %f;\nld.param.u64 %a, [p];\nld.const.u32 %r, [table+4];\nld.const.f64 %f, [factor];\n\
        st.global.u32 [%a], %r;\nret;\n}\n.visible .entry none()\n{\nret;\n}\n\0";
    let (mut module, mut function, mut bytes) = (0, 0, 0);
    assert_eq!(cuModuleLoadData(&mut module, text.as_ptr()), OK);
    for (kernel, expected) in [(c"k", 48), (c"none", 0)] {
        assert_eq!(cuModuleGetFunction(&mut function, module, kernel.as_ptr().cast()), OK);
        // `CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES`.
        assert_eq!((cuFuncGetAttribute(&mut bytes, 2, function), bytes), (OK, expected));
    }
    // Banks are four bytes wide, whatever size a program requests.
    let mut config = 7;
    for request in [0, 1, 2] {
        assert_eq!((cuCtxSetSharedMemConfig(request), cuCtxGetSharedMemConfig(&mut config), config), (OK, OK, 1));
    }
}
