//! Tensor maps: descriptions of tensors and their tiles.

/// The first bytes of an encoded map.
const MAGIC: u64 = u64::from_le_bytes(*b"simt-map");
/// The largest number of dimensions of a tensor.
const MOST: usize = 5;
/// The offset in bytes of the dimensions in an encoded map; the next constant is the size of each dimension's
/// description.
pub(super) const AXES: usize = 20;
pub(super) const AXIS: usize = 15;

/// The element types, each with its size in bytes and its name in PTX if reductions support it.
macro_rules! elements {
    ($count:literal: $($element:ident $bytes:literal $name:expr),*) => {
        /// The type of a tensor's elements, in the order of CUDA's `CUtensorMapDataType`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the variants are the types")]
        pub enum TensorElement {
            $($element,)*
        }

        impl TensorElement {
            /// All element types.
            pub const ALL: [Self; $count] = [$(Self::$element),*];

            /// Returns the size in bytes, and the name in PTX if reductions support the type.
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
    /// Returns the size in bytes.
    pub fn bytes(self) -> u32 {
        self.properties().0
    }

    /// Returns the name in PTX; `None` if no reduction supports the type.
    pub(crate) fn name(self) -> Option<&'static str> {
        self.properties().1
    }

    fn is_float(self) -> bool {
        (Self::F16 as u8..).contains(&(self as u8))
    }
}

/// The swizzle mode of a tile in shared memory, which places the elements of a column in different banks.
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
    /// Returns the size in bytes of the span in which 16-byte chunks are exchanged; 16 without a swizzle.
    fn span(self) -> u64 {
        16 << self as u64
    }

    /// Returns the swizzled address of a byte of shared memory.
    fn of(self, at: u64) -> u64 {
        at ^ (at >> 3 & (self.span() - 16))
    }
}

/// A tensor and its tiles, with the parameters of `cuTensorMapEncodeTiled`.
///
/// NVIDIA does not document the 128 bytes into which CUDA's driver encodes a map; the simulator uses a [different
/// encoding](Self::encode).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorMap {
    /// The type of the elements.
    pub element: TensorElement,
    /// The address of the tensor in device memory, a multiple of 16.
    pub address: u64,
    /// The number of elements in each dimension, innermost first; one to five dimensions.
    pub sizes: Vec<u64>,
    /// The stride in bytes of each dimension except the innermost, a multiple of 16.
    pub strides: Vec<u64>,
    /// The number of elements of a tile in each dimension, at most 256.
    pub tile: Vec<u32>,
    /// The traversal stride in each dimension, at most 8: with stride `n`, only every `n`-th element of the tile is
    /// copied. The innermost stride is ignored.
    pub steps: Vec<u32>,
    /// The swizzle of a tile in shared memory.
    pub swizzle: Swizzle,
    /// Whether elements outside of the tensor are read as NaN instead of zero.
    pub nan: bool,
}

/// The box of an im2col copy, with the parameters of `cuTensorMapEncodeIm2col`. The box replaces the map's tile. The
/// box consists of pixels, and each pixel contains elements of the innermost dimension (PTX ISA §5.5.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Im2col {
    /// The lower corner of the box in each dimension except the innermost and the outermost, relative to the tensor's
    /// first element.
    pub lower: Vec<i32>,
    /// The upper corner of the box, relative to the tensor's last element.
    pub upper: Vec<i32>,
    /// The number of elements of a pixel, at most 256.
    pub channels: u32,
    /// The number of pixels, at most 1024.
    pub pixels: u32,
}

impl Im2col {
    /// Returns the exclusive upper limit of a corner's coordinate.
    fn limit(&self) -> i32 {
        1 << (16 / self.lower.len().max(1) - 1)
    }
}

impl TensorMap {
    /// Returns the 128 bytes of the map, for a kernel's parameter of type `CUtensorMap` or for memory.
    ///
    /// # Errors
    /// Returns a description in words when the driver would reject the map.
    pub fn encode(&self) -> Result<[u8; 128], String> {
        self.encode_as(None)
    }

