//! Images: the memory that holds the texels of textures and surfaces, and the parameters with which a texture reads an
//! image.

use crate::memory::GlobalMemory;

/// The first handle of a texture or surface. Handles are higher than all addresses.
const FIRST_HANDLE: u64 = 0x0000_7f00_0000_0001;
/// The largest number of texels of a side ("CUDA C++ Programming Guide", "Technical Specifications per Compute
/// Capability").
const MAX_SIDE: u32 = 131_072;
/// The largest number of texels of linear memory.
const MAX_LINEAR: u32 = 1 << 28;

/// The type of the numbers in the channels of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Unsigned integers of 8, 16 or 32 bits.
    Unsigned,
    /// Signed integers of 8, 16 or 32 bits.
    Signed,
    /// Floating-point numbers of 16 or 32 bits.
    Float,
}

/// The format of a texel, which consists of contiguous channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexelFormat {
    /// The type of the channels.
    pub channels: Channels,
    /// The number of bits of a channel: 8, 16 or 32.
    pub bits: u32,
    /// The number of channels: 1, 2 or 4.
    pub count: u32,
}

impl TexelFormat {
    /// Returns the size of a texel in bytes.
    pub fn bytes(self) -> u32 {
        self.bits / 8 * self.count
    }
}

/// The sides of an image, in texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Linear memory, which is read only with integer coordinates (`tex1Dfetch`).
    Linear(u32),
    /// A single row of this width.
    One(u32),
    /// Width and height.
    Two([u32; 2]),
    /// Width, height and depth.
    Three([u32; 3]),
    /// Six squares with this side length, in the order +x, -x, +y, -y, +z, -z.
    Cube(u32),
}

impl Sides {
    /// Returns the number of sides; for a cube, the number of sides of a face.
    pub(super) fn count(self) -> usize {
        match self {
            Sides::Linear(_) | Sides::One(_) => 1,
            Sides::Two(_) | Sides::Cube(_) => 2,
            Sides::Three(_) => 3,
        }
    }

    /// Returns width, height and depth; missing sides have length 1.
    pub(super) fn lengths(self) -> [u32; 3] {
        match self {
            Sides::Linear(x) | Sides::One(x) => [x, 1, 1],
            Sides::Two([x, y]) => [x, y, 1],
            Sides::Three(lengths) => lengths,
            Sides::Cube(side) => [side, side, 1],
        }
    }
}

/// An image: device memory that holds texels, ordered by layer, slice and row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Image {
    /// The address of the first texel.
    pub address: u64,
    /// The format of a texel.
    pub format: TexelFormat,
    /// The sides.
    pub sides: Sides,
    /// The number of layers, if the image is layered. For a cube, a layer consists of six faces.
    pub layers: Option<u32>,
    /// The distance in bytes between the starts of successive rows.
    pub pitch: u64,
}

impl Image {
    /// Creates an image without layers and without padding between rows.
    pub fn packed(address: u64, format: TexelFormat, sides: Sides) -> Self {
        Self { address, format, sides, layers: None, pitch: u64::from(sides.lengths()[0]) * u64::from(format.bytes()) }
    }

    /// Returns the number of layers, with each face of a cube counted as a layer.
    pub(super) fn all_layers(&self) -> u32 {
        let faces = if matches!(self.sides, Sides::Cube(_)) { 6 } else { 1 };
        self.layers.unwrap_or(1).saturating_mul(faces)
    }

    /// Returns the address of a byte of a row.
    pub(super) fn place(&self, byte: u64, row: u32, slice: u32, layer: u32) -> u64 {
        let [_, rows, slices] = self.sides.lengths().map(u64::from);
        let slice = u64::from(layer) * slices + u64::from(slice);
        self.address + (slice * rows + u64::from(row)) * self.pitch + byte
    }

    /// Returns a description of a problem with the image, if there is one.
    fn problem(&self, memory: &GlobalMemory) -> Option<String> {
        let format = self.format;
        let is_format = match format.channels {
            Channels::Float => matches!(format.bits, 16 | 32),
            _ => matches!(format.bits, 8 | 16 | 32),
        };
        if !is_format || !matches!(format.count, 1 | 2 | 4) {
            return Some(format!("there is no format of {} channels of {} bits", format.count, format.bits));
        }
        let lengths = self.sides.lengths();
        let most = match self.sides {
            Sides::Linear(_) => MAX_LINEAR,
            _ => MAX_SIDE,
        };
        if lengths.iter().any(|side| !(1..=most).contains(side)) {
            return Some(format!("the number of texels of a side must be 1 to {most}"));
        }
        let can_have_layers = matches!(self.sides, Sides::One(_) | Sides::Two(_) | Sides::Cube(_));
        if self.layers.is_some_and(|layers| !(1..=2048).contains(&layers) || !can_have_layers) {
            return Some("only one- and two-dimensional images and cubes can have layers, from 1 to 2048".to_owned());
        }
        let row = u64::from(lengths[0]) * u64::from(format.bytes());
        if self.pitch < row || !self.pitch.is_multiple_of(u64::from(format.bytes())) {
            return Some(format!("a pitch of {} bytes for rows of {row}", self.pitch));
        }
        if !self.address.is_multiple_of(u64::from(format.bytes())) {
            return Some(format!("the address {:#x} is misaligned for the image's texels", self.address));
        }
        let rows = u64::from(lengths[1]) * u64::from(lengths[2]) * u64::from(self.all_layers());
        let bytes = self.pitch.saturating_mul(rows - 1).saturating_add(row);
        let is_inside = memory.find(self.address).is_some_and(|found| {
            let remaining = found.bytes - (self.address - found.base);
            bytes <= remaining
        });
        (!is_inside).then(|| format!("no allocation contains {bytes} bytes starting at {:#x}", self.address))
    }
}

