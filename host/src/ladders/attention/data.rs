//! The elements of Q, K and V.

use half::{bf16, f16};

use crate::data::{element, generate};

/// The kinds of data, as the option names them.
pub(super) const DATA: &[&str] = &["normal", "uniform", "special", "constant"];

/// The kind of data in the tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Sums of four uniform numbers, with a mean of 0 and a variance of 1.
    Normal,
    /// Numbers from -1 to 1.
    Uniform,
    /// Scores that are exact and far apart, and special numbers in V.
    Special,
    /// Equal elements.
    Constant,
}

impl Data {
    /// Returns the kind of data named `name`, one of [`DATA`].
    pub(super) fn named(name: &str) -> Self {
        match name {
            "uniform" => Self::Uniform,
            "special" => Self::Special,
            "constant" => Self::Constant,
            _ => Self::Normal,
        }
    }

    /// Returns whether an f32 sum of products of Q and K is exact in any order.
    pub(super) fn has_exact_scores(self) -> bool {
        matches!(self, Self::Special | Self::Constant)
    }
}

/// A 16-bit floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Bf16,
    F16,
}

impl Format {
    /// Returns the bits of the nearest number, ties to even. Numbers beyond the largest finite one become infinity.
    pub(super) fn encode(self, value: f64) -> u16 {
        match self {
            Self::Bf16 => bf16::from_f64(value).to_bits(),
            Self::F16 => f16::from_f64(value).to_bits(),
        }
    }

    /// Returns the number with these bits.
    pub(super) fn decode(self, bits: u16) -> f64 {
        match self {
            Self::Bf16 => bf16::from_bits(bits).to_f64(),
            Self::F16 => f16::from_bits(bits).to_f64(),
        }
    }

    /// Returns the maximum rounding errors: relative for normal numbers, and absolute for other numbers.
    pub(super) fn roundoff(self) -> [f64; 2] {
        match self {
            Self::Bf16 => [2f64.powi(-8), 2f64.powi(-134)],
            Self::F16 => [2f64.powi(-11), 2f64.powi(-25)],
        }
    }

    /// Returns the special numbers in V.
    fn specials(self) -> [f64; 6] {
        let (least, normal, large) = match self {
            Self::Bf16 => (2f64.powi(-133), 2f64.powi(-126), 2f64.powi(100)),
            Self::F16 => (2f64.powi(-24), 2f64.powi(-14), 2f64.powi(15)),
        };
        [0.0, -0.0, least, -normal, large, -large]
    }
}

/// The three tensors. Each is generated from separate pseudo-random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tensor {
    Q,
    K,
    V,
}

/// Returns the bits of `count` elements of a tensor.
pub(super) fn tensor(tensor: Tensor, format: Format, data: Data, count: u64) -> Vec<u16> {
    let salt = [0, 0x3c6e_f372, 0x78dd_e6e4][tensor as usize];
    let uniform = |at: u32| f64::from(element(at)) / f64::from(1u32 << 31);
    generate(count, |index| {
        let at = index ^ salt;
        let random = element(at).cast_unsigned();
        format.encode(match data {
            Data::Uniform => uniform(at),
            // A uniform number has a variance of 1/3.
            Data::Normal => {
                let sum: f64 = [0, 0x5851_f42d, 0x1405_7b7e, 0x2545_f491].map(|salt| uniform(at ^ salt)).iter().sum();
                sum * 0.75f64.sqrt()
            }
            Data::Special if tensor == Tensor::V => match random % 16 {
                place @ 0..6 => format.specials()[place as usize],
                _ => uniform(at),
            },
            // Multiples of 2, up to 8. Products are multiples of 4, up to 64, and their sums are below 2^24.
            Data::Special => match random >> 8 & 15 {
                0 => -0.0,
                place => f64::from((place as i32 - 8) / 2 * 2),
            },
            Data::Constant => [0.5, 0.25, -0.75][tensor as usize],
        })
    })
}
