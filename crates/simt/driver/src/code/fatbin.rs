//! Fatbins: what nvcc embeds in a program, PTX and machine code for several GPUs, each perhaps compressed.
//!
//! The layout is that of `fatbinary_section.h` in NVIDIA's toolkit, and what other open-source implementations of the
//! driver (ZLUDA, GPU Ocelot) have found about the entries.

use std::ffi::c_void;
use std::io::Read as _;
use std::ops::Range;

use crate::abi::error::{Code, Error, Result};
use crate::code::image::{no_ptx, other_target};
use crate::code::merge::merge;

/// The first bytes of the wrapper that nvcc puts around a fatbin, and of the fatbin itself.
pub(crate) const WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
pub(crate) const CONTAINER: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The version of the wrapper of a program whose files were compiled for themselves.
const RELOCATABLE: u32 = 2;

/// The kind of an entry that is PTX.
const PTX: u16 = 1;
/// How an entry is compressed, among its flags.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The most bytes that one compressed byte of PTX is taken to stand for.
const MAX_RATIO: u64 = 1 << 12;

/// An entry of a fatbin.
struct Entry<'a> {
    kind: u16,
    /// The architecture that it is for: 80 for sm_80.
    arch: u32,
    flags: u64,
    /// How many bytes there are once they are not compressed any more.
    unpacked: u64,
    bytes: &'a [u8],
}

/// The PTX of the fatbins that a wrapper is around, for a device of this compute capability.
///
/// # Safety
/// The image is a wrapper, and each of its fatbins is as long as its header says.
pub(crate) unsafe fn wrapped(image: *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    // SAFETY: a wrapper has these fields.
    let wrapper = unsafe { image.cast::<Wrapper>().read_unaligned() };
    match wrapper.version {
        // SAFETY: the wrapper says where the fatbins are.
        RELOCATABLE => unsafe { linked(wrapper.parts, capability) },
        // SAFETY: the wrapper says where the fatbin is.
        _ => ptx(unsafe { bytes(wrapper.container) }?, capability),
    }
}

/// The wrapper around a fatbin.
#[repr(C)]
struct Wrapper {
    magic: [u8; 4],
    version: u32,
    container: *const c_void,
    /// The fatbins of the program's files, up to a null, where each file was compiled for itself.
    parts: *const *const c_void,
}

/// The PTX of fatbins that are to be linked. Those without PTX for the device, such as that of the device's runtime library,
/// are left out.
///
/// # Safety
/// The addresses of fatbins up to a null, each as long as its header says.
unsafe fn linked(mut parts: *const *const c_void, capability: (u32, u32)) -> Result<Vec<u8>> {
    let (mut texts, mut none) = (Vec::new(), no_ptx("the program's fatbins hold machine code for GPUs and no PTX"));
    // SAFETY: the caller's promise: addresses up to a null.
    while let Some(part) = unsafe { parts.as_ref() }.copied().filter(|part| !part.is_null()) {
        // SAFETY: each is the address of a fatbin.
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

/// The size of the part of a fatbin's header that is read.
const HEADER: usize = 16;

/// All bytes of a fatbin.
///
/// # Safety
/// The address is null or that of a fatbin, which is as long as its header says.
pub(crate) unsafe fn bytes<'a>(fatbin: *const c_void) -> Result<&'a [u8]> {
    if fatbin.is_null() {
        return Err(Code::INVALID_IMAGE.into());
    }
    // SAFETY: a fatbin begins with its header.
    let header = unsafe { std::slice::from_raw_parts(fatbin.cast::<u8>(), HEADER) };
    let end = entries(header)?.end;
    // SAFETY: as the caller promises, and no more than there are addresses.
    Ok(unsafe { std::slice::from_raw_parts(fatbin.cast::<u8>(), end) })
}

/// Where the entries of a fatbin lie, by its header.
fn entries(fatbin: &[u8]) -> Result<Range<usize>> {
    let damaged = || Error::new(Code::INVALID_IMAGE, "a fatbin whose header is damaged");
    let header = fatbin.get(..HEADER).filter(|header| header[..4] == CONTAINER).ok_or_else(damaged)?;
    let (size, rest) = (usize::from(u16_at(header, 6)), u64_at(header, 8));
    let end = usize::try_from(rest).ok().and_then(|rest| size.checked_add(rest));
    let end = end.filter(|end| size >= HEADER && *end <= isize::MAX as usize).ok_or_else(damaged)?;
    Ok(size..end)
}

/// The number of bytes of a fatbin at the start of a text; `None` when it is damaged or longer than the text.
pub(crate) fn size(text: &[u8]) -> Option<usize> {
    entries(text).ok().map(|place| place.end).filter(|end| *end <= text.len())
}

/// The PTX of a fatbin for a device of this compute capability.
pub(crate) fn ptx(fatbin: &[u8], capability: (u32, u32)) -> Result<Vec<u8>> {
    let place = entries(fatbin)?;
    let found = fatbin.get(place.clone()).ok_or_else(|| {
        let what = format!("a fatbin of {} bytes, of which there are only {}", place.end, fatbin.len());
        Error::new(Code::INVALID_IMAGE, what)
    })?;
    newest(found, capability)
}

/// The PTX of the newest architecture that a device of this compute capability runs.
fn newest(entries: &[u8], (major, minor): (u32, u32)) -> Result<Vec<u8>> {
    let entries = read_entries(entries)?;
    let device = major * 10 + minor;
    let ptx = || entries.iter().filter(|own| own.kind == PTX);
    let mut found: Vec<_> = ptx().filter(|own| own.arch <= device).collect();
    found.sort_by_key(|own| std::cmp::Reverse(own.arch));
    for entry in found {
        let text = unpack(entry)?;
        // PTX of `compute_90a` runs on 9.0 alone.
        if other_target(&String::from_utf8_lossy(&text), (major, minor)).is_none() {
            return Ok(text);
        }
    }
    let archs: Vec<String> = ptx().map(|own| format!("compute_{}", own.arch)).collect();
    Err(match archs.is_empty() {
        true => no_ptx("the program's fatbin holds machine code for GPUs and no PTX"),
        false => {
            no_ptx(&format!("the program's fatbin has PTX for {}, and the device is sm_{device}", archs.join(", ")))
        }
    })
}

fn read_entries(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
    let mut entries = Vec::new();
    let damaged = || Error::new(Code::INVALID_IMAGE, "a fatbin with an entry that is damaged");
    // The fields that are read lie in the first 64 bytes.
    while bytes.len() >= 64 {
        let header = u32_at(bytes, 4) as usize;
        // Of a compressed entry, the payload is its compressed bytes with some that fill it up.
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

/// The text of an entry, without what fills it up.
fn unpack(entry: &Entry<'_>) -> Result<Vec<u8>> {
    let damaged = |reason: String| Error::new(Code::INVALID_IMAGE, format!("PTX in a fatbin: {reason}"));
    let most = (entry.bytes.len() as u64).saturating_mul(MAX_RATIO);
    if entry.unpacked > most {
        return Err(damaged(format!(
            "{} bytes are said to be {} without compression",
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
            reader.take(most).read_to_end(&mut text).map_err(|error| damaged(error.to_string()))?;
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