    /// Returns the 128 bytes of the map for im2col copies; the map's tile is ignored.
    ///
    /// # Errors
    /// Returns a description in words when the driver would reject the map.
    pub fn encode_im2col(&self, im2col: &Im2col) -> Result<[u8; 128], String> {
        let mut tile = vec![1; self.sizes.len()];
        for (side, length) in tile.iter_mut().zip([im2col.channels, im2col.pixels]) {
            *side = length;
        }
        Self { tile, ..self.clone() }.encode_as(Some(im2col))
    }

    fn encode_as(&self, im2col: Option<&Im2col>) -> Result<[u8; 128], String> {
        let rank = self.sizes.len();
        let most_pixels = if im2col.is_some() { 1024 } else { 256 };
        let row = u64::from(self.tile.first().copied().unwrap_or(0)) * u64::from(self.element.bytes());
        let problem = if !(1..=MOST).contains(&rank) {
            format!("a tensor map of {rank} dimensions; the number must be 1 to {MOST}")
        } else if (self.strides.len(), self.tile.len(), self.steps.len()) != (rank - 1, rank, rank) {
            format!(
                "a tensor map of {rank} dimensions needs {} strides, {rank} tile sizes and {rank} traversal strides",
                rank - 1
            )
        } else if !self.sizes.iter().all(|size| (1..=1 << 32).contains(size)) {
            "a tensor map's sizes must be 1 to 2^32".to_owned()
        } else if !self.address.is_multiple_of(16)
            || !self.strides.iter().all(|stride| stride % 16 == 0 && *stride < 1 << 40)
        {
            "a tensor map's address and strides must be multiples of 16 bytes, and strides must be below 2^40"
                .to_owned()
        } else if im2col
            .is_some_and(|im2col| rank < 3 || im2col.lower.len() != rank - 2 || im2col.upper.len() != rank - 2)
        {
            format!("im2col with {rank} dimensions; it needs 3 to 5, and corners for all but the first and the last")
        } else if im2col.is_some_and(|im2col| {
            let mut corners = im2col.lower.iter().chain(&im2col.upper);
            !corners.all(|corner| (-im2col.limit()..im2col.limit()).contains(corner))
        }) {
            "a corner of the im2col box is out of range".to_owned()
        } else if !self.tile.iter().zip([256, most_pixels, 256, 256, 256]).all(|(side, most)| (1..=most).contains(side))
            || !self.steps.iter().all(|step| (1..=8).contains(step))
        {
            "a tensor map's tile must have 1 to 256 elements in each dimension, and traversal strides of 1 to 8"
                .to_owned()
        } else if row % 16 != 0 {
            format!("a tensor map's tile has rows of {row} bytes, which is not a multiple of 16")
        } else if self.swizzle != Swizzle::None && row > self.swizzle.span() {
            format!("a tensor map's tile has rows of {row} bytes, but its swizzle allows only {}", self.swizzle.span())
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
            for corner in im2col.iter().flat_map(|im2col| [&im2col.lower, &im2col.upper]) {
                let corner = |axis: usize| corner.get(axis).copied().unwrap_or(0) as i16;
                bytes.extend((0..3).flat_map(|axis| corner(axis).to_le_bytes()));
            }
            bytes.resize(128, 0);
            return Ok(bytes.try_into().unwrap_or([0; 128]));
        };
        Err(problem)
    }

    /// Returns the encoded tile map; `None` for other bytes.
    pub fn decode(bytes: &[u8; 128]) -> Option<Self> {
        match Self::read(bytes) {
            Ok((map, None)) => Some(map),
            _ => None,
        }
    }