/// The behavior of a texture at coordinates outside its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// The image repeats. If coordinates are not normalized, this mode is the same as [`Addressing::Clamp`].
    Wrap,
    /// The texture returns the texel at the edge.
    Clamp,
    /// The image repeats and is mirrored in every second repetition. If coordinates are not normalized, this mode is
    /// the same as [`Addressing::Clamp`].
    Mirror,
    /// The texture returns the border color.
    Border,
}

/// The method that computes a texture's value from the texels near the coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// The surrounding texels, interpolated with weights that have 8 fraction bits.
    Linear,
}

/// A texture: an image, and the parameters for reading it (CUDA's `cudaResourceDesc` and `cudaTextureDesc`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextureDescription {
    /// The image.
    pub image: Image,
    /// The behavior outside of the image, in x, y and z.
    pub addressing: [Addressing; 3],
    /// The filter.
    pub filter: Filter,
    /// Whether coordinates range from 0 to 1 instead of from 0 to the number of texels.
    pub normalized_coordinates: bool,
    /// Whether integers are read as numbers from 0 to 1 or, if signed, from -1 to 1 (`cudaReadModeNormalizedFloat`).
    pub normalized_values: bool,
    /// The color of [`Addressing::Border`].
    pub border: [f32; 4],
}

impl TextureDescription {
    /// Creates a texture with point filtering, clamped addressing, and coordinates in texels.
    pub fn new(image: Image) -> Self {
        Self {
            image,
            addressing: [Addressing::Clamp; 3],
            filter: Filter::Point,
            normalized_coordinates: false,
            normalized_values: false,
            border: [0.0; 4],
        }
    }

    /// Returns whether the texture returns floating-point numbers.
    pub(super) fn is_float(&self) -> bool {
        self.normalized_values || self.image.format.channels == Channels::Float
    }

    fn problem(&self, memory: &GlobalMemory) -> Option<String> {
        let format = self.image.format;
        let has_floats = format.channels == Channels::Float;
        if self.normalized_values && (has_floats || format.bits == 32) {
            return Some("only 8- and 16-bit integers can be read as normalized numbers".to_owned());
        }
        if self.filter == Filter::Linear && !self.is_float() {
            return Some("linear filtering of integers requires normalized values".to_owned());
        }
        self.image.problem(memory)
    }
}

/// A texture or surface of a simulator.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Object {
    Texture(TextureDescription),
    Surface(Image),
}

impl Object {
    pub(super) fn image(&self) -> &Image {
        match self {
            Object::Texture(texture) => &texture.image,
            Object::Surface(image) => image,
        }
    }
}

/// The error when a texture or surface cannot be created.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("no texture or surface can be created from this image: {problem}")]
pub struct TextureError {
    /// The reason, in words.
    pub problem: String,
}

crate::error::debug_like_display!(TextureError);

/// The textures and surfaces of a simulator, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Objects(Vec<Option<Object>>);

impl Objects {
    pub(crate) fn find(&self, handle: u64) -> Option<&Object> {
        let number = usize::try_from(handle.checked_sub(FIRST_HANDLE)?).ok()?;
        self.0.get(number)?.as_ref()
    }
}

impl GlobalMemory {
    /// Creates a texture or surface and returns its handle.
    pub(crate) fn create_object(&mut self, object: Object) -> Result<u64, TextureError> {
        let problem = match &object {
            Object::Texture(texture) => texture.problem(self),
            Object::Surface(image) => match image.sides {
                Sides::Linear(_) => Some("a surface cannot be created from linear memory".to_owned()),
                _ => image.problem(self),
            },
        };
        match problem {
            Some(problem) => Err(TextureError { problem }),
            None => {
                self.objects.0.push(Some(object));
                Ok(FIRST_HANDLE + self.objects.0.len() as u64 - 1)
            }
        }
    }

    /// Destroys a texture or surface, and returns whether the handle was valid. Handles are not reused.
    pub(crate) fn destroy_object(&mut self, handle: u64) -> bool {
        let number = handle.checked_sub(FIRST_HANDLE).and_then(|number| usize::try_from(number).ok());
        let object = number.and_then(|number| self.objects.0.get_mut(number));
        object.is_some_and(|object| object.take().is_some())
    }
}
