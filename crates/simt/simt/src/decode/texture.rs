//! Textures and surfaces.

use ptx::ast::{AddressBase, Operand};
use simt_isa::{Expected, Kind};

use super::memory::width_of;
use super::{Decoded, Decoder};
use crate::code::{R64, Reg};
use crate::memory::Memory;
use crate::memory::texture::{Boundary, Geometry, Query, Reduction, Texture, TextureOp, ValueType};

/// For each geometry: the number of sides, whether the image has layers, and whether it is a cube.
#[rustfmt::skip]
const GEOMETRIES: [(&str, Geometry); 7] = {
    const fn of(sides: usize, layered: bool, cube: bool) -> Geometry {
        Geometry { sides, layered, cube }
    }
    [
        ("1d", of(1, false, false)), ("2d", of(2, false, false)), ("3d", of(3, false, false)),
        ("a1d", of(1, true, false)), ("a2d", of(2, true, false)),
        ("cube", of(3, false, true)), ("acube", of(3, true, true)),
    ]
};
const VALUES: [(&str, ValueType); 5] = [
    ("u32", ValueType::Integer),
    ("s32", ValueType::Integer),
    ("f32", ValueType::F32),
    ("f16", ValueType::F16),
    ("f16x2", ValueType::F16x2),
];
const QUERIES: [(&str, Query); 7] = [
    ("width", Query::Width),
    ("height", Query::Height),
    ("depth", Query::Depth),
    ("array_size", Query::ArraySize),
    ("num_mipmap_levels", Query::Levels),
    ("num_samples", Query::Samples),
    ("normalized_coords", Query::NormalizedCoordinates),
];
const BOUNDARIES: [(&str, Boundary); 3] =
    [("trap", Boundary::Trap), ("clamp", Boundary::Clamp), ("zero", Boundary::Zero)];
/// Operations of `sured`, and the types that they support.
const REDUCTIONS: [(&str, &[&str], Reduction); 5] = [
    ("add", &["u32", "s32", "u64"], Reduction::Add),
    ("min", &["u32", "s32", "u64", "s64"], Reduction::Min),
    ("max", &["u32", "s32", "u64", "s64"], Reduction::Max),
    ("and", &["b32"], Reduction::And),
    ("or", &["b32"], Reduction::Or),
];

impl<'d> Decoder<'d, '_, '_> {
    pub(super) fn texture(&mut self) -> Decoded<Memory> {
        let op = match self.words[0] {
            "tex" | "tld4" => self.fetch()?,
            "txq" | "suq" => self.query()?,
            _ => self.surface()?,
        };
        Ok(Memory::Texture(Box::new(op)))
    }

    /// `tex{.base|.level|.grad}.geom.v4.dtype.ctype d, [a, c]{, lod}{, dPdx, dPdy}{, e}`. Textures have a single level,
    /// so the level and the gradients have no effect. `tld4.comp.geom.v4.dtype.f32 d, [a, c]{, e}`
    fn fetch(&mut self) -> Decoded<Texture> {
        let ([to, object], rest) = self.first()?;
        let (value, geometry) = (self.word(&VALUES)?, self.word(&GEOMETRIES)?);
        let ty = self.last();
        let integers = ty == "s32";
        let op = match self.words[0] {
            "tld4" => TextureOp::Gather(self.word(&[("r", 0), ("g", 1), ("b", 2), ("a", 3)])?, value),
            _ => TextureOp::Fetch { integers, value },
        };
        if geometry.cube && integers {
            return Err(self.invalid("a cube texture needs floating-point coordinates"));
        }
        let skipped = self.known(&[("level", 1), ("grad", 2)]).unwrap_or(0);
        for gradient in rest[..skipped].iter().filter(|_| skipped == 2) {
            self.checked_elements(gradient, geometry.sides, ty)?;
        }
        let (to, resident) = match to {
            Operand::VectorPair(to, resident) => {
                let resident = self.dst(&Operand::Name(resident))?;
                (self.destinations(&Operand::Vector(to.clone()))?, Some(resident))
            }
            to => (self.destinations(to)?, None),
        };
        let (object, coordinates) = self.object(object, geometry, ty)?;
        let from = match &rest[skipped..] {
            [] => Box::default(),
            [offsets] => self.offsets(offsets, geometry)?,
            _ => return Err(self.unsupported("a texture's depth comparison")),
        };
        Ok(Texture { object, geometry, coordinates, from, to, resident, op })
    }

    /// `{x, y}`: the offsets in texels that are added to the coordinates.
    fn offsets(&mut self, operand: &Operand<'_>, geometry: Geometry) -> Decoded<Box<[Reg]>> {
        let is_float = |name| self.declared(name).is_some_and(|declared| declared.ty == "f32");
        let is_depth = match operand {
            Operand::Vector(_) => false,
            Operand::Name(name) => geometry.sides > 1 || is_float(name),
            _ => geometry.sides > 1,
        };
        if is_depth {
            return Err(self.unsupported("a texture's depth comparison"));
        }
        if geometry.cube {
            return Err(self.invalid("a cube does not take texel offsets"));
        }
        let elements = self.checked_elements(operand, geometry.sides, "s32")?;
        let used = elements.iter().take(geometry.sides);
        used.map(|element| self.value(element, "s32")).collect()
    }

