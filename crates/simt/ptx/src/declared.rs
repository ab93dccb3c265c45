//! The source declarations of a kernel's parameters.
//!
//! `cuda_builder` writes each declaration as a comment next to its parameter. Drivers ignore these comments:
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
    /// The name of the parameter; for the length of a slice, the name of the slice.
    pub name: String,
    /// The type: `&[f32]`.
    pub ty: String,
    /// How a kernel uses the argument for this parameter.
    pub role: Role,
}

/// How a kernel uses the argument for a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A value of this type.
    Value(DataType),
    /// The address of values of this type.
    Pointer(DataType),
    /// The address of a slice with elements of this type. The next parameter is its length.
    Slice(DataType),
    /// The number of elements of the preceding slice.
    Length,
}

/// A data type, with the properties that follow from its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataType {
    /// The name.
    pub name: String,
    /// The size in bytes, if known.
    pub bytes: Option<u64>,
    /// For a number or an array of numbers: whether the numbers are floats, and the size of each number in bytes, if
    /// known.
    pub number: Option<(bool, u64)>,
}

impl Declared {
    /// Parses the comment next to a parameter. Returns `None` if the comment does not have this form.
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

/// Formats the parameter as in the source: `a: &[f32]`.
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
    /// Returns the type with this name.
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

    /// Returns whether a value of another type can replace a value of this type. Both types must have the same size,
    /// and both must be floats or both integers. A property that is unknown for either type is not compared.
    #[must_use]
    pub fn accepts(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        agree(self.bytes, other.bytes) && agree(self.number, other.number)
    }
}

/// Returns whether the numeric type with this name is a float, and its size in bytes.
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

/// Returns the type `T` of `*const T`, `*mut T`, `&T` and `&mut T`.
fn target(ty: &str) -> Option<&str> {
    ["*const ", "*mut ", "&mut ", "&"].iter().find_map(|start| ty.strip_prefix(start))
}

/// Returns the element type of `&[T]` and `&mut [T]`.
fn slice(ty: &str) -> Option<&str> {
    let inner = ty.strip_prefix("&mut ").or_else(|| ty.strip_prefix('&'))?;
    if array(inner).is_some() {
        return None;
    }
    inner.strip_prefix('[')?.strip_suffix(']')
}

/// Returns the element type and the length of `[T; N]`.
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
