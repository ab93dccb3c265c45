//! What describes a tensor and its tiles.

/// How an encoded map begins.
const MAGIC: u64 = u64::from_le_bytes(*b"simt-map");
/// The most dimensions of a tensor.
const MOST: usize = 5;

/// A type of a tensor's elements, in the order of CUDA's `CUtensorMapDataType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl TensorElement {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Its size.
    pub fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Its name in PTX; `None` for those that no reduction has.
    pub(crate) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::U32 => "u32",
            Self::S32 => "s32",
            Self::U64 => "u64",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F32 | Self::F32Ftz => "f32",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            _ => return None,
        })
    }

    fn is_float(self) -> bool {
        (Self::F16 as u8..).contains(&(self as u8))
    }
}

/// How rows of a tile are mixed in shared memory, so that columns lie in different banks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the variants are the spans in bytes")]
pub enum Swizzle {
    #[default]
    None,
    B32,
    B64,
    B128,
}

impl Swizzle {
    /// Bytes of the span in which 16 bytes are exchanged; 16 without.
    fn span(self) -> u64 {
        16 << self as u64
    }

    /// The place of a byte of shared memory.
    fn of(self, at: u64) -> u64 {
        at ^ (at >> 3 & (self.span() - 16))
    }
}

/// A tensor and the tiles that are copied of it, as `cuTensorMapEncodeTiled` takes them.
///
/// The 128 bytes that CUDA's driver makes of it are NVIDIA's secret; this machine has [its own](Self::encode).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// The type of the elements.
    pub element: TensorElement,
    /// Where the tensor begins in device memory, a multiple of 16.
    pub address: u64,
    /// Elements in each dimension, the innermost first; one to five.
    pub sizes: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the innermost, multiples of 16.
    pub strides: Vec<u64>,
    /// Elements of a tile in each dimension, at most 256.
    pub tile: Vec<u32>,
    /// Of how many elements of a tile one is copied, in each dimension, at most 8; the innermost is not looked at.
    pub steps: Vec<u32>,
    /// How a tile's rows are mixed in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside of the tensor are read as NaN and not as zero.
    pub nan: bool,
}

impl TensorMap {
    /// The 128 bytes of the map, for a kernel's parameter of type `CUtensorMap` or for memory.
    ///
    /// # Errors
    /// A description in words when the driver would refuse the map.
    pub fn encode(&self) -> Result<[u8; 128], String> {
        let rank = self.sizes.len();
        let row = u64::from(self.tile.first().copied().unwrap_or(0)) * u64::from(self.element.bytes());
        let problem = if !(1..=MOST).contains(&rank) {
            format!("a tensor map of {rank} dimensions; there are 1 to {MOST}")
        } else if (self.strides.len(), self.tile.len(), self.steps.len()) != (rank - 1, rank, rank) {
            format!(
                "a tensor map of {rank} dimensions takes {} strides, {rank} sides of a tile and {rank} steps",
                rank - 1
            )
        } else if !self.sizes.iter().all(|size| (1..=1 << 32).contains(size)) {
            "a tensor map's sizes are 1 to 2^32".to_owned()
        } else if !self.address.is_multiple_of(16) || !self.strides.iter().all(|own| own % 16 == 0 && *own < 1 << 40) {
            "a tensor map's address and strides are multiples of 16 bytes, and strides are below 2^40".to_owned()
        } else if !self.tile.iter().all(|side| (1..=256).contains(side))
            || !self.steps.iter().all(|step| (1..=8).contains(step))
        {
            "a tensor map's tile has 1 to 256 elements in each dimension, and steps of 1 to 8".to_owned()
        } else if row % 16 != 0 {
            format!("a tensor map's tile has rows of {row} bytes, which is not a multiple of 16")
        } else if self.swizzle != Swizzle::None && row > self.swizzle.span() {
            format!("a tensor map's tile has rows of {row} bytes, more than the {} of its swizzle", self.swizzle.span())
        } else if self.nan && !self.element.is_float() {
            "a tensor map of integers cannot be filled with NaN".to_owned()
        } else {
            let mut bytes = MAGIC.to_le_bytes().to_vec();
            let kinds = [self.element as u8, rank as u8, self.swizzle as u8, self.nan.into()];
            bytes.extend(kinds);
            bytes.extend(self.address.to_le_bytes());
            for axis in 0..MOST {
                let size = self.sizes.get(axis).map_or(0, |size| (size - 1) as u32);
                bytes.extend(size.to_le_bytes());
                let stride = axis.checked_sub(1).and_then(|axis| self.strides.get(axis));
                bytes.extend(stride.copied().unwrap_or(0).to_le_bytes());
                let side = self.tile.get(axis).copied().unwrap_or(1) as u16;
                bytes.extend(side.to_le_bytes());
                bytes.push(self.steps.get(axis).copied().unwrap_or(1) as u8);
            }
            bytes.resize(128, 0);
            return Ok(bytes.try_into().unwrap_or([0; 128]));
        };
        Err(problem)
    }

