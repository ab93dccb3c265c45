//! The correct elements of a row in double precision, and the bound on the error. The ladder's documentation derives
//! the bound.

/// The operation on each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Softmax,
    RmsNorm,
}

/// The unit roundoff of f32.
const U: f64 = f32::EPSILON as f64 / 2.0;

/// The error of an element if its weight or its factor is an exponential below 2^-126, which the device flushes to 0.
const FLUSHED: f64 = 2.0 * f32::MIN_POSITIVE as f64;

/// The error of a subnormal product.
const SUBNORMAL: f64 = 8.0 * 1.4e-45;

/// A factor for the terms of second order and the roundings of the reference.
const SLACK: f64 = 1.01;

/// The values from which all elements of a row are computed.
pub(super) enum Reference {
    /// Every element is NaN.
    Nan,
    /// The maximum, the sum of the exponentials, and its relative error in units of [`U`].
    Softmax { max: f64, sum: f64, error: f64 },
    /// The smallest and the largest reciprocal root that f32 can yield, and the relative error of the elements. A
    /// reciprocal root is 0 if the sum of the squares overflows.
    RmsNorm { factors: [f64; 2], error: f64 },
}

/// An element, with the smallest and the largest value that the bound allows before rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) right: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
}

impl Reference {
    /// Computes the reference of a row. Each of its elements goes through at most `additions` additions.
    pub(super) fn new(op: Op, row: &[f64], additions: f64) -> Self {
        if row.iter().any(|x| x.is_nan()) {
            return Self::Nan;
        }
        match op {
            Op::Softmax => Self::softmax(row, additions),
            Op::RmsNorm => Self::rms_norm(row, additions),
        }
    }

    fn softmax(row: &[f64], additions: f64) -> Self {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if max.is_infinite() {
            return Self::Nan;
        }
        let (mut sum, mut distances) = (0.0, 0.0);
        for &x in row.iter().filter(|x| x.is_finite()) {
            let exponential = (x - max).exp();
            sum += exponential;
            distances += exponential * (max - x);
        }
        Self::Softmax { max, sum, error: 4.0 + 6.0 * additions + 3.0 * distances / sum }
    }

    fn rms_norm(row: &[f64], additions: f64) -> Self {
        let epsilon = f64::from(kernels_gpu::softmax::row::EPSILON);
        let squares: f64 = row.iter().map(|x| x * x).sum();
        let error = SLACK * (additions / 2.0 + 6.0) * U;
        let factor = (squares / row.len() as f64 + epsilon).sqrt().recip();
        let overflow = |sum: f64| if sum > f64::from(f32::MAX) { 0.0 } else { factor };
        let width = 1.0 + SLACK * (additions + 1.0) * U;
        Self::RmsNorm { factors: [squares * width, squares / width].map(overflow), error }
    }

    /// Returns the expected element for the input `x` and its weight.
    pub(super) fn expected(&self, x: f64, weight: f64) -> Expected {
        let exact = |right| Expected { right, least: right, greatest: right };
        match *self {
            Self::Nan => exact(f64::NAN),
            Self::Softmax { .. } if x == f64::NEG_INFINITY => exact(0.0),
            Self::Softmax { max, sum, error } => {
                let right = (x - max).exp() / sum;
                let error_bound = right * SLACK * (error + 11.0 + 3.0 * (max - x)) * U + FLUSHED;
                // An exponential that is 0 has no further error, however far the element is from the maximum.
                let error_bound = if right == 0.0 { FLUSHED } else { error_bound };
                Expected { right, least: (right - error_bound).max(0.0), greatest: right + error_bound }
            }
            Self::RmsNorm { factors, error } => {
                // The product of an infinity and 0 is NaN.
                let [first, second] = factors.map(|factor| x * factor * weight);
                let error_bound = first.abs().max(second.abs()) * error + SUBNORMAL;
                let error_bound = if first == 0.0 && second == 0.0 { 0.0 } else { error_bound };
                Expected {
                    right: second,
                    least: first.min(second) - error_bound,
                    greatest: first.max(second) + error_bound,
                }
            }
        }
    }
}
