//! What a program gives the driver as a module: PTX, a fatbin that holds PTX, or code that only a GPU runs.

use std::ffi::{CStr, c_char, c_void};

use crate::abi::error::{Code, Error, Result};
use crate::code::fatbin::{self, CONTAINER, WRAPPER};

/// The environment variable with the version of CUDA that programs see as the driver's: `12.8`. 13.0 without it.
pub const DRIVER_VERSION: &str = "LADDER_SIM_DRIVER_VERSION";

/// The first bytes of an ELF file, which a cubin is.
const ELF: [u8; 4] = *b"\x7fELF";

/// The PTX of an image.
///
/// # Errors
/// `CUDA_ERROR_INVALID_IMAGE` when it is none that the driver knows, `CUDA_ERROR_NO_BINARY_FOR_GPU` when it has no PTX that
/// this device could be given.
///
/// # Safety
/// The image is one that the driver's interface lets a program load: a text that ends in a NUL, a fatbin, the wrapper that
/// nvcc puts around one, or an ELF file.
pub(crate) unsafe fn ptx(image: *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE.into());
    }
    // SAFETY: each kind of image has four bytes, or a NUL among them.
    match unsafe { first_bytes(image.cast()) } {
        // SAFETY: the caller's promise.
        WRAPPER => unsafe { fatbin::wrapped(image, capability) },
        // SAFETY: the caller's promise.
        CONTAINER => fatbin::ptx(unsafe { fatbin::bytes(image) }?, capability),
        magic @ ELF => ptx_in(&magic, capability),
        // SAFETY: what is left is a text that ends in a NUL.
        _ => ptx_in(unsafe { CStr::from_ptr(image.cast::<c_char>()) }.to_bytes(), capability),
    }
}

/// The PTX of an image of which all bytes are given, those of a file for example.
///
/// # Errors
/// As [`ptx`] does, and `CUDA_ERROR_INVALID_IMAGE` when a part of a fatbin is missing.
pub(crate) fn ptx_in(bytes: &[u8], capability: (u32, u32)) -> Result<Vec<u8>> {
    match bytes.first_chunk() {
        Some(&ELF) => Err(no_ptx("the image is a cubin, which holds machine code for a GPU and no PTX")),
        Some(&CONTAINER) => fatbin::ptx(bytes, capability),
        Some(&WRAPPER) => {
            let what = "the wrapper around a fatbin, whose addresses mean something in a program's memory only";
            Err(Error::new(Code::INVALID_IMAGE, what))
        }
        _ => Ok(CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes).to_vec()),
    }
}

/// The device's runtime library, which NVIDIA has as machine code.
const DEVICE_RUNTIME: &str = include_str!("devrt.ptx");
/// The name of its only file, which an archive and the symbols of the file contain.
const DEVICE_RUNTIME_NAME: &[u8] = b"cuda_device_runtime";

/// The PTX of the fatbins in an object file of the host, or in an archive of such files (`libcudadevrt.a`).
///
/// # Errors
/// `CUDA_ERROR_NO_BINARY_FOR_GPU` when the fatbins have no PTX that this device could be given, and
/// `CUDA_ERROR_NOT_SUPPORTED` when there are none.
pub(crate) fn ptx_of_objects(bytes: &[u8], capability: (u32, u32)) -> Result<Vec<Vec<u8>>> {
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    if has(DEVICE_RUNTIME_NAME) {
        return Ok(vec![DEVICE_RUNTIME.as_bytes().to_vec()]);
    }
    // Objects differ from system to system, but each fatbin in them begins with its magic number and has its size.
    let (mut texts, mut refused, mut at) = (Vec::new(), None, 0);
    while let Some(next) = bytes[at..].windows(CONTAINER.len()).position(|window| window == CONTAINER) {
        at += next;
        match fatbin::ptx(&bytes[at..], capability) {
            Ok(text) => texts.push(text),
            Err(error) => refused = Some(error),
        }
        at += fatbin::size(&bytes[at..]).unwrap_or(CONTAINER.len());
    }
    match (texts.is_empty(), refused) {
        (false, _) => Ok(texts),
        (true, Some(error)) => Err(error),
        (true, None) => Err(Error::new(Code::NOT_SUPPORTED, "an object or a library without code for GPUs")),
    }
}

/// What follows a directive of a PTX text's header: the architecture that it is for, `sm_90a`, or its version, `7.8`.
fn directive<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let code = ptx.lines().filter_map(|line| line.split("//").next());
    let mut words = code.flat_map(str::split_whitespace);
    words.find(|word| *word == name)?;
    words.next()?.split(',').next()
}

/// Refuses PTX of a version that there is not, or not yet, as the driver's compiler does.
pub(crate) fn check_version(ptx: &str) -> Result<()> {
    let written = directive(ptx, ".version").unwrap_or_default();
    let numbers = written.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match numbers {
        Some(version) if !ptx::version::exists(version) => {
            let (major, minor) = ptx::version::NEWEST;
            let what = format!("unsupported .version {written}; the newest is {major}.{minor}");
            Err(Error::new(Code::UNSUPPORTED_PTX_VERSION, what))
        }
        // The parser says what is wrong with one that is no version.
        _ => Ok(()),
    }
}

/// The architecture that a PTX text is written for, if devices of a compute capability do not run it.
pub(crate) fn other_target(ptx: &str, capability: (u32, u32)) -> Option<&str> {
    directive(ptx, ".target").filter(|target| !runs_on(target, capability))
}

/// Whether PTX for an architecture runs on devices of a compute capability: on later ones too, but with the suffix `a` on
/// none but its own, and with `f` on the later ones of its major version.
fn runs_on(target: &str, (major, minor): (u32, u32)) -> bool {
    let number = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    let Ok(number) = number.parse::<u32>() else {
        // The parser says what is wrong with it.
        return true;
    };
    let (own_major, own_minor) = (number / 10, number % 10);
    match target.chars().last() {
        Some('a') => (own_major, own_minor) == (major, minor),
        Some('f') => own_major == major && own_minor <= minor,
        _ => (own_major, own_minor) <= (major, minor),
    }
}

/// The error for code that has no PTX.
pub(crate) fn no_ptx(what: &str) -> Error {
    let remedy = format!(
        "with nvcc, compile with `-arch=compute_80 -code=compute_80`; with NVRTC, compile with \
         `--gpu-architecture=compute_80` and load what nvrtcGetPTX gives; a library that compiles when it runs has a \
         setting for PTX (CuPy: CUPY_COMPILE_WITH_PTX=1), or makes PTX for a driver as new as its compiler \
         ({DRIVER_VERSION}=13.5)"
    );
    Error::new(Code::NO_BINARY_FOR_GPU, format!("{what}; the simulated device runs PTX: {remedy}"))
}

/// The first four bytes of an image; behind a NUL they are zero, because a text may end there.
unsafe fn first_bytes(image: *const u8) -> [u8; 4] {
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the bytes before were no NUL, so there is another one.
        *byte = unsafe { *image.add(at) };
        if *byte == 0 {
            break;
        }
    }
    bytes
}
