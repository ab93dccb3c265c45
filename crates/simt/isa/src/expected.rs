//! The operands that an instruction requires.

use ptx::opcode::type_bytes;

/// The requirements for an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// The kind of the operand.
    pub kind: Kind,
    /// Whether the instruction writes the operand.
    pub is_written: bool,
    /// Whether the instruction reads the operand.
    pub is_read: bool,
    /// Whether the operand can be omitted.
    pub is_optional: bool,
    /// The predicate that the instruction writes in addition to the operand, as in `d|p`.
    pub predicate: Predicate,
    /// Whether the operand can be `_`, which discards the result.
    pub allows_discard: bool,
    /// Whether the operand can be a special register.
    pub allows_special: bool,
    /// Whether the operand can be the address of a variable.
    pub allows_variable: bool,
}

/// The predicate next to a written register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predicate {
    /// There is no predicate.
    None,
    /// The predicate can be omitted.
    Optional,
    /// The predicate is required.
    Required,
}

/// The kind of an operand. The comment at the start of the table explains its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `type`: a value of the last type that the opcode names.
    Last,
    /// `dtype`: a value of the first type.
    First,
    /// `wide`: a value twice as wide as the last type.
    Double,
    /// `type+`: a value of the last type, in a register of this width or a wider one.
    LastOrWider,
    /// `dtype+`: a value of the first type, in a register of this width or a wider one.
    FirstOrWider,
    /// `vec`: like `type+`, but in braces if the opcode names a vector.
    Elements,
    /// `texels`: values of the first type in braces.
    Texels,
    /// `u32`, `pred` and so on: a value of this type.
    Of(&'static str),
    /// `byte`: a `.u32`, or a constant of at most 255.
    Byte,
    /// `barrier`: the number of a barrier.
    Barrier,
    /// `threads`: the number of threads at a barrier.
    Threads,
    /// `pred|u32`
    PredicateOrU32,
    /// `u32|u64`
    U32OrU64,
    /// `[a]`: an address.
    Address,
    /// `imm`: an integer constant.
    Constant,
    /// `_`
    Discarded,
    /// `texture`: a texture or surface with coordinates.
    Texture,
    /// `sides`: the side lengths of a texture.
    Sides,
    /// `offset`: offsets in a texture, or a depth to compare with.
    Offset,
    /// `frag`: registers that hold a matrix, or the corresponding operand of `wgmma`.
    Fragment,
    /// `coords`: a tensor map with coordinates.
    Coordinates,
    /// `im2col`: offsets in a tensor.
    Im2col,
    /// `any`: the requirements depend on all operands together.
    Any,
}

impl Kind {
    /// Returns the kind for a word of the table.
    fn named(word: &'static str) -> Option<Self> {
        Some(match word {
            "type" => Self::Last,
            "dtype" => Self::First,
            "wide" => Self::Double,
            "type+" => Self::LastOrWider,
            "dtype+" => Self::FirstOrWider,
            "vec" => Self::Elements,
            "texels" => Self::Texels,
            "byte" => Self::Byte,
            "barrier" => Self::Barrier,
            "threads" => Self::Threads,
            "pred|u32" => Self::PredicateOrU32,
            "u32|u64" => Self::U32OrU64,
            "imm" => Self::Constant,
            "texture" => Self::Texture,
            "sides" => Self::Sides,
            "offset" => Self::Offset,
            "frag" => Self::Fragment,
            "coords" => Self::Coordinates,
            "im2col" => Self::Im2col,
            "any" => Self::Any,
            ty if is_type(ty) => Self::Of(ty),
            _ => return None,
        })
    }

    /// Returns the type that an operand of this kind has in an opcode with these words, or `None` for a kind without a
    /// type.
    #[must_use]
    pub fn ty<'w>(self, words: &[&'w str]) -> Option<&'w str> {
        let mut types = words[1..].iter().copied().filter(|word| is_type(word));
        match self {
            Self::Last | Self::LastOrWider | Self::Elements => types.next_back(),
            Self::First | Self::FirstOrWider | Self::Texels => types.next(),
            Self::Double => Some(match types.next_back()? {
                "u16" => "u32",
                "s16" => "s32",
                "u32" => "u64",
                _ => "s64",
            }),
            Self::Of(ty) => Some(ty),
            Self::Byte | Self::Barrier | Self::Threads => Some("u32"),
            _ => None,
        }
    }
}

impl Expected {
    /// Returns an operand of this kind that is read.
    #[must_use]
    pub const fn read(kind: Kind) -> Self {
        Self {
            kind,
            is_written: false,
            is_read: true,
            is_optional: false,
            predicate: Predicate::None,
            allows_discard: false,
            allows_special: false,
            allows_variable: false,
        }
    }

    /// Returns an operand of this kind that is written.
    #[must_use]
    pub const fn written(kind: Kind) -> Self {
        Self { is_written: true, is_read: false, ..Self::read(kind) }
    }

    /// Parses an operand of the table: `d|p: b32|_` or `[a]`, followed by `}` if the operand can be omitted.
    pub(crate) fn parse(text: &'static str) -> Option<Self> {
        let is_optional = text.ends_with('}');
        let text = text.trim_end_matches(['{', '}']);
        let Some((name, words)) = text.split_once(": ") else {
            let is_address = text.starts_with('[');
            let special = if is_address { Self::read(Kind::Address) } else { Self::written(Kind::Discarded) };
            return (is_address || text == "_").then_some(Self { is_optional, ..special });
        };
        let mut found = if name.starts_with('d') { Self::written(Kind::Any) } else { Self::read(Kind::Any) };
        found.is_optional = is_optional;
        found.is_read |= name == "d+";
        found.predicate = match name {
            name if name.ends_with("{|p}") => Predicate::Optional,
            name if name.ends_with("|p") => Predicate::Required,
            _ => Predicate::None,
        };
        let mut kind = words;
        while let Some((rest, word)) = kind.rsplit_once('|') {
            match word {
                "_" => found.allows_discard = true,
                "special" => found.allows_special = true,
                "variable" => found.allows_variable = true,
                _ => break,
            }
            kind = rest;
        }
        found.kind = Kind::named(kind)?;
        Some(found)
    }
}

/// Returns whether a modifier is a type.
#[must_use]
pub fn is_type(word: &str) -> bool {
    matches!(word, "pred" | "u16x2" | "s16x2" | "tf32" | "f32x2" | "e4m3x2" | "e5m2x2") || type_bytes(word).is_some()
}
