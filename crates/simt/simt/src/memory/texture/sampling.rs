//! The computation of a texture's value from coordinates ("CUDA C++ Programming Guide", "Texture Fetching").

use super::image::{Addressing, Channels, Filter, Image, Sides, TexelFormat, TextureDescription};
use crate::memory::GlobalMemory;

/// The position at which a texture is read: a layer, and a coordinate for each side.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Point {
    pub(super) layer: u32,
    pub(super) at: Coordinates,
    /// Offsets in texels, added to the coordinates.
    pub(super) offsets: [i32; 3],
}

/// Coordinates for each side.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coordinates {
    Integers([i32; 3]),
    Floats([f32; 3]),
}

impl Default for Coordinates {
    fn default() -> Self {
        Coordinates::Integers([0; 3])
    }
}

/// The index of a texel along a side, the share of the next texel in 256ths, and the parameters of the side.
#[derive(Clone, Copy)]
struct SideSample {
    index: i64,
    share: u32,
    length: i64,
    addressing: Addressing,
}

impl SideSample {
    /// Returns the index of this texel or of the next texel, with the addressing mode applied; `None` in the border.
    fn texel(self, is_next: bool) -> Option<u32> {
        let (index, length) = (self.index + i64::from(is_next), self.length);
        let found = match self.addressing {
            Addressing::Clamp => index.clamp(0, length - 1),
            Addressing::Border if !(0..length).contains(&index) => return None,
            Addressing::Border => index,
            Addressing::Wrap => index.rem_euclid(length),
            Addressing::Mirror => {
                let twice = index.rem_euclid(2 * length);
                twice.min(2 * length - 1 - twice)
            }
        };
        Some(found as u32)
    }
}

/// Returns the face of a cube that a direction hits, and the coordinates on the face from 0 to 1 (PTX ISA §9.7.9,
/// "Cubemap textures").
pub(super) fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, s, t, m) = if ax >= ay && ax >= az {
        match x.is_sign_negative() {
            false => (0, -z, -y, ax),
            true => (1, z, -y, ax),
        }
    } else if ay >= az {
        match y.is_sign_negative() {
            false => (2, x, z, ay),
            true => (3, x, -z, ay),
        }
    } else {
        match z.is_sign_negative() {
            false => (4, x, -y, az),
            true => (5, -x, -y, az),
        }
    };
    (face, [s, t].map(|coordinate| (coordinate / m + 1.0) / 2.0))
}

/// Returns the weights of the eight corners in 256ths, given the shares of the far corners in x, y and z. The index of
/// a corner has a bit for each side.
///
/// The formula is fitted to the results of an H200. The weight of the square's far corner, in x and y or in x and z, is
/// rounded, and the other weights are the remainders. With three sides, y then splits each weight of the square in x
/// and z. A filter with three sides is therefore rounded differently from a filter with two sides, in which z is 0.
fn weights([x, y, z]: [u32; 3]) -> [u32; 8] {
    let square = |a: u32, b: u32| {
        let both = (a * b + 128) >> 8;
        [256 + both - a - b, a - both, b - both, both]
    };
    let mut all = [0; 8];
    if z == 0 {
        all[..4].copy_from_slice(&square(x, y));
        return all;
    }
    for (at, weight) in square(x, z).into_iter().enumerate() {
        let near = (weight * (256 - y) + 128) >> 8;
        let corner = at & 1 | (at & 2) << 1;
        all[corner] = near;
        all[corner | 2] = weight - near;
    }
    all
}

