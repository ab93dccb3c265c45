//! The element types of the command line, and conversions between buffers and bytes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use half::f16;

/// Defines the types of arguments. Each row contains the type's variant, the Rust type, and a description of its values
/// for error messages.
macro_rules! types {
    ($($variant:ident $ty:ident $range:literal,)*) => {
        /// A type of an argument.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "these are the names on the command line")]
        pub(super) enum Type {
            $($variant),*
        }

        impl Type {
            const ALL: &[(Self, Functions)] = &[$((Self::$variant, Functions {
                name: stringify!($ty),
                bytes: size_of::<$ty>(),
                range: $range,
                parse: |text| Some(text.parse::<$ty>().ok()?.to_le_bytes().to_vec()),
                iota: |count| collect(count, |index| <$ty>::iota(index).to_le_bytes()),
                random: |count, seed| collect(count, |index| <$ty>::random(output(seed, index)).to_le_bytes()),
                show: |bytes, json, text| {
                    let mut little_endian = [0; size_of::<$ty>()];
                    little_endian.copy_from_slice(bytes);
                    <$ty>::from_le_bytes(little_endian).show(json, text);
                },
            })),*];
        }
    };
}

/// The operations on the values of a type.
struct Functions {
    name: &'static str,
    bytes: usize,
    range: &'static str,
    /// Parses a value and returns its little-endian bytes.
    parse: fn(&str) -> Option<Vec<u8>>,
    /// Returns the bytes of `n` values: 0, 1, 2, …, or, for `random`, random values from a seed.
    iota: fn(usize) -> Vec<u8>,
    random: fn(usize, u64) -> Vec<u8>,
    /// Formats the value with these bytes.
    show: fn(&[u8], bool, &mut String),
}

types! {
    I8 i8 "an i8: -128 to 127",
    U8 u8 "a u8: 0 to 255",
    I16 i16 "an i16: -32768 to 32767",
    U16 u16 "a u16: 0 to 65535",
    I32 i32 "an i32: -2147483648 to 2147483647",
    U32 u32 "a u32: 0 to 4294967295",
    I64 i64 "an i64: -2^63 to 2^63 - 1, in digits",
    U64 u64 "a u64: 0 to 2^64 - 1, in digits",
    F16 f16 "an f16; write it as 1.5, 1e-3, inf, -inf or nan",
    F32 f32 "an f32; write it as 1.5, 1e-3, inf, -inf or nan",
    F64 f64 "an f64; write it as 1.5, 1e-3, inf, -inf or nan",
}

/// The initial contents of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BufferInit {
    Zeros,
    Iota,
    Random(u64),
    File(PathBuf),
    Uninit,
}

/// The value of each byte of a buffer that the command line leaves uninitialized.
const UNINIT: u8 = 0xa5;

impl Type {
    fn functions(self) -> &'static Functions {
        &Self::ALL[self as usize].1
    }

    /// Returns the type with this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|row| row.1.name == name).map(|row| row.0)
    }

    /// Returns the name of the type.
    pub(super) fn name(self) -> &'static str {
        self.functions().name
    }

    /// Returns the names of all types.
    pub(super) fn names() -> String {
        Self::ALL.iter().map(|row| row.1.name).collect::<Vec<_>>().join(" ")
    }

    /// Returns the size of a value in bytes.
    pub(super) fn bytes(self) -> usize {
        self.functions().bytes
    }

    /// Parses a value and returns its little-endian bytes.
    pub(super) fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        (self.functions().parse)(text).ok_or_else(|| format!("`{text}` is not {}", self.functions().range))
    }

    /// Returns the initial contents of a buffer of `count` values. The size in bytes must fit in `usize`.
    pub(super) fn fill(self, count: usize, fill: &BufferInit) -> Result<Vec<u8>, String> {
        let path = match fill {
            BufferInit::Zeros => return Ok(vec![0; count * self.bytes()]),
            BufferInit::Uninit => return Ok(vec![UNINIT; count * self.bytes()]),
            BufferInit::Iota => return Ok((self.functions().iota)(count)),
            BufferInit::Random(seed) => return Ok((self.functions().random)(count, *seed)),
            BufferInit::File(path) => path,
        };
        let wanted = count * self.bytes();
        let (name, shown) = (self.name(), path.display());
        let bad = |error| format!("cannot read {shown}: {error}");
        let file = File::open(path).map_err(bad)?;
        let length = file.metadata().map_err(bad)?.len();
        // A device file may be endless, although its reported length is 0.
        let mut found = Vec::new();
        file.take(wanted as u64 + 1).read_to_end(&mut found).map_err(bad)?;
        match found.len() {
            fits if fits == wanted => Ok(found),
            more if more > wanted && length == 0 => {
                Err(format!("{shown} has more bytes than the {wanted} of {name}[{count}]"))
            }
            less => {
                let bytes = length.max(less as u64);
                let whole = bytes / self.bytes() as u64;
                Err(format!(
                    "{shown} has {bytes} bytes, {name}[{count}] has {wanted}; {name}[{whole}] would hold the whole file"
                ))
            }
        }
    }

    /// Formats values from their bytes: separated by blanks, or as a JSON array.
    pub(super) fn text(self, bytes: &[u8], json: bool) -> String {
        let mut text = String::new();
        for (index, value) in bytes.chunks_exact(self.bytes()).enumerate() {
            if index > 0 {
                text.push(if json { ',' } else { ' ' });
            }
            (self.functions().show)(value, json, &mut text);
        }
        if json { format!("[{text}]") } else { text }
    }
}

fn collect<const N: usize>(count: usize, value: impl Fn(u64) -> [u8; N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * N);
    for index in 0..count as u64 {
        bytes.extend(value(index));
    }
    bytes
}

/// Returns output `index` of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014)
/// with this seed.
pub(super) fn output(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A value of a type.
trait Value {
    /// Returns element `index` of 0, 1, 2, …, wrapped or rounded to the type.
    fn iota(index: u64) -> Self;
    /// Returns a value made from 64 random bits.
    fn random(bits: u64) -> Self;
    /// Formats the value as text or as JSON.
    fn show(self, json: bool, text: &mut String);
}

macro_rules! integers {
    ($($ty:ty),*) => {
        $(impl Value for $ty {
            fn iota(index: u64) -> Self {
                index as Self
            }

            fn random(bits: u64) -> Self {
                (bits >> 56) as Self
            }

            fn show(self, _json: bool, text: &mut String) {
                // Writing to a string cannot fail.
                let _ = write!(text, "{self}");
            }
        })*
    };
}
integers!(i8, u8, i16, u16, i32, u32, i64, u64);

macro_rules! floats {
    ($($ty:ty, $digits:literal, $from:expr);*) => {
        $(impl Value for $ty {
            fn iota(index: u64) -> Self {
                $from(index as f64)
            }

            fn random(bits: u64) -> Self {
                // Uses one bit per digit of the type's significand, so the result is exact and below 1.
                $from((bits >> (64 - $digits)) as f64 / (1u64 << $digits) as f64)
            }

            fn show(self, json: bool, text: &mut String) {
                let quote = if json { "\"" } else { "" };
                let _ = if self.is_nan() {
                    write!(text, "{quote}nan{quote}")
                } else if self.is_infinite() {
                    let sign = if self.is_sign_negative() { "-" } else { "" };
                    write!(text, "{quote}{sign}inf{quote}")
                } else {
                    write!(text, "{self:?}")
                };
            }
        })*
    };
}
floats!(f16, 11, f16::from_f64; f32, 24, |value: f64| value as f32; f64, 53, |value: f64| value);
