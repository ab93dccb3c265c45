//! What describes a tensor and its tiles.

/// How an encoded map begins.
const MAGIC: u64 = u64::from_le_bytes(*b"simt-map");
/// The most dimensions of a tensor.
const MOST: usize = 5;
/// Where the dimensions begin in an encoded map, and how many bytes each has.
pub(super) const AXES: usize = 20;
pub(super) const AXIS: usize = 15;

/// The types of elements: the bytes, and the name in PTX of those that a reduction has.
macro_rules! elements {
    ($count:literal: $($element:ident $bytes:literal $name:expr),*) => {
        /// A type of a tensor's elements, in the order of CUDA's `CUtensorMapDataType`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the variants are the types")]
        pub enum TensorElement {
            $($element,)*
        }

        impl TensorElement {
            /// All of them.
            pub const ALL: [Self; $count] = [$(Self::$element),*];

            /// Its size, and its name in PTX if it has one.
            fn properties(self) -> (u32, Option<&'static str>) {
                match self {
                    $(Self::$element => ($bytes, $name),)*
                }
            }
        }
    };
}

elements! {
    13: U8 1 None, U16 2 None, U32 4 Some("u32"), S32 4 Some("s32"), U64 8 Some("u64"), S64 8 Some("s64"),
    F16 2 Some("f16"), F32 4 Some("f32"), F64 8 Some("f64"), Bf16 2 Some("bf16"), F32Ftz 4 Some("f32"),
    Tf32 4 None, Tf32Ftz 4 None
}

impl TensorElement {
    /// Its size.
    pub fn bytes(self) -> u32 {
        self.properties().0
    }

    /// Its name in PTX; `None` for those that no reduction has.
    pub(crate) fn name(self) -> Option<&'static str> {
        self.properties().1
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

/// What is copied in the mode im2col instead of a tile, as `cuTensorMapEncodeIm2col` takes it: pixels of a box, each with
/// elements of the innermost dimension (PTX ISA §5.5.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Im2col {
    /// Where the box begins in each dimension but the innermost and the outermost, relative to the tensor's first element.
    pub lower: Vec<i32>,
    /// Where it ends, relative to the last one.
    pub upper: Vec<i32>,
    /// Elements of a pixel, at most 256.
    pub channels: u32,
    /// Pixels, at most 1024.
    pub pixels: u32,
}

impl Im2col {
    /// The first number that a dimension's corner cannot be, above zero.
    fn limit(&self) -> i32 {
        1 << (16 / self.lower.len().max(1) - 1)
    }
}

impl TensorMap {
    /// The 128 bytes of the map, for a kernel's parameter of type `CUtensorMap` or for memory.
    ///
    /// # Errors
    /// A description in words when the driver would refuse the map.
    pub fn encode(&self) -> Result<[u8; 128], String> {
        self.encode_as(None)
    }

    /// The same for copies in the mode im2col; the map's own tile is not looked at.
    ///
    /// # Errors
    /// A description in words when the driver would refuse the map.
    pub fn encode_im2col(&self, im2col: &Im2col) -> Result<[u8; 128], String> {
        let mut tile = vec![1; self.sizes.len()];
        for (side, own) in tile.iter_mut().zip([im2col.channels, im2col.pixels]) {
            *side = own;
        }
        Self { tile, ..self.clone() }.encode_as(Some(im2col))
    }

