//! Texture and surface objects: arrays and memory that kernels read as texels.

use std::collections::HashMap;
use std::sync::Mutex;

use simt::memory::texture::{Addressing, Channels, Filter, Image, Sides, TexelFormat, TextureDescription};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, PerDriver, lock};
use crate::gpu::array::{self, Array, Mipmapped};
use crate::gpu::context;
use crate::gpu::queue::queue;
use crate::gpu::state::driver;

/// `CUresourcetype`.
const ARRAY: u32 = 0;
const MIPMAPPED_ARRAY: u32 = 1;
const LINEAR: u32 = 2;
const PITCH_2D: u32 = 3;

/// `CU_TRSF_READ_AS_INTEGER` and the other flags of textures.
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;
const SRGB: u32 = 0x10;
const DISABLE_TRILINEAR: u32 = 0x20;
const SEAMLESS_CUBEMAP: u32 = 0x40;

/// Device attributes: the alignment of textures in memory and of their rows, and their maximum sides.
const TEXTURE_ALIGNMENT: u32 = 14;
const PITCH_ALIGNMENT: u32 = 51;
const MAX_LINEAR_WIDTH: u32 = 69;
const MAX_PITCH_WIDTH: u32 = 70;
const MAX_PITCH_HEIGHT: u32 = 71;
const MAX_PITCH: u32 = 72;

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Resource {
    kind: u32,
    /// The handle of an array; or an address, the texels' format and number of channels in one word, and sizes.
    words: [u64; 16],
    flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Sampling {
    /// `CUaddress_mode` for x, y and z.
    addressing: [u32; 3],
    /// `CUfilter_mode`.
    filter: u32,
    flags: u32,
    max_anisotropy: u32,
    level_filter: u32,
    level_bias: f32,
    min_level: f32,
    max_level: f32,
    border: [f32; 4],
    reserved: [i32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct View {
    /// `CUresourceViewFormat`.
    format: u32,
    width: usize,
    height: usize,
    depth: usize,
    first_level: u32,
    last_level: u32,
    first_layer: u32,
    last_layer: u32,
    reserved: [u32; 16],
}

/// A texture or surface as described by a program.
struct Object {
    context: Handle,
    resource: Resource,
    /// How a texture is read; `None` for a surface.
    sampling: Option<(Sampling, View)>,
}

/// The textures and surfaces, by handle.
static OBJECTS: PerDriver<Mutex<HashMap<u64, Object>>> = PerDriver::new();

fn invalid(what: impl Into<String>) -> Error {
    Error::new(Code::INVALID_VALUE, what)
}

/// Returns an attribute of the current device.
fn limit(attribute: u32) -> Result<u64> {
    let context = context::current()?;
    Ok(driver()?.devices[context.device].attribute(attribute).map_or(u64::MAX, |value| value.max(0) as u64))
}

impl Resource {
    /// Returns the image of a texture, and whether its format normalizes integers. `level` selects the level of a
    /// mipmapped array.
    fn image(&self, view: Option<&View>, level: impl FnOnce(&Mipmapped) -> Result<usize>) -> Result<(Image, bool)> {
        if self.flags != 0 {
            return Err(invalid("the flags of a resource must be zero"));
        }
        match self.kind {
            ARRAY => of_array(&*Array::of(self.words[0] as Handle)?, view),
            MIPMAPPED_ARRAY => {
                let mipmapped = Mipmapped::of(self.words[0] as Handle)?;
                let level = level(&mipmapped)?;
                // A view specifies the sides of the whole mipmapped array, not those of a level.
                let whole = &mipmapped.levels[0].descriptor;
                let is_whole = |view: &View| view.width == whole.width && view.height == whole.height;
                if view.is_some_and(|view| !is_whole(view)) {
                    return Err(invalid("the view and the mipmapped array have different widths or heights"));
                }
                let array = &mipmapped.levels[level];
                let sides = array.descriptor;
                let view = view.map(|view| View { width: sides.width, height: sides.height, ..*view });
                of_array(array, view.as_ref())
            }
            LINEAR => self.linear(),
            PITCH_2D => self.pitched(),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    /// Returns the address and format of texels in memory.
    fn memory(&self) -> Result<(u64, (TexelFormat, bool))> {
        let [address, format, ..] = self.words;
        if address == 0 || !address.is_multiple_of(limit(TEXTURE_ALIGNMENT)?) {
            return Err(invalid(format!("the texture's address {address:#x} is not a multiple of 512")));
        }
        Ok((address, array::format(format as u32, (format >> 32) as u32)?))
    }

    fn linear(&self) -> Result<(Image, bool)> {
        let (address, (format, is_normalized)) = self.memory()?;
        let texels = self.words[2] / u64::from(format.bytes());
        if !(1..=limit(MAX_LINEAR_WIDTH)?).contains(&texels) {
            return Err(invalid(format!("{texels} texels are out of range for a texture in linear memory")));
        }
        Ok((Image::packed(address, format, Sides::Linear(texels as u32)), is_normalized))
    }

    fn pitched(&self) -> Result<(Image, bool)> {
        let (address, (format, is_normalized)) = self.memory()?;
        let [_, _, width, height, pitch, ..] = self.words;
        let is_pitch = pitch.is_multiple_of(limit(PITCH_ALIGNMENT)?) && pitch <= limit(MAX_PITCH)?;
        if !is_pitch || width > limit(MAX_PITCH_WIDTH)? || height > limit(MAX_PITCH_HEIGHT)? {
            return Err(invalid(format!("invalid texture of {width} × {height} texels with a pitch of {pitch} bytes")));
        }
        let sides = Sides::Two([width as u32, height as u32]);
        Ok((Image { address, format, sides, layers: None, pitch }, is_normalized))
    }
}

/// Returns the format of a view (`CUresourceViewFormat`): 1, 2 and 4 channels for each number type and size.
fn view_format(format: u32) -> Result<TexelFormat> {
    use Channels::{Float, Signed, Unsigned};
    let kinds = [
        (Unsigned, 8),
        (Signed, 8),
        (Unsigned, 16),
        (Signed, 16),
        (Unsigned, 32),
        (Signed, 32),
        (Float, 16),
        (Float, 32),
    ];
    match format {
        1..=0x18 => {
            let (channels, bits) = kinds[(format as usize - 1) / 3];
            Ok(TexelFormat { channels, bits, count: 1 << ((format - 1) % 3) })
        }
        0x19..=0x22 => Err(Error::new(Code::NOT_SUPPORTED, "views of compressed texels are not supported")),
        _ => Err(Code::INVALID_VALUE.into()),
    }
}

/// Returns the image of an array, or of the part that a view selects.
fn of_array(array: &Array, view: Option<&View>) -> Result<(Image, bool)> {
    let mut image = array.image();
    let Some(view) = view else { return Ok((image, array.is_normalized)) };
    let format = view_format(view.format)?;
    let sides = array.descriptor;
    if format.bytes() != image.format.bytes() || (view.width, view.height) != (sides.width, sides.height) {
        return Err(invalid("the view and the array differ in width, height or texel size"));
    }
    match image.layers {
        Some(layers) if !sides.is_cubemap() => {
            if view.first_layer > view.last_layer || view.last_layer >= layers {
                return Err(invalid(format!(
                    "the view's last layer {} is out of range for {layers} layers",
                    view.last_layer
                )));
            }
            let rows = sides.height.max(1) as u64;
            image.address += u64::from(view.first_layer) * rows * image.pitch;
            image.layers = Some(view.last_layer - view.first_layer + 1);
        }
        Some(_) if view.first_layer != 0 || view.last_layer as usize + 1 != sides.depth => {
            return Err(Error::new(Code::NOT_SUPPORTED, "a view must include all layers of a cube map"));
        }
        None if view.first_layer != 0 || view.last_layer != 0 => {
            return Err(invalid("the view selects layers of an array without layers"));
        }
        _ => {}
    }
    image.format = format;
    Ok((image, array.is_normalized && format.channels != Channels::Float))
}

impl Sampling {
    fn check(&self) -> Result<()> {
        let flags = READ_AS_INTEGER | NORMALIZED_COORDINATES | SRGB | DISABLE_TRILINEAR | SEAMLESS_CUBEMAP;
        let is_known = self.addressing.iter().all(|mode| *mode <= 3) && self.filter <= 1 && self.level_filter <= 1;
        match is_known && self.flags & !flags == 0 && self.reserved == [0; 12] {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE.into()),
        }
    }

    /// Returns the level of a mipmapped array that a texture reads. Refuses textures that read several levels.
    fn level(&self, mipmapped: &Mipmapped, view: Option<&View>) -> Result<usize> {
        let count = mipmapped.levels.len();
        let (first, last) = view.map_or((0, count - 1), |view| (view.first_level as usize, view.last_level as usize));
        if first > last || last >= count {
            return Err(invalid(format!("the view's levels {first} to {last} are out of range for {count} levels")));
        }
        let clamp = |level: f32| (level.max(0.0) as usize).min(last - first);
        let (lowest, highest) = (clamp(self.min_level), clamp(self.max_level.ceil()));
        match lowest >= highest {
            true => Ok(first + lowest),
            false => Err(Error::new(
                Code::NOT_SUPPORTED,
                "textures that use several mipmap levels are not supported; set minMipmapLevelClamp and \
                 maxMipmapLevelClamp to the same value",
            )),
        }
    }

    /// Returns the texture that reads an image with this sampling.
    fn texture(&self, image: Image, is_normalized: bool) -> Result<TextureDescription> {
        let format = image.format;
        let is_cube = matches!(image.sides, Sides::Cube(_));
        let has_floats = format.channels == Channels::Float;
        let can_normalize = !has_floats && format.bits < 32;
        let normalized_values = can_normalize && (is_normalized || self.flags & READ_AS_INTEGER == 0);
        // Integers are never filtered, and linear memory is read with integer coordinates.
        let is_filtered = (has_floats || normalized_values) && !matches!(image.sides, Sides::Linear(_));
        let filter = if self.filter == 1 && is_filtered { Filter::Linear } else { Filter::Point };
        if self.flags & SEAMLESS_CUBEMAP != 0 {
            if !is_cube {
                return Err(invalid("seamless filtering requires a cube map"));
            }
            if filter == Filter::Linear {
                return Err(Error::new(
                    Code::NOT_SUPPORTED,
                    "filtering across the faces of a cube map is not supported",
                ));
            }
        }
        if self.flags & SRGB != 0 && normalized_values && format.bits == 8 {
            return Err(Error::new(Code::NOT_SUPPORTED, "sRGB textures are not supported"));
        }
        let addressing = self.addressing.map(|mode| match mode {
            0 => Addressing::Wrap,
            1 => Addressing::Clamp,
            2 => Addressing::Mirror,
            _ => Addressing::Border,
        });
        let normalized_coordinates = self.flags & NORMALIZED_COORDINATES != 0;
        Ok(TextureDescription {
            image,
            addressing,
            filter,
            normalized_coordinates,
            normalized_values,
            border: self.border,
        })
    }
}

/// Returns the object with this handle, or `CUDA_ERROR_INVALID_VALUE` when there is no such object of this kind.
fn find<T>(handle: u64, is_texture: bool, read: impl FnOnce(&Object) -> T) -> Result<T> {
    driver()?;
    let objects = lock(OBJECTS.get());
    let object = objects.get(&handle).filter(|object| object.sampling.is_some() == is_texture);
    object.map(read).ok_or_else(|| Code::INVALID_VALUE.into())
}

fn destroy(handle: u64, is_texture: bool) -> Result<()> {
    let driver = driver()?;
    if handle == 0 {
        return Ok(());
    }
    find(handle, is_texture, |_| ())?;
    queue()?.wait_for_all();
    driver.simulator().destroy_object(handle);
    lock(OBJECTS.get()).remove(&handle);
    Ok(())
}

/// Destroys the objects of a context.
pub(crate) fn remove_all(context: Handle) {
    let Ok(driver) = driver() else { return };
    let mut simulator = driver.simulator();
    lock(OBJECTS.get()).retain(|handle, object| {
        if object.context == context {
            simulator.destroy_object(*handle);
        }
        object.context != context
    });
}

functions! {
    fn cuTexObjectCreate(texture: Out<u64>, resource: In<Resource>, sampling: In<Sampling>, view: In<View>) {
        texture.check()?;
        let context = context::current()?.handle;
        let (resource, sampling) = (resource.get()?, sampling.get()?);
        // Only arrays can have views.
        let view = view.optional().filter(|_| matches!(resource.kind, ARRAY | MIPMAPPED_ARRAY));
        sampling.check()?;
        let level = |mipmapped: &Mipmapped| sampling.level(mipmapped, view.as_ref());
        let (image, is_normalized) = resource.image(view.as_ref(), level)?;
        let description = sampling.texture(image, is_normalized)?;
        let created = driver()?.simulator().texture(description);
        let handle = created.map_err(|error| invalid(error.to_string()))?;
        let sampling = Some((sampling, view.unwrap_or_default()));
        lock(OBJECTS.get()).insert(handle, Object { context, resource, sampling });
        texture.set(handle)
    }

    fn cuTexObjectDestroy(texture: u64) {
        destroy(texture, true)
    }

    fn cuTexObjectGetResourceDesc(to: Out<Resource>, texture: u64) {
        to.set(find(texture, true, |object| object.resource)?)
    }

    fn cuTexObjectGetTextureDesc(to: Out<Sampling>, texture: u64) {
        let sampling = find(texture, true, |object| object.sampling)?;
        to.set(sampling.ok_or(Code::INVALID_VALUE)?.0)
    }

    fn cuTexObjectGetResourceViewDesc(to: Out<View>, texture: u64) {
        let sampling = find(texture, true, |object| object.sampling)?;
        to.set(sampling.ok_or(Code::INVALID_VALUE)?.1)
    }

    fn cuSurfObjectCreate(surface: Out<u64>, resource: In<Resource>) {
        surface.check()?;
        let context = context::current()?.handle;
        let resource = resource.get()?;
        if resource.kind != ARRAY {
            return Err(invalid("a surface requires an array"));
        }
        let (image, _) = resource.image(None, |_| Ok(0))?;
        let created = driver()?.simulator().surface(image);
        let handle = created.map_err(|error| invalid(error.to_string()))?;
        lock(OBJECTS.get()).insert(handle, Object { context, resource, sampling: None });
        surface.set(handle)
    }

    fn cuSurfObjectDestroy(surface: u64) {
        destroy(surface, false)
    }

    fn cuSurfObjectGetResourceDesc(to: Out<Resource>, surface: u64) {
        to.set(find(surface, false, |object| object.resource)?)
    }
}