    /// The map that was encoded; `None` for other bytes.
    pub fn decode(bytes: &[u8; 128]) -> Option<Self> {
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&bytes[at..][..len]);
            u64::from_le_bytes(word)
        };
        let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        let rank = usize::from(bytes[9]);
        if number(0, 8) != MAGIC || !(1..=MOST).contains(&rank) {
            return None;
        }
        let axis = |axis: usize| 20 + axis * 15;
        let map = Self {
            element: *TensorElement::ALL.get(usize::from(bytes[8]))?,
            address: number(12, 8),
            sizes: (0..rank).map(|own| number(axis(own), 4) + 1).collect(),
            strides: (1..rank).map(|own| number(axis(own) + 4, 8)).collect(),
            tile: (0..rank).map(|own| number(axis(own) + 12, 2) as u32).collect(),
            steps: (0..rank).map(|own| u32::from(bytes[axis(own) + 14])).collect(),
            swizzle: *swizzles.get(usize::from(bytes[10]))?,
            nan: bytes[11] != 0,
        };
        map.encode().is_ok().then_some(map)
    }

    /// Calls `part` for bytes of the tile at these coordinates that follow each other: their number, where they are in
    /// device memory, and where in shared memory for a tile at `shared`; `None` where they are outside of the tensor.
    pub(super) fn parts(&self, at: &[i32], shared: u64, mut part: impl FnMut(u64, Option<u64>, u64)) {
        let element = u64::from(self.element.bytes());
        let rank = self.sizes.len();
        let row = u64::from(self.tile[0]) * element;
        let sides: Vec<u32> = (1..rank).map(|axis| self.tile[axis].div_ceil(self.steps[axis])).collect();
        let rows: u32 = sides.iter().product();
        // The row's bytes that are inside of the tensor.
        let bound = |element_at: i64| {
            let inside = element_at.clamp(0, i64::from(self.tile[0]));
            inside.cast_unsigned() * element
        };
        let first = i64::from(at[0]);
        let size = self.sizes[0].cast_signed();
        let inside = bound(-first)..bound(size - first);
        for number in 0..rows {
            let mut left = number;
            let mut outer = Some(0u64);
            for axis in 1..rank {
                let step = left % sides[axis - 1] * self.steps[axis];
                left /= sides[axis - 1];
                let place = i64::from(at[axis]) + i64::from(step);
                let is_inside = (0..self.sizes[axis].cast_signed()).contains(&place);
                outer = outer
                    .filter(|_| is_inside)
                    .map(|outer| outer.wrapping_add(place.cast_unsigned().wrapping_mul(self.strides[axis - 1])));
            }
            let inside = if outer.is_some() { inside.clone() } else { 0..0 };
            let base = shared + u64::from(number) * row;
            let mut byte = 0;
            while byte < row {
                // Up to where the row enters or leaves the tensor, or the swizzle's next 16 bytes begin.
                let mut end = row;
                for edge in [inside.start, inside.end] {
                    if edge > byte {
                        end = end.min(edge);
                    }
                }
                if self.swizzle != Swizzle::None {
                    end = end.min(byte / 16 * 16 + 16);
                }
                let from = inside.contains(&byte).then(|| {
                    let inner = (first * element.cast_signed()).cast_unsigned();
                    let outer = outer.unwrap_or(0);
                    let begin = self.address.wrapping_add(outer).wrapping_add(inner);
                    begin.wrapping_add(byte)
                });
                part(end - byte, from, self.swizzle.of(base + byte));
                byte = end;
            }
        }
    }

    /// What elements outside of the tensor are read as, eight bytes.
    pub(super) fn fill(&self) -> u64 {
        match (self.nan, self.element.bytes()) {
            (false, _) => 0,
            (_, 2) => 0x7fff_7fff_7fff_7fff,
            (_, 4) => 0x7fff_ffff_7fff_ffff,
            _ => 0x7fff_ffff_ffff_ffff,
        }
    }
}