impl TextureDescription {
    /// Returns, for each side, the texels around a point. With [`Filter::Point`], the adjacent texels have a share of
    /// zero, but a gather uses them with either filter.
    fn side_samples(&self, point: &Point, linear: bool) -> [SideSample; 3] {
        let lengths = self.image.sides.lengths();
        let is_cube = matches!(self.image.sides, Sides::Cube(_));
        let is_normalized = self.normalized_coordinates || is_cube;
        [0, 1, 2].map(|side| {
            let length = lengths[side];
            let addressing = match self.addressing[side] {
                _ if is_cube => Addressing::Clamp,
                Addressing::Wrap | Addressing::Mirror if !is_normalized => Addressing::Clamp,
                mode => mode,
            };
            let (index, share) = match point.at {
                Coordinates::Integers(at) => (i64::from(at[side]), 0),
                Coordinates::Floats(at) => {
                    let scale = if is_normalized { length } else { 1 };
                    let at = f64::from(at[side]) * f64::from(scale);
                    match linear {
                        false => (at.floor() as i64, 0),
                        true => {
                            let fixed = (at * 256.0 + 0.5).floor() as i64;
                            let fixed = fixed.saturating_sub(128);
                            (fixed >> 8, (fixed & 255) as u32)
                        }
                    }
                }
            };
            let (index, share) = match side < self.image.sides.count() {
                true => (index.saturating_add(i64::from(point.offsets[side])), share),
                false => (0, 0),
            };
            SideSample {
                index,
                share,
                length: i64::from(length),
                addressing: match self.image.sides {
                    // Texels outside of linear memory are zero.
                    Sides::Linear(_) => Addressing::Border,
                    _ => addressing,
                },
            }
        })
    }

    /// Returns the channels of a texel or of the border, as bits.
    fn texel(&self, memory: &GlobalMemory, at: [Option<u32>; 3], layer: u32) -> [u32; 4] {
        match at {
            [Some(x), Some(y), Some(z)] => self.image.texel(memory, [x, y, z], layer),
            _ if matches!(self.image.sides, Sides::Linear(_)) => [0; 4],
            _ => self.border.map(|color| self.border_bits(color)),
        }
    }

    /// Returns the bits of a channel of the border color, in the same form as the channels that [`Image::texel`]
    /// returns.
    ///
    /// An H200 rounds the color to the nearest number of the format, with ties to the smaller number. For integer
    /// texels, an H200 truncates the color to the lowest bits.
    fn border_bits(&self, color: f32) -> u32 {
        let format = self.image.format;
        let most = (1u64 << (format.bits - u32::from(format.channels == Channels::Signed))) - 1;
        let steps = |least: f64| (f64::from(color).clamp(least, 1.0) * most as f64 - 0.5).ceil();
        match format.channels {
            Channels::Float if format.bits == 16 => half::f16::from_f32(color).to_f32().to_bits(),
            Channels::Float => color.to_bits(),
            Channels::Unsigned if self.normalized_values => steps(0.0) as u32,
            Channels::Signed if self.normalized_values => steps(-1.0) as i32 as u32,
            channels => format.extended(color.to_bits(), channels),
        }
    }

    /// Returns the channels of a texel as numbers, and the number that represents 1.
    fn numbers(&self, memory: &GlobalMemory, at: [Option<u32>; 3], layer: u32) -> ([f64; 4], f64) {
        let format = self.image.format;
        let bits = self.texel(memory, at, layer);
        let most = (1u64 << (format.bits - u32::from(format.channels == Channels::Signed))) - 1;
        let numbers = bits.map(|bits| match format.channels {
            Channels::Float => f64::from(f32::from_bits(bits)),
            Channels::Unsigned => f64::from(bits),
            Channels::Signed => f64::from(bits.cast_signed()).max(-(most as f64)),
        });
        (numbers, if format.channels == Channels::Float { 1.0 } else { most as f64 })
    }

    /// Returns the channels of a texel as numbers in the precision of a filter, which extends 8-bit integers to 16
    /// bits.
    fn filtered(&self, memory: &GlobalMemory, at: [Option<u32>; 3], layer: u32) -> ([f64; 4], f64) {
        let (numbers, one) = self.numbers(memory, at, layer);
        let half = |number: f64| f64::from(number.abs() > 64.0).copysign(number);
        match self.image.format.channels {
            Channels::Unsigned if one == 255.0 => (numbers.map(|number| number * 257.0), 65535.0),
            Channels::Signed if one == 127.0 => (numbers.map(|number| number * 258.0 + half(number)), 32767.0),
            _ => (numbers, one),
        }
    }

    /// Rounds a filter's sum to the filter's precision, which is 16 bits for integers; ties go to the larger number.
    /// `one` is the number that represents 1.0.
    fn rounded(&self, sum: f64, one: f64) -> f32 {
        match self.image.format.channels {
            Channels::Float if self.image.format.bits == 16 => half::f16::from_f64(sum).to_f32(),
            Channels::Float => (sum * (1.0 + f64::EPSILON)) as f32,
            _ => ((sum + 0.5).floor() / one) as f32,
        }
    }

