//! Fatbins, which nvcc embeds in a program: PTX and machine code for several GPUs, optionally compressed.
//!
//! The layout follows `fatbinary_section.h` in NVIDIA's toolkit. The format of the entries is known from other
//! open-source implementations of the driver (ZLUDA, GPU Ocelot).

use std::ffi::c_void;
use std::io::Read as _;
use std::ops::Range;

use crate::abi::error::{Code, Error, Result};
use crate::code::image::{no_ptx, other_target};
use crate::code::merge::merge;

/// The magic numbers of the wrapper that nvcc puts around a fatbin, and of the fatbin itself.
pub(crate) const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
pub(crate) const CONTAINER: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The wrapper's version in a program whose files were compiled separately (relocatable device code).
const RELOCATABLE: u32 = 2;

/// The kind of a PTX entry.
const PTX: u16 = 1;
/// The compression flags of an entry.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The maximum accepted compression ratio of PTX.
const MAX_RATIO: u64 = 1 << 12;

/// An entry of a fatbin.
struct Entry<'a> {
    kind: u16,
    /// The architecture that the code is for: 80 for sm_80.
    arch: u32,
    flags: u64,
    /// The number of bytes after decompression.
    unpacked: u64,
    bytes: &'a [u8],
}

/// Returns the PTX of the fatbins in a wrapper, for a device of this compute capability.
///
/// # Safety
/// The caller must ensure that `image` is a wrapper, and that each of its fatbins is as long as its header says.
pub(crate) unsafe fn wrapped(image: *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    // SAFETY: `image` is a wrapper, which has the layout of `Wrapper`.
    let wrapper = unsafe { image.cast::<Wrapper>().read_unaligned() };
    match wrapper.version {
        // SAFETY: in a wrapper of this version, `parts` is a null-terminated list of fatbins.
        RELOCATABLE => unsafe { linked(wrapper.parts, capability) },
        // SAFETY: `container` is the address of the wrapper's fatbin.
        _ => ptx(unsafe { bytes(wrapper.container) }?, capability),
    }
}

/// The wrapper around a fatbin.
#[repr(C)]
struct Wrapper {
    magic: [u8; 4],
    version: u32,
    container: *const c_void,
    /// A null-terminated list of the program files' fatbins, if the files were compiled separately.
    parts: *const *const c_void,
}

/// Links the PTX of several fatbins. Skips fatbins without PTX for the device, such as the fatbin of the device's
/// runtime library.
///
/// # Safety
/// The caller must ensure that `parts` is a null-terminated list of fatbins, each as long as its header says.
unsafe fn linked(mut parts: *const *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    let (mut texts, mut none) = (Vec::new(), no_ptx("the program's fatbins contain GPU machine code but no PTX"));
    // SAFETY: the list ends with a null, and the loop stops there, so `parts` points into the list.
    while let Some(part) = unsafe { parts.as_ref() }.copied().filter(|part| !part.is_null()) {
        // SAFETY: `part` is not null, so it is the address of a fatbin.
        match ptx(unsafe { bytes(part) }?, capability) {
            Ok(text) => texts.push(String::from_utf8(text).map_err(|_| Code::INVALID_IMAGE)?),
            Err(error) if error.code == Code::NO_BINARY_FOR_GPU => none = error,
            Err(error) => return Err(error),
        }
        parts = parts.wrapping_add(1);
    }
    if texts.is_empty() {
        return Err(none);
    }
    let linked =
        merge(&texts).map_err(|problem| Error::new(Code::INVALID_SOURCE, format!("linking PTX: {problem}")))?;
    Ok(linked.into_bytes())
}

/// The number of header bytes that are read.
const HEADER: usize = 16;

/// Returns all bytes of a fatbin.
///
/// # Safety
/// The caller must ensure that the address is null or that of a fatbin, which is as long as its header says.
pub(crate) unsafe fn bytes<'a>(fatbin: *const c_void) -> Result<&'a [u8]> {
    if fatbin.is_null() {
        return Err(Code::INVALID_IMAGE.into());
    }
    // SAFETY: the address is not null, and a fatbin starts with a header of at least `HEADER` bytes.
    let header = unsafe { std::slice::from_raw_parts(fatbin.cast::<u8>(), HEADER) };
    let end = entries(header)?.end;
    // SAFETY: the fatbin has `end` bytes according to its header, and `entries` checks that `end` fits in an `isize`.
    Ok(unsafe { std::slice::from_raw_parts(fatbin.cast::<u8>(), end) })
}

/// Reads the header of a fatbin and returns the byte range of the entries.
fn entries(fatbin: &[u8]) -> Result<Range<usize>> {
    let damaged = || Error::new(Code::INVALID_IMAGE, "the header of a fatbin is damaged");
    let header = fatbin.get(..HEADER).filter(|header| header[..4] == CONTAINER).ok_or_else(damaged)?;
    let (size, rest) = (usize::from(u16_at(header, 6)), u64_at(header, 8));
    let end = usize::try_from(rest).ok().and_then(|rest| size.checked_add(rest));
    let end = end.filter(|end| size >= HEADER && *end <= isize::MAX as usize).ok_or_else(damaged)?;
    Ok(size..end)
}