    /// Changes the address of the tensor in an encoded map.
    ///
    /// # Errors
    /// Returns a description in words when the bytes are not a map, or when the driver would reject the address.
    pub fn replace_address(bytes: &mut [u8; 128], address: u64) -> Result<(), String> {
        let (map, im2col) = Self::read(bytes)?;
        *bytes = Self { address, ..map }.encode_as(im2col.as_ref())?;
        Ok(())
    }

    /// Returns the encoded map and its im2col box.
    ///
    /// # Errors
    /// Returns a description in words when the bytes are not a map, or when they were changed into a map that the
    /// driver would reject.
    pub(super) fn read(bytes: &[u8; 128]) -> Result<(Self, Option<Im2col>), String> {
        let number = |at: usize, len: usize| {
            let mut word = [0; 8];
            word[..len].copy_from_slice(&bytes[at..][..len]);
            u64::from_le_bytes(word)
        };
        let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        let [element, rank, swizzle] = [8, 9, 10].map(|at| usize::from(bytes[at]));
        if number(0, 8) != MAGIC {
            return Err("simt only reads maps that simt::TensorMap has encoded".to_owned());
        }
        let (Some(element), Some(swizzle), 1..=MOST) = (TensorElement::ALL.get(element), swizzles.get(swizzle), rank)
        else {
            return Err(format!("an invalid map of {rank} dimensions with type {element} and swizzle {swizzle}"));
        };
        let (element, swizzle) = (*element, *swizzle);
        let axis = |axis: usize| AXES + axis * AXIS;
        let map = Self {
            element,
            address: number(12, 8),
            sizes: (0..rank).map(|dimension| number(axis(dimension), 4) + 1).collect(),
            strides: (1..rank).map(|dimension| number(axis(dimension) + 4, 8)).collect(),
            tile: (0..rank).map(|dimension| number(axis(dimension) + 12, 2) as u32).collect(),
            steps: (0..rank).map(|dimension| u32::from(bytes[axis(dimension) + 14])).collect(),
            swizzle,
            nan: bytes[11] != 0,
        };
        let corner = |at: usize| {
            (0..rank.saturating_sub(2)).map(|dimension| i32::from(number(at + 2 * dimension, 2) as i16)).collect()
        };
        let im2col = (number(axis(MOST), 1) != 0).then(|| Im2col {
            lower: corner(axis(MOST) + 1),
            upper: corner(axis(MOST) + 7),
            channels: map.tile[0],
            pixels: map.tile[1],
        });
        map.encode_as(im2col.as_ref())?;
        Ok((map, im2col))
    }

    /// Returns, for each row of a tile at these coordinates, the offset in bytes that the row's outer coordinates add;
    /// `None` for a row outside of the tensor. In im2col mode, a row is a pixel, which the offsets displace from its
    /// position in the box.
    fn rows(&self, at: &[i32], im2col: Option<(&Im2col, &[i64])>) -> Vec<Option<u64>> {
        let rank = self.sizes.len();
        let mut place: Vec<i64> = at.iter().map(|coordinate| i64::from(*coordinate)).collect();
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

    /// Calls `part` for each run of consecutive bytes of a tile at these coordinates. The arguments are the number of
    /// bytes, their address in device memory, and their address in shared memory if the tile is at `shared`. The device
    /// address is `None` outside of the tensor.
    pub(super) fn parts(
        &self,
        at: &[i32],
        im2col: Option<(&Im2col, &[i64])>,
        shared: u64,
        mut part: impl FnMut(u64, Option<u64>, u64),
    ) {
        let element = u64::from(self.element.bytes());
        let row = u64::from(self.tile[0]) * element;
        // The range of the row's bytes that is inside the tensor.
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
                // A run ends where the row enters or leaves the tensor, or at the swizzle's next 16-byte boundary.
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

    /// Returns eight bytes of the fill value for elements outside of the tensor. On an H200, the NaN has this pattern
    /// in each 16 bits.
    pub(super) fn fill(&self) -> u64 {
        if self.nan { 0x7ff7_7ff7_7ff7_7ff7 } else { 0 }
    }
}
