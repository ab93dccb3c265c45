//! Helpers for the tests that call the driver.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;

/// Defines functions that call the driver functions of the same names.
macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "as in the driver's interface")]
            pub(crate) fn $name($($arg: $ty),*) -> u32 {
                let function = driver::function(stringify!($name)).expect("the driver has the function");
                // SAFETY: the name is that of a driver function with these argument types, so the address has this
                // signature.
                let function: unsafe extern "C" fn($($ty),*) -> u32 = unsafe { std::mem::transmute(function.0) };
                // SAFETY: each test passes arguments that are valid for the function of `cuda.h`, or that the driver
                // must refuse.
                unsafe { function($($arg),*) }
            }
        )*
    };
}
pub(crate) use functions;

/// An opaque pointer in C.
pub(crate) type Handle = usize;

functions! {
    fn cuInit(flags: u32);
    fn cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32);
    fn cuCtxCreate_v2(context: *mut Handle, flags: u32, device: i32);
    fn cuCtxSetCurrent(context: Handle);
    fn cuCtxSynchronize();
    fn cuModuleLoadData(module: *mut Handle, image: *const u8);
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const u8);
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize);
    fn cuMemsetD8_v2(address: u64, value: u8, bytes: usize);
}

/// A number that is never a handle, even when other tests run in parallel: all handles are multiples of 16.
pub(crate) const NO_HANDLE: usize = 0x1231;

/// Error codes of the driver.
pub(crate) const OK: u32 = 0;
pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const NO_DEVICE: u32 = 100;
pub(crate) const INVALID_DEVICE: u32 = 101;
pub(crate) const INVALID_CONTEXT: u32 = 201;

/// Creates a context of a device and makes it current.
pub(crate) fn context(device: i32) -> Handle {
    assert_eq!(cuInit(0), OK);
    let mut context = 0;
    assert_eq!(cuCtxCreate_v2(&mut context, 0, device), OK);
    context
}

/// Returns an attribute of a device.
pub(crate) fn attribute(attribute: u32, device: i32) -> i32 {
    let mut value = 0;
    assert_eq!(cuDeviceGetAttribute(&mut value, attribute, device), OK, "attribute {attribute}");
    value
}

/// Loads PTX into the current context.
pub(crate) fn load(ptx: &str) -> Result<Handle, u32> {
    let text = CString::new(ptx).expect("PTX without a NUL");
    let mut module = 0;
    match cuModuleLoadData(&mut module, text.as_ptr().cast()) {
        OK => Ok(module),
        code => Err(code),
    }
}

/// Loads PTX into the current context and returns its kernel `k`.
pub(crate) fn kernel(ptx: &str) -> Handle {
    let module = load(ptx).expect("PTX that can be loaded");
    let mut function = 0;
    assert_eq!(cuModuleGetFunction(&mut function, module, c"k".as_ptr().cast()), OK);
    function
}

/// Set in the processes that [`in_child_process`] starts.
const CHILD: &str = "DRIVER_TEST_CHILD";

/// Runs a test in a child process with these environment variables, because a process cannot change its devices. In the
/// child process this function returns `true`, and the test continues.
pub(crate) fn in_child_process(test: &str, environment: &[(&str, &str)]) -> bool {
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().expect("the path of the test program is known"));
    command.args([test, "--exact", "--nocapture"]).env(CHILD, "1").envs(environment.iter().copied());
    let result = command.output().expect("the test program can be started");
    let output = [result.stdout, result.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    assert!(result.status.success() && output.contains("1 passed"), "{test}: {output}");
    false
}

/// Returns the path of a file of this repository.
pub(crate) fn file(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..").join(path).display().to_string()
}
