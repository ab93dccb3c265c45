//! Accesses to surfaces (PTX ISA §9.7.11).

use super::{Boundary, Channels, Done, Image, Reduction, Texture, TextureOp};
use crate::memory::GlobalMemory;
use crate::memory::load_store::Width;
use crate::memory::storage::{AnyAllocation, Storage};

impl Texture {
    /// Returns the boundary of a surface access, its size in bytes for all elements, and whether the first coordinate
    /// is in texels instead of bytes.
    fn extent(&self, image: &Image) -> Option<(Boundary, u32, bool)> {
        let texel = image.format.bytes();
        Some(match self.op {
            TextureOp::Load(boundary, width) => (boundary, width.bytes() * self.to.len() as u32, false),
            TextureOp::Store(boundary, width) => (boundary, width.bytes() * self.from.len() as u32, false),
            TextureOp::Reduce(boundary, _, width, _) => (boundary, width.bytes(), false),
            TextureOp::StoreFormatted(boundary) | TextureOp::ReduceFormatted(boundary, _) => (boundary, texel, true),
            _ => return None,
        })
    }

    /// Returns the address of a surface access; `None` if the instruction does not access memory.
    pub(super) fn place(&self, image: &Image, at: [u32; 4]) -> Done<Option<u64>> {
        let Some((boundary, bytes, is_in_texels)) = self.extent(image) else {
            return Ok(None);
        };
        if let TextureOp::ReduceFormatted(..) = self.op
            && (image.format.count != 1 || image.format.bits != 32 || image.format.channels == Channels::Float)
        {
            return Err("sured.p requires a surface whose texels are single 32-bit integers".to_owned());
        }
        let layered = usize::from(self.geometry.layered);
        let layer = if layered == 1 { at[0] } else { 0 };
        let mut position = [0, 1, 2].map(|side| match side < self.geometry.sides {
            true => i64::from(at[side + layered].cast_signed()),
            false => 0,
        });
        if is_in_texels {
            position[0] *= i64::from(bytes);
        }
        if position[0] % i64::from(bytes) != 0 {
            return Err(format!("byte {} of a row of the surface is misaligned for {bytes} bytes", position[0]));
        }
        let [width, height, depth] = image.sides.lengths().map(i64::from);
        let most = [width * i64::from(image.format.bytes()) - i64::from(bytes), height - 1, depth - 1];
        let layers = i64::from(image.all_layers());
        let outside = |(at, most): (&i64, &i64)| !(0..=*most).contains(at);
        let mut layer = i64::from(layer.cast_signed());
        let is_outside = position.iter().zip(&most).any(outside) || !(0..layers).contains(&layer);
        if is_outside {
            match boundary {
                Boundary::Trap => {
                    let [x, y, z] = position;
                    return Err(format!("byte {x}, row {y}, slice {z}, layer {layer} is outside the surface"));
                }
                Boundary::Zero => return Ok(None),
                Boundary::Clamp if most[0] < 0 => return Ok(None),
                Boundary::Clamp => {
                    for (at, most) in position.iter_mut().zip(most) {
                        *at = (*at).clamp(0, most);
                    }
                    position[0] -= position[0] % i64::from(bytes);
                    layer = layer.clamp(0, layers - 1);
                }
            }
        }
        let [x, y, z] = position;
        let place = image.place(x as u64, y as u32, z as u32, layer as u32);
        match place.is_multiple_of(u64::from(bytes.min(8))) {
            true => Ok(Some(place)),
            false => Err(format!("{place:#x} in the surface is misaligned for an access of {bytes} bytes")),
        }
    }

    /// Accesses a surface at an address that [`Texture::place`] returned.
    pub(super) fn access(&self, global: &GlobalMemory, handle: u64, place: u64, from: [u64; 4]) -> [u64; 4] {
        let mut memory = AnyAllocation(global);
        let format = global.objects.find(handle).map(|object| object.image().format);
        match self.op {
            TextureOp::Load(_, width) => {
                let mut found = [0; 4];
                for (at, found) in (place..).step_by(width.bytes() as usize).zip(&mut found[..self.to.len()]) {
                    *found = memory.get_bytes(0, at, width.bytes());
                }
                return found;
            }
            TextureOp::Store(_, width) => store(&mut memory, place, width.bytes(), &from[..self.from.len()]),
            TextureOp::StoreFormatted(_) => {
                let Some(format) = format else { return [0; 4] };
                let is_half = (format.bits, format.channels) == (16, Channels::Float);
                let values = from.map(|bits| match is_half {
                    true => u64::from(half::f16::from_f32(f32::from_bits(bits as u32)).to_bits()),
                    false => bits,
                });
                store(&mut memory, place, format.bits / 8, &values[..format.count as usize]);
            }
            TextureOp::Reduce(_, op, Width::B8, signed) => {
                let flip = if signed { 1 << 63 } else { 0 };
                memory.update(0, place, |old: u64| combine(op, old, from[0], flip));
            }
            TextureOp::Reduce(_, op, _, signed) => reduce(&mut memory, place, op, from[0], signed),
            TextureOp::ReduceFormatted(_, op) => {
                let signed = format.is_some_and(|format| format.channels == Channels::Signed);
                reduce(&mut memory, place, op, from[0], signed);
            }
            _ => {}
        }
        [0; 4]
    }
}

/// Returns the result of a reduction. `flip` flips the sign bit, so that signed numbers can be compared like unsigned
/// numbers.
fn combine(op: Reduction, old: u64, operand: u64, flip: u64) -> u64 {
    match op {
        Reduction::Add => old.wrapping_add(operand),
        Reduction::Min => (old ^ flip).min(operand ^ flip) ^ flip,
        Reduction::Max => (old ^ flip).max(operand ^ flip) ^ flip,
        Reduction::And => old & operand,
        Reduction::Or => old | operand,
    }
}

/// Applies a reduction to a 32-bit number.
fn reduce(memory: &mut AnyAllocation<'_>, place: u64, op: Reduction, operand: u64, signed: bool) {
    let (operand, flip) = (operand & 0xffff_ffff, if signed { 1 << 31 } else { 0 });
    memory.update(0, place, |old: u32| combine(op, u64::from(old), operand, flip) as u32);
}

/// Stores consecutive values of `bytes` bytes each.
fn store(memory: &mut AnyAllocation<'_>, place: u64, bytes: u32, values: &[u64]) {
    for (at, value) in (place..).step_by(bytes as usize).zip(values) {
        memory.set_bytes(0, at, bytes, *value);
    }
}
