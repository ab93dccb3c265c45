//! A CUDA driver for the tests of `ladder`, which compile it. Its device memory is memory of the process, and its
//! kernels are sums on the CPU. It supports only the calls of `device::Gpu`, and reports on stderr what is not released
//! before its context. The tests of `libcuda` compile it too.
//!
//! `LADDER_STAND_IN` names a fault: `no_device`, `bad_ptx`, `small` (a megabyte of memory more than `ladder` leaves
//! free), `faults` (the kernel makes an illegal access), `wrong` (each sum is one too large), `crowded` (one block less
//! than expected fits a multiprocessor, for kernels with shared memory), or `new_code` (an attribute returns a result
//! that cust's bindings do not name). `--cfg lacks_name` leaves out two functions, like an old driver.

#![allow(unexpected_cfgs, unsafe_op_in_unsafe_fn)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

const SUCCESS: c_uint = 0;
const INVALID_VALUE: c_uint = 1;
const NO_DEVICE: c_uint = 100;
const INVALID_PTX: c_uint = 218;
const NOT_FOUND: c_uint = 500;
const ILLEGAL_ADDRESS: c_uint = 700;
const INVALID_CLUSTER_SIZE: c_uint = 912;

/// The handle of the only device.
const DEVICE: c_int = 40;

/// The state of the driver: allocations by address, and the names of the requested functions. A handle is an index plus
/// one.
struct Driver {
    memory: BTreeMap<u64, Vec<u8>>,
    functions: Vec<String>,
    /// The dynamic shared memory that launches of a function may use, by the function's handle.
    allowed: BTreeMap<usize, usize>,
    modules: Vec<String>,
    objects: i64,
    sticky: c_uint,
}

static DRIVER: Mutex<Driver> = Mutex::new(Driver {
    memory: BTreeMap::new(),
    functions: Vec::new(),
    allowed: BTreeMap::new(),
    modules: Vec::new(),
    objects: 0,
    sticky: SUCCESS,
});