    fn encode_as(&self, im2col: Option<&Im2col>) -> Result<[u8; 128], String> {
        let rank = self.sizes.len();
        let most_pixels = if im2col.is_some() { 1024 } else { 256 };
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
        } else if im2col.is_some_and(|own| rank < 3 || own.lower.len() != rank - 2 || own.upper.len() != rank - 2) {
            format!("im2col of {rank} dimensions; there are 3 to 5, and two corners for those between first and last")
        } else if im2col.is_some_and(|own| {
            let mut corners = own.lower.iter().chain(&own.upper);
            !corners.all(|corner| (-own.limit()..own.limit()).contains(corner))
        }) {
            "a corner of im2col's box is too far away".to_owned()
        } else if !self.tile.iter().zip([256, most_pixels, 256, 256, 256]).all(|(side, most)| (1..=most).contains(side))
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
            bytes.push(im2col.is_some().into());
            for corner in im2col.iter().flat_map(|own| [&own.lower, &own.upper]) {
                let corner = |axis: usize| corner.get(axis).copied().unwrap_or(0) as i16;
                bytes.extend((0..3).flat_map(|axis| corner(axis).to_le_bytes()));
            }
            bytes.resize(128, 0);
            return Ok(bytes.try_into().unwrap_or([0; 128]));
        };
        Err(problem)
    }

    /// The map of tiles that was encoded; `None` for other bytes.
    pub fn decode(bytes: &[u8; 128]) -> Option<Self> {
        match Self::read(bytes) {
            Ok((map, None)) => Some(map),
            _ => None,
        }
    }

    /// Lets the tensor of an encoded map begin at another address.
    ///
    /// # Errors
    /// A description in words when the bytes are no map, or the driver would refuse the address.
    pub fn replace_address(bytes: &mut [u8; 128], address: u64) -> Result<(), String> {
        let (map, im2col) = Self::read(bytes)?;
        *bytes = Self { address, ..map }.encode_as(im2col.as_ref())?;
        Ok(())
    }

    /// The map that was encoded, and its im2col.
    ///
    /// # Errors
    /// A description in words when the bytes are no map, or were changed into one that the driver would refuse.
    pub(super) fn read(bytes: &[u8; 128]) -> Result<(Self, Option<Im2col>), String> {
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&bytes[at..][..len]);
            u64::from_le_bytes(word)
        };
        let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        let [element, rank, swizzle] = [8, 9, 10].map(|at| usize::from(bytes[at]));
        if number(0, 8) != MAGIC {
            return Err("simt reads only those that simt::TensorMap has encoded".to_owned());
        }
        let (Some(element), Some(swizzle), 1..=MOST) = (TensorElement::ALL.get(element), swizzles.get(swizzle), rank)
        else {
            return Err(format!("one of {rank} dimensions with type {element} and swizzle {swizzle}"));
        };
        let (element, swizzle) = (*element, *swizzle);
        let axis = |axis: usize| AXES + axis * AXIS;
        let map = Self {
            element,
            address: number(12, 8),
            sizes: (0..rank).map(|own| number(axis(own), 4) + 1).collect(),
            strides: (1..rank).map(|own| number(axis(own) + 4, 8)).collect(),
            tile: (0..rank).map(|own| number(axis(own) + 12, 2) as u32).collect(),
            steps: (0..rank).map(|own| u32::from(bytes[axis(own) + 14])).collect(),
            swizzle,
            nan: bytes[11] != 0,
        };
        let corner =
            |at: usize| (0..rank.saturating_sub(2)).map(|own| i32::from(number(at + 2 * own, 2) as i16)).collect();
        let im2col = (number(axis(MOST), 1) != 0).then(|| Im2col {
            lower: corner(axis(MOST) + 1),
            upper: corner(axis(MOST) + 7),
            channels: map.tile[0],
            pixels: map.tile[1],
        });
        map.encode_as(im2col.as_ref())?;
        Ok((map, im2col))
    }

    /// For each row of a tile at these coordinates where it begins in the outer dimensions, in bytes; `None` outside of the
    /// tensor. A row of im2col is a pixel, so far away from the place that its box has for it.
    fn rows(&self, at: &[i32], im2col: Option<(&Im2col, &[i64])>) -> Vec<Option<u64>> {
        let rank = self.sizes.len();
        let mut place: Vec<i64> = at.iter().map(|own| i64::from(*own)).collect();
        let first = place.clone();
        let side = |axis: usize| self.tile[axis].div_ceil(self.steps[axis]);
        let count = match im2col {
            None => (1..rank).map(side).product(),
            Some((im2col, _)) => im2col.pixels,
        };
        let bounds = |axis: usize| match im2col {
            None => (first[axis], first[axis] + i64::from(self.tile[axis])),
            Some((im2col, _)) => {
                let [lower, upper] = [&im2col.lower, &im2col.upper].map(|corner| i64::from(corner[axis - 1]));
                (lower, self.sizes[axis].cast_signed() + upper)
            }
        };
        let row = |place: &[i64]| {
            (1..rank).try_fold(0u64, |sum, axis| {
                let offset = im2col.and_then(|(_, offsets)| offsets.get(axis - 1)).copied().unwrap_or(0);
                let place = place[axis] + offset;
                let is_inside = (0..self.sizes[axis].cast_signed()).contains(&place);
                is_inside.then(|| sum.wrapping_add(place.cast_unsigned().wrapping_mul(self.strides[axis - 1])))
            })
        };
        let mut rows = Vec::new();
        for _ in 0..count {
            rows.push(row(&place));
            for (axis, place) in place.iter_mut().enumerate().skip(1) {
                if axis + 1 == rank {
                    *place += if im2col.is_some() { 1 } else { i64::from(self.steps[axis]) };
                    break;
                }
                let (begin, end) = bounds(axis);
                *place += i64::from(self.steps[axis]);
                if *place < end {
                    break;
                }
                *place = begin;
            }
        }
        rows
    }

    /// Calls `part` for bytes of the tile at these coordinates that follow each other: their number, where they are in
    /// device memory, and where in shared memory for a tile at `shared`; `None` where they are outside of the tensor.
    pub(super) fn parts(
        &self,
        at: &[i32],
        im2col: Option<(&Im2col, &[i64])>,
        shared: u64,
        mut part: impl FnMut(u64, Option<u64>, u64),
    ) {
        let element = u64::from(self.element.bytes());
        let row = u64::from(self.tile[0]) * element;
        // The row's bytes that are inside of the tensor.
        let bound = |element_at: i64| {
            let inside = element_at.clamp(0, i64::from(self.tile[0]));
            inside.cast_unsigned() * element
        };
        let first = i64::from(at[0]);
        let size = self.sizes[0].cast_signed();
        let inside = bound(-first)..bound(size - first);
        for (number, outer) in self.rows(at, im2col).into_iter().enumerate() {
            let inside = if outer.is_some() { inside.clone() } else { 0..0 };
            let base = shared + number as u64 * row;
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

    /// What elements outside of the tensor are read as, eight bytes: an H200's NaN has this pattern in each 16 bits.
    pub(super) fn fill(&self) -> u64 {
        if self.nan { 0x7ff7_7ff7_7ff7_7ff7 } else { 0 }
    }
}
