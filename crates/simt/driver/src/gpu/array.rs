//! Arrays: one- to three-dimensional memory for texels, with layers, cube faces or mipmap levels.

use std::sync::Arc;

use simt::memory::texture::{Channels, Image, Sides, TexelFormat};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles};
use crate::gpu::context;
use crate::gpu::copy::Side;
use crate::gpu::memory;
use crate::gpu::queue::queue;
use crate::gpu::ranges::Kind;
use crate::gpu::state::driver;

static ARRAYS: Handles<Array> = Handles::new();
static MIPMAPPED: Handles<Mipmapped> = Handles::new();

/// `CUDA_ARRAY3D_LAYERED` and the other flags of arrays.
const LAYERED: u32 = 1;
const CUBEMAP: u32 = 4;
const DEPTH_TEXTURE: u32 = 0x10;
const SPARSE: u32 = 0x40;
const DEFERRED_MAPPING: u32 = 0x80;
const FLAGS: u32 = 0x1ff;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor2d {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`: the sides in texels. A side is 0 if the array lacks that dimension.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The third side, or the number of layers or faces.
    pub(crate) depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

/// An array.
pub(crate) struct Array {
    handle: Handle,
    context: Handle,
    pub(crate) descriptor: Descriptor,
    pub(crate) format: TexelFormat,
    /// Whether texels are integers that are read as numbers from 0 to 1, or -1 to 1.
    pub(crate) is_normalized: bool,
    /// The address of the first texel. Rows and slices or layers are contiguous.
    address: u64,
    /// Whether the array is a level of a mipmapped array, which frees its levels.
    is_level: bool,
}

/// A mipmapped array: levels, each with half the sides of the previous level.
pub(crate) struct Mipmapped {
    handle: Handle,
    context: Handle,
    pub(crate) levels: Vec<Arc<Array>>,
}

/// Returns the format of texels with `channels` channels (`CUarray_format`), and whether the format normalizes
/// integers.
pub(crate) fn format(format: u32, channels: u32) -> Result<(TexelFormat, bool)> {
    use Channels::{Float, Signed, Unsigned};
    let (numbers, bits, count, is_normalized) = match format {
        1 => (Unsigned, 8, channels, false),
        2 => (Unsigned, 16, channels, false),
        3 => (Unsigned, 32, channels, false),
        8 => (Signed, 8, channels, false),
        9 => (Signed, 16, channels, false),
        10 => (Signed, 32, channels, false),
        0x10 => (Float, 16, channels, false),
        0x20 => (Float, 32, channels, false),
        // `CU_AD_FORMAT_UNORM_INT8X1` to `CU_AD_FORMAT_SNORM_INT16X4`: 1, 2 and 4 channels of 8 bits, then of 16 bits.
        0xc0..=0xcb => {
            let (numbers, place) = if format < 0xc6 { (Unsigned, format - 0xc0) } else { (Signed, format - 0xc6) };
            (numbers, 8 << (place / 3), 1 << (place % 3), true)
        }
        0x50 | 0x91..=0x9f | 0xa1..=0xb5 => {
            return Err(Error::new(
                Code::NOT_SUPPORTED,
                format!("the format {format:#x} is not supported because it is a compressed or video format"),
            ));
        }
        _ => return Err(Code::INVALID_VALUE.into()),
    };
    match count {
        1 | 2 | 4 if count == channels => Ok((TexelFormat { channels: numbers, bits, count }, is_normalized)),
        _ => {
            Err(Error::new(Code::INVALID_VALUE, format!("the format {format:#x} does not support {channels} channels")))
        }
    }
}

impl Descriptor {
    /// Returns whether the third side is a number of layers or faces.
    pub(crate) fn has_layers(&self) -> bool {
        self.flags & (LAYERED | CUBEMAP) != 0
    }

    pub(crate) fn is_cubemap(&self) -> bool {
        self.flags & CUBEMAP != 0
    }

    /// Returns the sides, with 1 for missing dimensions, so that the sides can be multiplied.
    fn lengths(&self) -> [u64; 3] {
        [self.width, self.height.max(1), self.depth.max(1)].map(|length| length as u64)
    }

    /// Refuses sides beyond the device's limits, and unknown flags.
    fn check(&self) -> Result<()> {
        let Self { width, height, depth, flags, .. } = *self;
        let invalid = || {
            let what = format!("an array of {width} × {height} × {depth} texels with the flags {flags:#x}");
            Error::new(Code::INVALID_VALUE, what)
        };
        // The numbers in the lists are the device attributes that limit each side.
        let (limits, is_shape): (&[u32], bool) = match (flags & (LAYERED | CUBEMAP), height, depth) {
            (CUBEMAP, ..) => (&[52], height == width && depth == 6),
            (shape, ..) if shape == LAYERED | CUBEMAP => {
                (&[53, 53, 54], height == width && depth > 0 && depth.is_multiple_of(6))
            }
            (LAYERED, 0, _) => (&[42, 0, 43], depth > 0),
            (LAYERED, ..) => (&[27, 28, 29], depth > 0),
            (_, _, 1..) => (&[24, 25, 26], height > 0),
            (_, 1.., 0) => (&[22, 23], true),
            _ => (&[21], true),
        };
        let context = context::current()?;
        let device = &driver()?.devices[context.device];
        let limit = |attribute: u32| device.attribute(attribute).map_or(0, |value| value.max(0) as usize);
        let sides = [width, height, depth];
        let is_small = limits.iter().zip(sides).all(|(attribute, side)| *attribute == 0 || side <= limit(*attribute));
        if width == 0 || !is_shape || !is_small || flags & !FLAGS != 0 || flags & DEPTH_TEXTURE != 0 {
            return Err(invalid());
        }
        if flags & (SPARSE | DEFERRED_MAPPING) != 0 {
            return Err(Error::new(Code::NOT_SUPPORTED, "sparse and deferred-mapping arrays are not supported"));
        }
        Ok(())
    }

    /// Returns the descriptor of a level of a mipmapped array.
    fn level(&self, level: u32) -> Self {
        let half = |side: usize| if side == 0 { 0 } else { (side >> level).max(1) };
        let depth = if self.has_layers() { self.depth } else { half(self.depth) };
        Self { width: half(self.width), height: half(self.height), depth, ..*self }
    }

    /// Returns the number of levels from this array down to the level with a single texel.
    fn level_count(&self) -> u32 {
        let depth = if self.has_layers() { 0 } else { self.depth };
        self.width.max(self.height).max(depth).max(1).ilog2() + 1
    }
}

impl Array {
    fn create(descriptor: Descriptor, is_level: bool) -> Result<Arc<Self>> {
        let (format, is_normalized) = format(descriptor.format, descriptor.channels)?;
        descriptor.check()?;
        let [width, height, depth] = descriptor.lengths();
        let bytes = (width * u64::from(format.bytes())).saturating_mul(height).saturating_mul(depth);
        let address = memory::allocate(bytes as usize, Kind::Array, 0, 0)?;
        let context = context::current()?.handle;
        Ok(ARRAYS.add(|handle| Self { handle, context, descriptor, format, is_normalized, address, is_level }))
    }

    /// Returns the array with this handle, or `CUDA_ERROR_INVALID_VALUE` when there is none.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        driver()?;
        ARRAYS.find(handle).ok_or_else(|| Error::new(Code::INVALID_VALUE, "the array does not exist"))
    }

    /// Returns the size of a texel in bytes.
    pub(crate) fn texel_bytes(&self) -> u32 {
        self.format.bytes()
    }

    /// Returns the size of a row in bytes.
    fn pitch(&self) -> u64 {
        self.descriptor.width as u64 * u64::from(self.texel_bytes())
    }

    /// Returns one side of a copy, starting at `begin`, which is in bytes, rows and slices. Returns
    /// `CUDA_ERROR_INVALID_VALUE` when the copy extends beyond the array.
    pub(crate) fn side(&self, begin: [u64; 3], extent: [u64; 3]) -> Result<Side> {
        let [_, rows, slices] = self.descriptor.lengths();
        let size = [self.pitch(), rows, slices];
        let is_inside = |side: usize| begin[side].checked_add(extent[side]).is_some_and(|end| end <= size[side]);
        if !(0..3).all(is_inside) {
            let what = format!("a copy of {extent:?} at {begin:?} exceeds the array's {size:?} (bytes, rows, slices)");
            return Err(Error::new(Code::INVALID_VALUE, what));
        }
        let (pitch, slice) = (size[0], size[0] * rows);
        let address = self.address + begin[2] * slice + begin[1] * pitch + begin[0];
        Ok(Side { address, pitch, slice })
    }

    /// Returns the array as the image of a texture or surface.
    pub(crate) fn image(&self) -> Image {
        let [width, height, depth] = self.descriptor.lengths().map(|length| length as u32);
        let is_layered = self.descriptor.flags & LAYERED != 0;
        let (sides, layers) = if self.descriptor.is_cubemap() {
            (Sides::Cube(width), is_layered.then_some(depth / 6))
        } else {
            let sides = match (self.descriptor.height, self.descriptor.depth) {
                (0, _) => Sides::One(width),
                (_, 1..) if !is_layered => Sides::Three([width, height, depth]),
                _ => Sides::Two([width, height]),
            };
            (sides, is_layered.then_some(depth))
        };
        Image { address: self.address, format: self.format, sides, layers, pitch: self.pitch() }
    }

    fn free(&self) -> Result<()> {
        ARRAYS.remove(self.handle)?;
        memory::free_now(&mut driver()?.simulator(), self.address)
    }
}

impl Mipmapped {
    /// Returns the mipmapped array with this handle, or `CUDA_ERROR_INVALID_VALUE` when there is none.
    pub(crate) fn of(handle: Handle) -> Result<Arc<Self>> {
        driver()?;
        MIPMAPPED.find(handle).ok_or_else(|| Error::new(Code::INVALID_VALUE, "the mipmapped array does not exist"))
    }
}

/// Forgets the arrays of a context. Their memory is freed with the rest of the context's memory.
pub(crate) fn remove_all(context: Handle) {
    MIPMAPPED.remove_where(|mipmapped| mipmapped.context == context);
    ARRAYS.remove_where(|array| array.context == context);
}

functions! {
    fn cuArrayCreate_v2(array: Out<Handle>, descriptor: In<Descriptor2d>) {
        array.check()?;
        let Descriptor2d { width, height, format, channels } = descriptor.get()?;
        let descriptor = Descriptor { width, height, depth: 0, format, channels, flags: 0 };
        array.set(Array::create(descriptor, false)?.handle)
    }

    fn cuArray3DCreate_v2(array: Out<Handle>, descriptor: In<Descriptor>) {
        array.check()?;
        array.set(Array::create(descriptor.get()?, false)?.handle)
    }

    fn cuArrayGetDescriptor_v2(to: Out<Descriptor2d>, array: Handle) {
        let Descriptor { width, height, format, channels, .. } = ARRAYS.get(array)?.descriptor;
        to.set(Descriptor2d { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(to: Out<Descriptor>, array: Handle) {
        to.set(ARRAYS.get(array)?.descriptor)
    }

    // This function and the following ones describe sparse, planar or deferred-mapping arrays, which do not exist here.
    fn cuArrayGetMemoryRequirements(_requirements: Out<u8>, array: Handle, device: i32) {
        ARRAYS.get(array)?;
        driver()?.device(device)?;
        Err(Code::INVALID_VALUE.into())
    }

    fn cuArrayGetSparseProperties(_properties: Out<u8>, array: Handle) {
        ARRAYS.get(array)?;
        Err(Code::INVALID_VALUE.into())
    }

    fn cuArrayGetPlane(_plane: Out<Handle>, array: Handle, _number: u32) {
        ARRAYS.get(array)?;
        Err(Code::INVALID_VALUE.into())
    }

    fn cuMipmappedArrayGetMemoryRequirements(_requirements: Out<u8>, array: Handle, device: i32) {
        Mipmapped::of(array)?;
        driver()?.device(device)?;
        Err(Code::INVALID_VALUE.into())
    }

    fn cuMipmappedArrayGetSparseProperties(_properties: Out<u8>, array: Handle) {
        Mipmapped::of(array)?;
        Err(Code::INVALID_VALUE.into())
    }

    fn cuArrayDestroy(array: Handle) {
        queue()?.wait_for_all();
        let array = ARRAYS.get(array)?;
        if array.is_level { Ok(()) } else { array.free() }
    }

    fn cuMipmappedArrayCreate(array: Out<Handle>, descriptor: In<Descriptor>, levels: u32) {
        array.check()?;
        let descriptor = descriptor.get()?;
        let mut created = Vec::new();
        for level in 0..levels.clamp(1, descriptor.level_count()) {
            match Array::create(descriptor.level(level), true) {
                Ok(level) => created.push(level),
                Err(error) => {
                    created.iter().try_for_each(|level| level.free())?;
                    return Err(error);
                }
            }
        }
        let context = context::current()?.handle;
        array.set(MIPMAPPED.add(|handle| Mipmapped { handle, context, levels: created }).handle)
    }

    fn cuMipmappedArrayGetLevel(array: Out<Handle>, mipmapped: Handle, level: u32) {
        array.check()?;
        let mipmapped = Mipmapped::of(mipmapped)?;
        array.set(mipmapped.levels.get(level as usize).ok_or(Code::INVALID_VALUE)?.handle)
    }

    fn cuMipmappedArrayDestroy(array: Handle) {
        queue()?.wait_for_all();
        let mipmapped = MIPMAPPED.get(array)?;
        MIPMAPPED.remove(mipmapped.handle)?;
        mipmapped.levels.iter().try_for_each(|level| level.free())
    }
}
