//! What the source says of a kernel's parameters.
//!
//! `cuda_builder` writes it as a comment next to each parameter, which drivers skip:
//!
//! ```text
//! .param .u64 .ptr .align 1 add_param_0, // rust: a: &[f32]
//! .param .u64 add_param_1, // rust: a.len()
//! .param .u64 .ptr .align 1 add_param_2, // rust: colors: &mut [Color], 12 bytes
//! .param .u64 add_param_3, // rust: colors.len()
//! .param .u32 add_param_4 // rust: n: u32
//! ```

use std::fmt;

/// A parameter as the source declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name; for the length of a slice, the slice's name.
    pub name: String,
    /// Its type: `&[f32]`.
    pub ty: String,
    /// What an argument for it is.
    pub role: Role,
}

/// What an argument for a parameter is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A value of this type.
    Value(DataType),
    /// The address of values of this type.
    Pointer(DataType),
    /// The address of a slice with elements of this type. The next parameter is its length.
    Slice(DataType),
    /// The number of elements of the slice before it.
    Length,
}

/// A type of numbers, as far as its name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// Its name.
    pub name: String,
    /// Its size, if known.
    pub bytes: Option<u64>,
    /// The number that it is or that it is an array of, if it is known: whether that is a float, and its size in bytes.
    pub number: Option<(bool, u64)>,
}

impl Declared {
    /// Reads the comment next to a parameter; `None` if it is not of this form.
    #[must_use]
    pub fn read(comment: &str) -> Option<Self> {
        let text = comment.trim().strip_prefix("rust: ")?.trim_end();
        if let Some(name) = text.strip_suffix(".len()") {
            return Some(Self { name: name.to_owned(), ty: "usize".to_owned(), role: Role::Length });
        }
        let (name, rest) = text.split_once(": ")?;
        let with_size = rest.strip_suffix(" bytes").and_then(|rest| rest.rsplit_once(", "));
        let (ty, bytes) = match with_size.and_then(|(ty, bytes)| Some((ty, bytes.parse().ok()?))) {
            Some((ty, bytes)) => (ty, Some(bytes)),
            None => (rest, None),
        };
        let role = match (slice(ty), target(ty)) {
            (Some(element), _) => {
                let element = DataType::named(element);
                Role::Slice(DataType { bytes: bytes.or(element.bytes), ..element })
            }
            (None, Some(target)) => Role::Pointer(DataType::named(target)),
            (None, None) => Role::Value(DataType::named(ty)),
        };
        Some(Self { name: name.to_owned(), ty: ty.to_owned(), role })
    }
}

/// As the source has it: `a: &[f32]`.
impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, ty, role } = self;
        match role {
            Role::Length => write!(f, "{name}.len(): {ty}"),
            _ => write!(f, "{name}: {ty}"),
        }
    }
}

impl DataType {
    /// The type of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let name = name.trim();
        let (bytes, number) = match array(name) {
            Some((element, count)) => {
                let element = Self::named(element);
                let count = count.parse::<u64>().ok();
                (element.bytes.zip(count).and_then(|(bytes, count)| bytes.checked_mul(count)), element.number)
            }
            None => {
                let number = number(name);
                (number.map(|(_, bytes)| bytes).or_else(|| target(name).map(|_| 8)), number)
            }
        };
        Self { name: name.to_owned(), bytes, number }
    }

    /// Whether a value of another type can stand for one of this type: both have the same size, and both are floats or both
    /// are integers. Properties that one of the types lacks are not compared.
    #[must_use]
    pub fn accepts(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        agree(self.bytes, other.bytes) && agree(self.number, other.number)
    }
}

/// Whether the number of this name is a float, and its size in bytes.
fn number(name: &str) -> Option<(bool, u64)> {
    match name {
        "bool" => Some((false, 1)),
        "char" => Some((false, 4)),
        "usize" | "isize" => Some((false, 8)),
        _ => {
            let bits = name.strip_prefix(['f', 'i', 'u'])?;
            matches!(bits, "8" | "16" | "32" | "64" | "128").then_some(())?;
            Some((name.starts_with('f'), bits.parse::<u64>().ok()? / 8))
        }
    }
}

/// The type that an address of this type leads to: that of `*const T`, `*mut T`, `&T` and `&mut T`.
fn target(ty: &str) -> Option<&str> {
    ["*const ", "*mut ", "&mut ", "&"].iter().find_map(|start| ty.strip_prefix(start))
}

/// The element of `&[T]` and `&mut [T]`.
fn slice(ty: &str) -> Option<&str> {
    let inner = ty.strip_prefix("&mut ").or_else(|| ty.strip_prefix('&'))?;
    if array(inner).is_some() {
        return None;
    }
    inner.strip_prefix('[')?.strip_suffix(']')
}

/// The element and the length of `[T; N]`.
fn array(ty: &str) -> Option<(&str, &str)> {
    let inner = ty.strip_prefix('[')?.strip_suffix(']')?;
    let mut depth = 0_usize;
    let at = inner.rfind(|c| {
        match c {
            ']' | ')' => depth += 1,
            '[' | '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    })?;
    Some((inner[..at].trim(), inner[at + 1..].trim()))
}
