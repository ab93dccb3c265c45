//! Textures and surfaces: `tex`, `tld4`, `txq`, `suld`, `sust`, `sured` and `suq` (PTX ISA §9.7.10 and §9.7.11).
//!
//! An instruction refers to a texture or surface by the handle that [`Simulator::texture`](crate::Simulator::texture)
//! or [`Simulator::surface`](crate::Simulator::surface) returned. Images are row-major in device memory.

mod image;
mod sampling;
mod surface;

pub use image::{Addressing, Channels, Filter, Image, Sides, TexelFormat, TextureDescription, TextureError};
pub(crate) use image::{Object, Objects};
use sampling::{Coordinates, Point, face};

use super::load_store::{Destination, Width, put, take};
use super::{AccessFault, Accessed, Env};
use crate::memory::GlobalMemory;
use crate::regs::{LANES, Pred, R64, Reg, lanes};

/// A texture or surface instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The handle.
    pub object: R64,
    /// The kind of image that the instruction expects.
    pub geometry: Geometry,
    /// The layer, if the geometry has layers, and a coordinate for each side.
    pub coordinates: Box<[Reg]>,
    /// The remaining source registers: offsets of texels, the requested level, or the values to store.
    pub from: Box<[Reg]>,
    /// The destination registers.
    pub to: Box<[Destination]>,
    /// The predicate that receives whether the texels are resident, which is always true in the simulator.
    pub resident: Option<Pred>,
    /// The operation.
    pub op: TextureOp,
}

/// The kind of image that an instruction expects: `.1d`, `.a2d`, `.cube`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Geometry {
    /// The number of sides: 1, 2 or 3; for a cube, the number of components of a direction.
    pub sides: usize,
    /// Whether the first coordinate is a layer.
    pub layered: bool,
    /// Whether the image is a cube.
    pub cube: bool,
}

/// An operation on a texture or surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextureOp {
    /// `tex`
    Fetch {
        /// Whether the coordinates are integers.
        integers: bool,
        /// The type of the result.
        value: ValueType,
    },
    /// `tld4`, with the number of the channel.
    Gather(usize, ValueType),
    /// `txq`
    QueryTexture(Query),
    /// `suq`
    QuerySurface(Query),
    /// `suld.b`
    Load(Boundary, Width),
    /// `sust.b`
    Store(Boundary, Width),
    /// `sust.p`
    StoreFormatted(Boundary),
    /// `sured.b`. The flag states whether the numbers are signed.
    Reduce(Boundary, Reduction, Width, bool),
    /// `sured.p`, whose numbers are signed if the surface's format is signed.
    ReduceFormatted(Boundary, Reduction),
}

/// The type of a texture's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the types")]
pub enum ValueType {
    Integer,
    F32,
    F16,
    F16x2,
}

/// The behavior at coordinates outside a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// A fault.
    Trap,
    /// The nearest texel inside.
    Clamp,
    /// Loads return zero, and stores do nothing.
    Zero,
}

/// The operation of a `sured`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Reduction {
    Add,
    Min,
    Max,
    And,
    Or,
}

/// The property that a `txq` or `suq` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the modifiers")]
pub enum Query {
    Width,
    Height,
    Depth,
    ArraySize,
    Levels,
    Samples,
    NormalizedCoordinates,
}

/// The result for a lane, or the problem in words.
type Done<T> = Result<T, String>;

/// Values of the lanes, for up to four elements.
type Elements = [[u64; LANES]; 4];

impl Texture {
    pub(super) fn execute(&self, env: &mut Env<'_, '_>, mask: u32) -> Accessed {
        let handles = *env.regs.get64(self.object);
        let read = |registers: &[Reg]| {
            let mut values: Elements = [[0; LANES]; 4];
            for (values, reg) in values.iter_mut().zip(registers) {
                *values = take(&env.regs, *reg);
            }
            values
        };
        let (coordinates, from) = (read(&self.coordinates), read(&self.from));
        let of = |values: &Elements, lane: usize| [0, 1, 2, 3].map(|at| values[at][lane]);
        let fault = |lane: usize, problem: String| AccessFault::in_words(lane, handles[lane], problem);
        let mut found: Elements = [[0; LANES]; 4];
        let mut places = [None; LANES];
        for lane in lanes(mask) {
            let at = of(&coordinates, lane).map(|at| at as u32);
            let extra = of(&from, lane).map(|at| at as u32);
            let values = self.object(env.global, handles[lane]).and_then(|object| match object {
                Object::Texture(texture) => self.sample(env.global, texture, at, extra),
                Object::Surface(image) => {
                    places[lane] = self.place(image, at)?;
                    Ok([self.answer(image, extra[0], false), 0, 0, 0])
                }
            });
            let values = values.map_err(|problem| fault(lane, problem))?;
            for (found, value) in found.iter_mut().zip(values) {
                found[lane] = u64::from(value);
            }
        }
        // All lanes are checked before the first lane writes.
        for (lane, place) in places.into_iter().enumerate() {
            let Some(place) = place else { continue };
            let values = self.access(env.global, handles[lane], place, of(&from, lane));
            for (found, value) in found.iter_mut().zip(values) {
                found[lane] = value;
            }
        }
        for (to, values) in self.to.iter().zip(&found) {
            put(&mut env.regs, *to, mask, values, false);
        }
        if let Some(resident) = self.resident {
            env.regs.set_pred(resident, mask, mask);
        }
        Ok(())
    }