/// Defines functions that the driver exports. Each returns a result.
macro_rules! exports {
    ($($(#[$doc:meta])* fn $name:ident($($arg:tt: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_uint $body
    )*};
}

/// The attributes of functions, and their launches.
mod launches;

fn driver<R>(with: impl FnOnce(&mut Driver) -> R) -> R {
    with(&mut DRIVER.lock().unwrap())
}

fn has_fault(fault: &str) -> bool {
    std::env::var("LADDER_STAND_IN").is_ok_and(|value| value == fault)
}

impl Driver {
    /// Returns `len` bytes from `address` on, if one allocation contains all of them.
    fn bytes(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let (start, memory) = self.memory.range_mut(..=address).next_back()?;
        memory.get_mut((address - start) as usize..)?.get_mut(..len)
    }
}

fn result_of(with: impl FnOnce(&mut Driver) -> Option<()>) -> c_uint {
    if driver(with).is_some() { SUCCESS } else { INVALID_VALUE }
}

unsafe fn put<T>(to: *mut T, value: T) -> c_uint {
    *to = value;
    SUCCESS
}

exports! {
    fn cuInit(_flags: c_uint) { if has_fault("no_device") { NO_DEVICE } else { SUCCESS } }
    fn cuDriverGetVersion(version: *mut c_int) { put(version, 13000) }
    fn cuDeviceGetCount(count: *mut c_int) { put(count, 1) }
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) { put(device, DEVICE + ordinal) }

    #[cfg(not(lacks_name))]
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        let text = c"Stand-in".to_bytes_with_nul();
        if device != DEVICE || (len as usize) < text.len() {
            return INVALID_VALUE;
        }
        name.cast::<u8>()
            .copy_from_nonoverlapping(text.as_ptr(), text.len());
        SUCCESS
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { put(bytes, 2 << 30) }

    #[cfg(not(lacks_name))]
    fn cuGetErrorString(error: c_uint, text: *mut *const c_char) {
        if error == NO_DEVICE {
            *text = c"the stand-in has no device".as_ptr();
            return SUCCESS;
        }
        // A real driver does this for a code that it does not know.
        *text = std::ptr::null();
        INVALID_VALUE
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) {
        if has_fault("new_code") {
            return INVALID_CLUSTER_SIZE;
        }
        *value = match attribute {
            13 => 1_500_000, // CLOCK_RATE, kHz
            16 => 7,         // MULTIPROCESSOR_COUNT
            36 => 1_000_000, // MEMORY_CLOCK_RATE, kHz
            37 => 256,       // GLOBAL_MEMORY_BUS_WIDTH, bits
            38 => 4 << 20,   // L2_CACHE_SIZE
            75 => 9,         // COMPUTE_CAPABILITY_MAJOR
            76 => 0,         // COMPUTE_CAPABILITY_MINOR
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
}

unsafe fn create(handle: *mut *mut c_void) -> c_uint {
    *handle = std::ptr::dangling_mut::<u64>().cast();
    driver(|driver| driver.objects += 1);
    SUCCESS
}

fn destroy() -> c_uint {
    driver(|driver| driver.objects -= 1);
    SUCCESS
}

exports! {
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, _: c_int) { create(context) }

    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) {
        destroy();
        driver(|driver| {
            if !driver.memory.is_empty() || driver.objects != 0 {
                eprintln!(
                    "not released: {} allocations, {} objects",
                    driver.memory.len(),
                    driver.objects
                );
            }
        });
        SUCCESS
    }

    fn cuDevicePrimaryCtxRelease(device: c_int) { cuDevicePrimaryCtxRelease_v2(device) }
    fn cuCtxSetCurrent(_context: *mut c_void) { SUCCESS }

    fn cuStreamCreateWithPriority(stream: *mut *mut c_void, _flags: c_uint, _priority: c_int) {
        create(stream)
    }

    fn cuStreamDestroy_v2(_stream: *mut c_void) { destroy() }
    fn cuEventCreate(event: *mut *mut c_void, _flags: c_uint) { create(event) }
    fn cuEventDestroy_v2(_event: *mut c_void) { destroy() }
    fn cuEventRecord(_event: *mut c_void, _stream: *mut c_void) { SUCCESS }

    /// A real driver reports the faults of a kernel here.
    fn cuEventQuery(_event: *mut c_void) { driver(|driver| driver.sticky) }

    fn cuEventElapsedTime(milliseconds: *mut f32, _start: *mut c_void, _end: *mut c_void) { put(milliseconds, 0.25) }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        *free = if has_fault("small") { 65 << 20 } else { 1 << 30 };
        *total = 2 << 30;
        SUCCESS
    }

    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        if bytes == 0 {
            return INVALID_VALUE;
        }
        let memory = vec![0xcd; bytes];
        *address = memory.as_ptr() as u64;
        driver(|driver| driver.memory.insert(*address, memory));
        SUCCESS
    }

    fn cuMemFree_v2(address: u64) {
        result_of(|driver| driver.memory.remove(&address).map(drop))
    }

    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) {
        let from = std::slice::from_raw_parts(from.cast::<u8>(), bytes);
        result_of(|driver| driver.bytes(to, bytes).map(|to| to.copy_from_slice(from)))
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) {
        let to = std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes);
        result_of(|driver| driver.bytes(from, bytes).map(|from| to.copy_from_slice(from)))
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, _stream: *mut c_void) {
        result_of(|driver| {
            let from = driver.bytes(from, bytes)?.to_vec();
            driver.bytes(to, bytes).map(|to| to.copy_from_slice(&from))
        })
    }

    fn cuMemsetD8Async(address: u64, value: u8, bytes: usize, _stream: *mut c_void) {
        result_of(|driver| driver.bytes(address, bytes).map(|bytes| bytes.fill(value)))
    }

    fn cuModuleLoadDataEx(
        module: *mut usize, image: *const c_char, count: c_uint, options: *const c_uint,
        values: *const *mut c_void,
    ) {
        if has_fault("bad_ptx") {
            const ERROR_LOG_BUFFER: c_uint = 5;
            const ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
            let option = |which| (0..count as usize).find(|&i| *options.add(i) == which);
            if let (Some(log), Some(size)) = (
                option(ERROR_LOG_BUFFER),
                option(ERROR_LOG_BUFFER_SIZE_BYTES),
            ) {
                let text = c"ptxas fatal: Unsupported .version 9.9\n".to_bytes_with_nul();
                assert!(*values.add(size) as usize >= text.len());
                (*values.add(log))
                    .cast::<u8>()
                    .copy_from_nonoverlapping(text.as_ptr(), text.len());
            }
            return INVALID_PTX;
        }
        let text = CStr::from_ptr(image).to_string_lossy().into_owned();
        // A real driver takes time to compile each entry, so a module must have only one.
        let entries = text.matches(".entry ").count();
        if entries != 1 || text.contains(".loc") {
            eprintln!("a module has {entries} entries or line tables");
        }
        driver(|driver| {
            driver.objects += 1;
            driver.modules.push(text);
            *module = driver.modules.len();
            SUCCESS
        })
    }

    fn cuModuleUnload(_module: *mut c_void) { destroy() }

    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) {
        let name = CStr::from_ptr(name).to_string_lossy().into_owned();
        driver(|driver| {
            if !driver.modules[module - 1].contains(&format!(".entry {name}(")) {
                return NOT_FOUND;
            }
            driver.functions.push(name);
            *function = driver.functions.len();
            SUCCESS
        })
    }
}
