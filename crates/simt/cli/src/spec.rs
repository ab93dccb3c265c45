//! The notation for kernel arguments on the command line.

use std::fs::File;
use std::io::Read as _;
use std::str::FromStr;

use super::values::{BufferInit, Type};

/// A kernel's argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spec {
    /// The value as little-endian bytes, and its type, unless the value is written as bytes.
    Scalar { ty: Option<Type>, bytes: Vec<u8> },
    /// Memory on the device.
    Buffer { ty: Type, count: usize, fill: BufferInit },
}

/// The maximum size of a file that contains a single value. A kernel's parameters are smaller than 32 KiB, and its
/// constants are at most 64 KiB.
const MAX_FILE: u64 = 1 << 24;

const HINT: &str = "write a scalar as i32:5, a buffer as f32[1024] or f32[1024]=iota";

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(bytes) = text.strip_prefix("bytes:") {
            let bytes = match bytes.strip_prefix("file:") {
                Some(path) => file(path)?,
                None => hex(bytes)?,
            };
            return Ok(Self::Scalar { ty: None, bytes });
        }
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let ty = Type::from_name(name).ok_or_else(|| {
            if rest.is_empty() {
                format!("the type is missing; {HINT}")
            } else {
                format!("`{name}` is not a type; the types are {}", Type::names())
            }
        })?;
        if let Some(value) = rest.strip_prefix(':') {
            return Ok(Self::Scalar { ty: Some(ty), bytes: ty.parse(value)? });
        }
        let Some((count, fill)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return Err(format!("a value or a count is missing; {HINT}"));
        };
        let count = count.parse().map_err(|_| format!("`{count}` is not a number of elements; {HINT}"))?;
        Ok(Self::Buffer { ty, count, fill: fill_of(fill)? })
    }
}

/// Converts pairs of hexadecimal digits to bytes.
fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let digit = |at: usize| char::from(*pair.get(at)?).to_digit(16);
        Some((digit(0)? * 16 + digit(1)?) as u8)
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
        format!("`{digits}` is not a sequence of bytes; write two hexadecimal digits for each, as bytes:0a00ff, or bytes:file:PATH")
    })
}

/// Reads the bytes of a file.
fn file(path: &str) -> Result<Vec<u8>, String> {
    let bad = |error| format!("cannot read {path}: {error}");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(bad)?;
    // A device file may be endless.
    let mut file = file.take(MAX_FILE + 1);
    file.read_to_end(&mut bytes).map_err(bad)?;
    match bytes.len() as u64 {
        0 => Err(format!("{path} is empty")),
        1..=MAX_FILE => Ok(bytes),
        _ => Err(format!("{path} has more than {MAX_FILE} bytes; pass a buffer, as u8[N]=file:{path}")),
    }
}

fn fill_of(text: &str) -> Result<BufferInit, String> {
    const FILLS: &str = "a buffer is filled with =iota, =rand:SEED, =file:PATH or =uninit, or zeros";
    if text.is_empty() {
        return Ok(BufferInit::Zeros);
    }
    let unknown = || format!("`{text}` cannot fill a buffer; {FILLS}");
    let text = text.strip_prefix('=').ok_or_else(unknown)?;
    match text.split_once(':') {
        None if text == "iota" => Ok(BufferInit::Iota),
        None if text == "uninit" => Ok(BufferInit::Uninit),
        Some(("rand", seed)) => seed
            .parse()
            .map(BufferInit::Random)
            .map_err(|_| format!("`{seed}` is not a seed; write a number from 0 to 2^64 - 1, as rand:1")),
        Some(("file", "")) => Err("the file has no name; write file:PATH".to_owned()),
        Some(("file", path)) => Ok(BufferInit::File(path.into())),
        _ => Err(unknown()),
    }
}
