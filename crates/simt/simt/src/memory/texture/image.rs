//! Images: memory that textures and surfaces read as texels, and how a texture reads it.

use crate::memory::GlobalMemory;

/// The handles of textures and surfaces are this and above, which no address is.
const FIRST_HANDLE: u64 = 0x0000_7f00_0000_0001;
/// Texels along a side, at most ("CUDA C++ Programming Guide", "Technical Specifications per Compute Capability").
const MAX_SIDE: u32 = 131_072;
/// Texels of linear memory, at most.
const MAX_LINEAR: u32 = 1 << 28;

/// The numbers in the channels of a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Integers without a sign, of 8, 16 or 32 bits.
    Unsigned,
    /// Integers with a sign, of 8, 16 or 32 bits.
    Signed,
    /// Floating-point numbers of 16 or 32 bits.
    Float,
}

/// The format of a texel: so many channels, side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexelFormat {
    /// The numbers in the channels.
    pub channels: Channels,
    /// Bits of a channel: 8, 16 or 32.
    pub bits: u32,
    /// How many channels: 1, 2 or 4.
    pub count: u32,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        self.bits / 8 * self.count
    }
}

/// The sides of an image, in texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Linear memory, which is read with integer coordinates only (`tex1Dfetch`).
    Linear(u32),
    /// A row.
    One(u32),
    /// Width and height.
    Two([u32; 2]),
    /// Width, height and depth.
    Three([u32; 3]),
    /// Six squares with this side, in the order +x, -x, +y, -y, +z, -z.
    Cube(u32),
}

impl Sides {
    /// How many there are; of a cube's face.
    pub(super) fn count(self) -> usize {
        match self {
            Sides::Linear(_) | Sides::One(_) => 1,
            Sides::Two(_) | Sides::Cube(_) => 2,
            Sides::Three(_) => 3,
        }
    }

    /// Width, height and depth; 1 where there is none.
    pub(super) fn lengths(self) -> [u32; 3] {
        match self {
            Sides::Linear(x) | Sides::One(x) => [x, 1, 1],
            Sides::Two([x, y]) => [x, y, 1],
            Sides::Three(lengths) => lengths,
            Sides::Cube(side) => [side, side, 1],
        }
    }
}

/// An image: device memory that holds texels, row behind row, slice behind slice, layer behind layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Image {
    /// The address of its first texel.
    pub address: u64,
    /// The format of a texel.
    pub format: TexelFormat,
    /// Its sides.
    pub sides: Sides,
    /// How many layers it has, if it is layered; of a cube's faces, six each.
    pub layers: Option<u32>,
    /// Bytes from the start of a row to that of the next.
    pub pitch: u64,
}

impl Image {
    /// An image without layers, whose rows follow each other without a gap.
    pub fn packed(address: u64, format: TexelFormat, sides: Sides) -> Self {
        Self { address, format, sides, layers: None, pitch: u64::from(sides.lengths()[0]) * u64::from(format.bytes()) }
    }

    /// How many layers there are, a cube's faces among them.
    pub(super) fn all_layers(&self) -> u32 {
        let faces = if matches!(self.sides, Sides::Cube(_)) { 6 } else { 1 };
        self.layers.unwrap_or(1).saturating_mul(faces)
    }

    /// The address of a byte of a row.
    pub(super) fn place(&self, byte: u64, row: u32, slice: u32, layer: u32) -> u64 {
        let [_, rows, slices] = self.sides.lengths().map(u64::from);
        let slice = u64::from(layer) * slices + u64::from(slice);
        self.address + (slice * rows + u64::from(row)) * self.pitch + byte
    }

