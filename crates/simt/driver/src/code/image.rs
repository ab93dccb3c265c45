//! The images that a program loads as modules: PTX, a fatbin that contains PTX, or machine code, which only a GPU runs.

use std::ffi::{CStr, c_char, c_void};

use crate::abi::error::{Code, Error, Result};
use crate::code::fatbin::{self, CONTAINER, WRAPPER};

/// The environment variable with the CUDA version that the driver reports to programs, such as `12.8`. The default is
/// 13.0.
pub const DRIVER_VERSION: &str = "LADDER_SIM_DRIVER_VERSION";

/// The magic number of an ELF file. A cubin is an ELF file.
const ELF: [u8; 4] = *b"\x7fELF";

/// Returns the PTX of an image.
///
/// # Errors
/// Returns `CUDA_ERROR_INVALID_IMAGE` when the driver does not know the format, and `CUDA_ERROR_NO_BINARY_FOR_GPU` when
/// the image has no PTX for this device.
///
/// # Safety
/// The caller must ensure that the image is one of the driver's formats: NUL-terminated text, a fatbin, nvcc's wrapper
/// around a fatbin, or an ELF file.
pub(crate) unsafe fn ptx(image: *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE.into());
    }
    // SAFETY: an image of each format has four readable bytes, or a NUL among the first four.
    match unsafe { first_bytes(image.cast()) } {
        // SAFETY: the magic number identifies a wrapper, and the driver's interface requires complete fatbins.
        WRAPPER => unsafe { fatbin::wrapped(image, capability) },
        // SAFETY: the magic number identifies a fatbin, and the driver's interface requires a complete one.
        CONTAINER => fatbin::ptx(unsafe { fatbin::bytes(image) }?, capability),
        magic @ ELF => ptx_in(&magic, capability),
        // SAFETY: the only remaining format is NUL-terminated text.
        _ => ptx_in(unsafe { CStr::from_ptr(image.cast::<c_char>()) }.to_bytes(), capability),
    }
}

/// Returns the PTX of an image whose bytes are all given, such as the bytes of a file.
///
/// # Errors
/// Returns the errors of [`ptx`], and `CUDA_ERROR_INVALID_IMAGE` when a fatbin is incomplete.
pub(crate) fn ptx_in(bytes: &[u8], capability: (u32, u32)) -> Result<Vec<u8>> {
    match bytes.first_chunk() {
        Some(&ELF) => Err(no_ptx("the image is a cubin, which contains machine code for a GPU and no PTX")),
        Some(&CONTAINER) => fatbin::ptx(bytes, capability),
        Some(&WRAPPER) => {
            let what = "the image is a fatbin wrapper, and its addresses are valid only in the program's memory";
            Err(Error::new(Code::INVALID_IMAGE, what))
        }
        _ => Ok(CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes).to_vec()),
    }
}

/// A PTX version of the device runtime library, which NVIDIA ships as machine code.
const DEVICE_RUNTIME: &str = include_str!("devrt.ptx");
/// The name of the library's only file. It occurs in the archive and in the symbols of the file.
const DEVICE_RUNTIME_NAME: &[u8] = b"cuda_device_runtime";

/// Returns the PTX of the fatbins in an object file of the host, or in an archive of such files (`libcudadevrt.a`).
///
/// # Errors
/// Returns `CUDA_ERROR_NO_BINARY_FOR_GPU` when the fatbins have no PTX for this device, and `CUDA_ERROR_NOT_SUPPORTED`
/// when there are no fatbins.
pub(crate) fn ptx_of_objects(bytes: &[u8], capability: (u32, u32)) -> Result<Vec<Vec<u8>>> {
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    if has(DEVICE_RUNTIME_NAME) {
        return Ok(vec![DEVICE_RUNTIME.as_bytes().to_vec()]);
    }
    // Object formats differ between systems, but each fatbin starts with its magic number and contains its size.
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
        (true, None) => Err(Error::new(Code::NOT_SUPPORTED, "the object or library contains no GPU code")),
    }
}

/// Returns the argument of a directive in a PTX header, such as the architecture `sm_90a` or the version `7.8`.
fn directive<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let code = ptx.lines().filter_map(|line| line.split("//").next());
    let mut words = code.flat_map(str::split_whitespace);
    words.find(|word| *word == name)?;
    words.next()?.split(',').next()
}

/// Refuses PTX of an unknown or newer version, as the driver's compiler does.
pub(crate) fn check_version(ptx: &str) -> Result<()> {
    let written = directive(ptx, ".version").unwrap_or_default();
    let numbers = written.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match numbers {
        Some(version) if !ptx::version::exists(version) => {
            let (major, minor) = ptx::version::NEWEST;
            let what = format!("unsupported .version {written}; the newest is {major}.{minor}");
            Err(Error::new(Code::UNSUPPORTED_PTX_VERSION, what))
        }
        // The parser reports a malformed version.
        _ => Ok(()),
    }
}

/// Returns the architecture that a PTX text is written for, if devices of this compute capability do not run it.
pub(crate) fn other_target(ptx: &str, capability: (u32, u32)) -> Option<&str> {
    directive(ptx, ".target").filter(|target| !runs_on(target, capability))
}

/// Returns whether PTX for an architecture runs on devices of a compute capability. Later devices run it too, except
/// with a suffix: `a` restricts PTX to the same compute capability, and `f` to the same major version.
fn runs_on(target: &str, (major, minor): (u32, u32)) -> bool {
    let number = target.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    let Ok(number) = number.parse::<u32>() else {
        // The parser reports a malformed target.
        return true;
    };
    let (ptx_major, ptx_minor) = (number / 10, number % 10);
    match target.chars().last() {
        Some('a') => (ptx_major, ptx_minor) == (major, minor),
        Some('f') => ptx_major == major && ptx_minor <= minor,
        _ => (ptx_major, ptx_minor) <= (major, minor),
    }
}

/// Returns the error for code without PTX.
pub(crate) fn no_ptx(what: &str) -> Error {
    let remedy = format!(
        "with nvcc, compile with `-arch=compute_80 -code=compute_80`; with NVRTC, compile with \
         `--gpu-architecture=compute_80` and load the result of nvrtcGetPTX; a library that compiles at run time has a \
         setting for PTX (CuPy: CUPY_COMPILE_WITH_PTX=1), or generates PTX if the driver is as new as the library's \
         compiler: set {DRIVER_VERSION}=13.5"
    );
    Error::new(Code::NO_BINARY_FOR_GPU, format!("{what}; the device `sim` runs PTX: {remedy}"))
}

/// Returns the first four bytes of an image. Bytes after a NUL are returned as zero, because a text may end there.
unsafe fn first_bytes(image: *const u8) -> [u8; 4] {
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: no earlier byte was NUL, so the image has a byte at `at`.
        *byte = unsafe { *image.add(at) };
        if *byte == 0 {
            break;
        }
    }
    bytes
}