    /// Returns whether the instruction is a texture instruction.
    fn is_of_textures(&self) -> bool {
        use TextureOp::{Fetch, Gather, QueryTexture};
        matches!(self.op, Fetch { .. } | Gather(..) | QueryTexture(_))
    }

    /// Returns the texture or surface of a handle, if the instruction supports it.
    fn object<'m>(&self, memory: &'m GlobalMemory, handle: u64) -> Done<&'m Object> {
        let expected = if self.is_of_textures() { "texture" } else { "surface" };
        let object = memory.objects.find(handle);
        let object = object.ok_or_else(|| format!("{handle:#x} is not the handle of a {expected}"))?;
        if matches!(object, Object::Texture(_)) != self.is_of_textures() {
            return Err(format!("the handle {handle:#x} is not one of a {expected}"));
        }
        let image = object.image();
        if memory.find(image.address).is_none() {
            return Err(format!("the memory of {expected} {handle:#x} was freed"));
        }
        // In a surface of a cube, the cube's faces are the layers.
        let (is_cube, has_faces) = match image.sides {
            Sides::Cube(_) => (self.is_of_textures(), !self.is_of_textures()),
            _ => (false, false),
        };
        let sides = if is_cube { 3 } else { image.sides.count() };
        let actual = Geometry { sides, layered: has_faces || image.layers.is_some(), cube: is_cube };
        let is_linear = matches!(image.sides, Sides::Linear(_));
        let has_integers = matches!(self.op, TextureOp::Fetch { integers: true, .. });
        match self.geometry.sides == 0 || self.geometry == actual && (!is_linear || has_integers) {
            true => Ok(object),
            false => Err(format!(
                "the instruction does not fit {expected} {handle:#x}, an image of {:?} texels and {:?} layers",
                image.sides, image.layers
            )),
        }
    }

    /// Returns the result of a query; 0 for other instructions.
    fn answer(&self, image: &Image, level: u32, normalized: bool) -> u32 {
        let (TextureOp::QueryTexture(query) | TextureOp::QuerySurface(query)) = self.op else {
            return 0;
        };
        let [width, height, depth] = image.sides.lengths();
        let has = |sides: bool, length: u32| if sides && level == 0 { length } else { 0 };
        let is_flat = matches!(image.sides, Sides::Linear(_) | Sides::One(_));
        match query {
            Query::Width => has(true, width),
            Query::Height => has(!is_flat, height),
            Query::Depth => has(matches!(image.sides, Sides::Three(_)), depth),
            Query::ArraySize => image.layers.unwrap_or(0),
            Query::Levels | Query::Samples => 1,
            Query::NormalizedCoordinates => u32::from(normalized),
        }
    }

    /// Returns the value of a texture at coordinates.
    fn sample(
        &self,
        memory: &GlobalMemory,
        texture: &TextureDescription,
        at: [u32; 4],
        extra: [u32; 4],
    ) -> Done<[u32; 4]> {
        let (integers, value) = match self.op {
            TextureOp::Fetch { integers, value } => (integers, value),
            TextureOp::Gather(_, value) => (false, value),
            _ => {
                let normalized = texture.normalized_coordinates;
                return Ok([self.answer(&texture.image, extra[0], normalized), 0, 0, 0]);
            }
        };
        let name = |is_float| if is_float { "floating-point numbers" } else { "integers" };
        let (returned, expected) = (name(texture.is_float()), name(value != ValueType::Integer));
        if returned != expected {
            return Err(format!("the texture returns {returned}, but the instruction expects {expected}"));
        }
        let image = &texture.image;
        let (layer, position) = match self.geometry.layered {
            true => (at[0].cast_signed(), [at[1], at[2], at[3]]),
            false => (0, [at[0], at[1], at[2]]),
        };
        let mut layer = layer.cast_unsigned().min(image.layers.unwrap_or(1) - 1);
        let at = match integers {
            true => Coordinates::Integers(position.map(u32::cast_signed)),
            false if self.geometry.cube => {
                let (face, [s, t]) = face(position.map(f32::from_bits));
                layer = layer * 6 + face;
                Coordinates::Floats([s, t, 0.0])
            }
            false => Coordinates::Floats(position.map(f32::from_bits)),
        };
        let point = Point { layer, at, offsets: [extra[0], extra[1], extra[2]].map(u32::cast_signed) };
        let found = match self.op {
            TextureOp::Gather(channel, _) => texture.gather(memory, &point, channel),
            _ => texture.fetch(memory, &point),
        };
        let half = |bits: u32| u32::from(half::f16::from_f32(f32::from_bits(bits)).to_bits());
        Ok(match value {
            ValueType::Integer | ValueType::F32 => found,
            ValueType::F16 => found.map(half),
            ValueType::F16x2 => {
                let [x, y, z, w] = found.map(half);
                [x | y << 16, z | w << 16, 0, 0]
            }
        })
    }
}