    /// `[texture, {layer, x, y, z}]`: the handle, and the registers of the coordinates.
    fn object(&mut self, operand: &Operand<'_>, geometry: Geometry, ty: &str) -> Decoded<(R64, Box<[Reg]>)> {
        let (object, coordinates) = match operand {
            Operand::Tuple(all) if all.len() == 2 => (&all[0], &all[1]),
            Operand::Tuple(_) => {
                return Err(self.unsupported("a sampler that is separate from the texture"));
            }
            _ => return Err(self.invalid("a handle and coordinates in brackets are expected here")),
        };
        let object = self.handle(object)?;
        let count = geometry.sides + usize::from(geometry.layered);
        let elements = self.elements_of(coordinates, count)?;
        let mut register = |(at, element)| {
            let ty = if geometry.layered && at == 0 { "u32" } else { ty };
            self.check(Expected::read(Kind::Last), Some(ty), element)?;
            self.value(element, ty)
        };
        let registers: Vec<Reg> = elements.iter().enumerate().map(&mut register).collect::<Decoded<_>>()?;
        Ok((object, registers[..count].into()))
    }

    /// Returns the register of a handle.
    fn handle(&mut self, operand: &Operand<'_>) -> Decoded<R64> {
        if let Operand::Name(name) = operand
            && self.declared(name).is_none()
            && self.variable_declared(name).is_some()
        {
            return Err(self.unsupported(format!("the texture or surface variable `{name}` (only handles work)")));
        }
        self.check(Expected::read(Kind::Of("u64")), Some("u64"), operand)?;
        self.src(operand, "u64")
    }

    /// Returns the elements in braces, at least `least`. Additional elements are allowed but never read.
    fn elements_of<'x, 'y>(&self, operand: &'x Operand<'y>, least: usize) -> Decoded<&'x [Operand<'y>]> {
        match operand {
            Operand::Vector(all) if matches!(all.len(), 1 | 2 | 4) && all.len() >= least => Ok(all),
            Operand::Vector(_) => {
                Err(self.invalid(format!("{} elements in braces are expected", least.next_power_of_two())))
            }
            one if least == 1 => Ok(std::slice::from_ref(one)),
            _ => Err(self.invalid("elements in braces are expected")),
        }
    }

    /// Returns the elements as [`Self::elements_of`] does, and checks that they have this type.
    fn checked_elements<'x, 'y>(&self, operand: &'x Operand<'y>, least: usize, ty: &str) -> Decoded<&'x [Operand<'y>]> {
        let elements = self.elements_of(operand, least)?;
        let check = |element| self.check(Expected::read(Kind::Last), Some(ty), element);
        elements.iter().try_for_each(check)?;
        Ok(elements)
    }

    /// `txq.query.b32 d, [a]`, `txq.level.query.b32 d, [a], lod`, `suq.query.b32 d, [a]`
    fn query(&mut self) -> Decoded<Texture> {
        let ([to, object], level) = self.first()?;
        let query = self.word(&QUERIES)?;
        let Operand::Address { base: AddressBase::Name(name), offset: 0 } = object else {
            return Err(self.invalid("a handle in brackets is expected here"));
        };
        let level = level.iter();
        Ok(Texture {
            object: self.handle(&Operand::Name(name))?,
            geometry: Geometry::default(),
            coordinates: Box::default(),
            from: level.map(|level| self.value(level, "b32")).collect::<Decoded<_>>()?,
            to: self.destinations(to)?,
            resident: None,
            op: if self.words[0] == "txq" { TextureOp::QueryTexture(query) } else { TextureOp::QuerySurface(query) },
        })
    }

    /// `suld.b.geom{.vec}.type.clamp d, [a, b]`, `sust.b|p … [a, b], c`, `sured.b|p.op … [a, b], c`
    fn surface(&mut self) -> Decoded<Texture> {
        let words = self.words;
        let mut types = words[2..].iter().rev().filter_map(|word| Some((*word, width_of(word)?)));
        let (ty, width) = types.next().ok_or_else(|| self.unsupported_form())?;
        let vector = self.known(&[("v2", 2), ("v4", 4)]);
        if width.bytes() as usize * vector.unwrap_or(1) > 16 {
            return Err(self.invalid("an access can be at most 16 bytes"));
        }
        let boundary = self.word(&BOUNDARIES)?;
        let [first, second] = self.exactly()?;
        let (object, to, from) = match words[0] {
            "suld" => (second, Some(first), None),
            _ => (first, None, Some(second)),
        };
        let op = match words {
            ["suld", ..] => TextureOp::Load(boundary, width),
            ["sust", "b", ..] => TextureOp::Store(boundary, width),
            ["sust", ..] => TextureOp::StoreFormatted(boundary),
            [_, way, name, ..] => {
                let mut rows = REDUCTIONS.iter();
                let row = rows.find(|row| row.0 == *name && (*way == "p" || row.1.contains(&ty)));
                let (.., op) = *row.ok_or_else(|| self.unsupported_form())?;
                match (*way, ty) {
                    ("b", _) => TextureOp::Reduce(boundary, op, width, ty.starts_with('s')),
                    (_, "b32") => TextureOp::ReduceFormatted(boundary, op),
                    _ => return Err(self.unsupported_form()),
                }
            }
            _ => return Err(self.unsupported_form()),
        };
        let geometry = self.word(&GEOMETRIES)?;
        let (object, coordinates) = self.object(object, geometry, "s32")?;
        Ok(Texture {
            object,
            geometry,
            coordinates,
            from: from.map_or(Ok(Box::default()), |from| self.values(from, ty))?,
            to: to.map_or(Ok(Box::default()), |to| self.destinations(to))?,
            resident: None,
            op,
        })
    }
}