/// Returns the size in bytes of a fatbin at the start of `text`; `None` when it is damaged or longer than `text`.
pub(crate) fn size(text: &[u8]) -> Option<usize> {
    entries(text).ok().map(|place| place.end).filter(|end| *end <= text.len())
}

/// Returns the PTX of a fatbin for a device of this compute capability.
pub(crate) fn ptx(fatbin: &[u8], capability: (u32, u32)) -> Result<Vec<u8>> {
    let place = entries(fatbin)?;
    let found = fatbin.get(place.clone()).ok_or_else(|| {
        let what = format!("a fatbin of {} bytes is truncated to {} bytes", place.end, fatbin.len());
        Error::new(Code::INVALID_IMAGE, what)
    })?;
    newest(found, capability)
}

/// Returns the PTX of the newest architecture that a device of this compute capability runs.
fn newest(entries: &[u8], (major, minor): (u32, u32)) -> Result<Vec<u8>> {
    let entries = read_entries(entries)?;
    let device = major * 10 + minor;
    let ptx = || entries.iter().filter(|entry| entry.kind == PTX);
    let mut found: Vec<_> = ptx().filter(|entry| entry.arch <= device).collect();
    found.sort_by_key(|entry| std::cmp::Reverse(entry.arch));
    for entry in found {
        let text = unpack(entry)?;
        // PTX for `compute_90a` runs only on compute capability 9.0.
        if other_target(&String::from_utf8_lossy(&text), (major, minor)).is_none() {
            return Ok(text);
        }
    }
    let archs: Vec<String> = ptx().map(|entry| format!("compute_{}", entry.arch)).collect();
    Err(match archs.is_empty() {
        true => no_ptx("the program's fatbin contains GPU machine code but no PTX"),
        false => {
            no_ptx(&format!("the program's fatbin has PTX for {}, and the device is sm_{device}", archs.join(", ")))
        }
    })
}

fn read_entries(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
    let mut entries = Vec::new();
    let damaged = || Error::new(Code::INVALID_IMAGE, "an entry of a fatbin is damaged");
    // All header fields used here are within the first 64 bytes.
    while bytes.len() >= 64 {
        let header = u32_at(bytes, 4) as usize;
        // The payload of a compressed entry is the compressed bytes plus padding.
        let (payload, compressed) = (u32_at(bytes, 8) as usize, u32_at(bytes, 16) as usize);
        let flags = u64_at(bytes, 40);
        let is_compressed = flags & (LZ4 | ZSTD) != 0;
        let used = if is_compressed && compressed > 0 { compressed } else { payload };
        let end = header.checked_add(payload.max(used)).ok_or_else(damaged)?;
        let content = bytes.get(header..header + used).filter(|_| header >= 64).ok_or_else(damaged)?;
        entries.push(Entry {
            kind: u16_at(bytes, 0),
            arch: u32_at(bytes, 28),
            flags,
            unpacked: u64_at(bytes, 56),
            bytes: content,
        });
        bytes = bytes.get(end..).unwrap_or_default();
    }
    Ok(entries)
}

/// Returns the decompressed text of an entry, without its padding.
fn unpack(entry: &Entry<'_>) -> Result<Vec<u8>> {
    let damaged = |reason: String| Error::new(Code::INVALID_IMAGE, format!("PTX in a fatbin: {reason}"));
    let max_bytes = (entry.bytes.len() as u64).saturating_mul(MAX_RATIO);
    if entry.unpacked > max_bytes {
        return Err(damaged(format!(
            "an entry of {} bytes declares {} decompressed bytes, which exceeds the limit",
            entry.bytes.len(),
            entry.unpacked
        )));
    }
    let mut text = match entry.flags {
        flags if flags & LZ4 != 0 => lz4_flex::block::decompress(entry.bytes, entry.unpacked as usize)
            .map_err(|error| damaged(error.to_string()))?,
        flags if flags & ZSTD != 0 => {
            let mut text = Vec::new();
            let reader = ruzstd::decoding::StreamingDecoder::new(entry.bytes);
            let reader = reader.map_err(|error| damaged(error.to_string()))?;
            reader.take(max_bytes).read_to_end(&mut text).map_err(|error| damaged(error.to_string()))?;
            text
        }
        _ => entry.bytes.to_vec(),
    };
    while text.last() == Some(&0) {
        text.pop();
    }
    Ok(text)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u16_at(bytes, at) as u32 | (u16_at(bytes, at + 2) as u32) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u32_at(bytes, at) as u64 | (u32_at(bytes, at + 4) as u64) << 32
}