    /// What is wrong with it, if something is.
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
            return Some(format!("a side has 1 to {most} texels"));
        }
        let can_have_layers = matches!(self.sides, Sides::One(_) | Sides::Two(_) | Sides::Cube(_));
        if self.layers.is_some_and(|layers| !(1..=2048).contains(&layers) || !can_have_layers) {
            return Some("images of one or two dimensions and cubes have 1 to 2048 layers".to_owned());
        }
        let row = u64::from(lengths[0]) * u64::from(format.bytes());
        if self.pitch < row || !self.pitch.is_multiple_of(u64::from(format.bytes())) {
            return Some(format!("a pitch of {} bytes for rows of {row}", self.pitch));
        }
        if !self.address.is_multiple_of(u64::from(format.bytes())) {
            return Some(format!("{:#x} is misaligned for its texels", self.address));
        }
        let rows = u64::from(lengths[1]) * u64::from(lengths[2]) * u64::from(self.all_layers());
        let bytes = self.pitch.saturating_mul(rows - 1).saturating_add(row);
        let is_inside = memory.find(self.address).is_some_and(|found| {
            let behind = found.bytes - (self.address - found.base);
            bytes <= behind
        });
        (!is_inside).then(|| format!("no allocation has {bytes} bytes from {:#x} on", self.address))
    }
}

/// What a texture returns for coordinates outside its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// The image is repeated. With coordinates that are not normalized, the same as [`Addressing::Clamp`].
    Wrap,
    /// The texel at the edge.
    Clamp,
    /// The image is repeated, every other time mirrored. With coordinates that are not normalized, the same as
    /// [`Addressing::Clamp`].
    Mirror,
    /// The border's color.
    Border,
}

/// How a texture computes a value from the texels near the coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// The texels around them, weighted with 8 bits of fraction.
    Linear,
}

/// A texture: an image, and how it is read (CUDA's `cudaResourceDesc` and `cudaTextureDesc`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextureDescription {
    /// The image.
    pub image: Image,
    /// For x, y and z, what lies outside of the image.
    pub addressing: [Addressing; 3],
    /// The filter.
    pub filter: Filter,
    /// Whether coordinates go from 0 to 1, and not to the number of texels.
    pub normalized_coordinates: bool,
    /// Whether integers are read as numbers from 0 to 1, or -1 to 1 (`cudaReadModeNormalizedFloat`).
    pub normalized_values: bool,
    /// The color beyond [`Addressing::Border`].
    pub border: [f32; 4],
}

impl TextureDescription {
    /// A texture that returns the nearest texel, at the edge beyond it, with coordinates that count texels.
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

    /// Whether it returns floating-point numbers.
    pub(super) fn is_float(&self) -> bool {
        self.normalized_values || self.image.format.channels == Channels::Float
    }

    fn problem(&self, memory: &GlobalMemory) -> Option<String> {
        let format = self.image.format;
        let has_floats = format.channels == Channels::Float;
        if self.normalized_values && (has_floats || format.bits == 32) {
            return Some("only integers of 8 and 16 bits are read as normalized numbers".to_owned());
        }
        if self.filter == Filter::Linear && !self.is_float() {
            return Some("integers are not filtered, unless they are normalized".to_owned());
        }
        self.image.problem(memory)
    }
}

/// A texture or surface that a machine has made.
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

/// A texture or surface that cannot be made.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("no texture or surface can be made of this image: {problem}")]
pub struct TextureError {
    /// The reason, in words.
    pub problem: String,
}

crate::error::debug_like_display!(TextureError);

/// The textures and surfaces of a machine, by their handles.
#[derive(Debug, Default)]
pub(crate) struct Objects(Vec<Option<Object>>);

impl Objects {
    pub(crate) fn find(&self, handle: u64) -> Option<&Object> {
        let number = usize::try_from(handle.checked_sub(FIRST_HANDLE)?).ok()?;
        self.0.get(number)?.as_ref()
    }
}

impl GlobalMemory {
    /// Makes a texture or surface and returns its handle.
    pub(crate) fn make(&mut self, object: Object) -> Result<u64, TextureError> {
        let problem = match &object {
            Object::Texture(texture) => texture.problem(self),
            Object::Surface(image) => match image.sides {
                Sides::Linear(_) => Some("surfaces are made of arrays".to_owned()),
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

    /// Takes a texture or surface back, and says whether there was one of this handle, which no other gets.
    pub(crate) fn unmake(&mut self, handle: u64) -> bool {
        let number = handle.checked_sub(FIRST_HANDLE).and_then(|number| usize::try_from(number).ok());
        let object = number.and_then(|number| self.objects.0.get_mut(number));
        object.is_some_and(|object| object.take().is_some())
    }
}