    /// Returns the value at a point: for each channel, an integer or the bits of an f32.
    pub(super) fn fetch(&self, memory: &GlobalMemory, point: &Point) -> [u32; 4] {
        let is_exact = matches!(point.at, Coordinates::Integers(_));
        let linear = self.filter == Filter::Linear && !is_exact;
        let mut samples = self.side_samples(point, linear);
        if !self.is_float() {
            return self.complete(self.texel(memory, samples.map(|sample| sample.texel(false)), point.layer));
        }
        if !linear {
            let (numbers, one) = self.numbers(memory, samples.map(|sample| sample.texel(false)), point.layer);
            return self.complete(numbers.map(|number| ((number / one) as f32).to_bits()));
        }
        let is_row = matches!(self.image.sides, Sides::One(_)) && self.image.layers.is_none();
        if is_row && matches!(samples[0].addressing, Addressing::Border) {
            // A single row is filtered like the lower edge of two rows.
            samples[1] = SideSample { index: -1, share: 128, length: 1, addressing: Addressing::Border };
        }
        let (mut sum, mut unit) = ([0.0; 4], 1.0);
        for (corner, weight) in weights(samples.map(|sample| sample.share)).into_iter().enumerate() {
            if weight == 0 {
                continue;
            }
            let at = [0, 1, 2].map(|side| samples[side].texel(corner >> side & 1 == 1));
            let (numbers, one) = self.filtered(memory, at, point.layer);
            unit = one;
            for (sum, number) in sum.iter_mut().zip(numbers) {
                *sum += f64::from(weight) / 256.0 * number;
            }
        }
        self.complete(sum.map(|sum| self.rounded(sum, unit).to_bits()))
    }

    /// Returns one channel of the four texels that a linear filter would use (PTX ISA §9.7.9.4). The order is lower
    /// left, lower right, upper right, upper left, where y increases downward.
    pub(super) fn gather(&self, memory: &GlobalMemory, point: &Point, channel: usize) -> [u32; 4] {
        let samples = self.side_samples(point, true);
        [(false, true), (true, true), (true, false), (false, false)].map(|(is_right, is_lower)| {
            let at = [samples[0].texel(is_right), samples[1].texel(is_lower), Some(0)];
            let found = match self.is_float() {
                true => {
                    let (numbers, one) = self.filtered(memory, at, point.layer);
                    numbers.map(|number| ((number / one) as f32).to_bits())
                }
                false => self.texel(memory, at, point.layer),
            };
            self.complete(found)[channel]
        })
    }

    /// Sets channels that the format lacks to 0, as on an H200.
    fn complete(&self, mut channels: [u32; 4]) -> [u32; 4] {
        channels[self.image.format.count as usize..].fill(0);
        channels
    }
}

impl Image {
    /// Returns the channels of a texel: integers extended to 32 bits, and f16 converted to f32.
    fn texel(&self, memory: &GlobalMemory, [x, y, z]: [u32; 3], layer: u32) -> [u32; 4] {
        let format = self.format;
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..format.bytes() as usize];
        let at = u64::from(x) * bytes.len() as u64;
        memory.read(self.place(at, y, z, layer), bytes);
        let mut channels = [0; 4];
        let parts = bytes.chunks_exact(format.bits as usize / 8);
        for (channel, part) in channels.iter_mut().zip(parts) {
            let mut bits = [0; 4];
            bits[..part.len()].copy_from_slice(part);
            let bits = u32::from_le_bytes(bits);
            *channel = match format.channels {
                Channels::Float if format.bits == 16 => half::f16::from_bits(bits as u16).to_f32().to_bits(),
                channels => format.extended(bits, channels),
            };
        }
        channels
    }
}

impl TexelFormat {
    /// Extends a channel, stored in the lowest bits of a register, to 32 bits.
    fn extended(self, bits: u32, channels: Channels) -> u32 {
        let unused_bits = 32 - self.bits;
        match channels {
            Channels::Signed => (bits << unused_bits).cast_signed().wrapping_shr(unused_bits) as u32,
            _ => bits << unused_bits >> unused_bits,
        }
    }
}
