//! The keys to sort, of each type and kind of data.

use std::cmp::Ordering;

use bytemuck::Pod;
use kernels_gpu::sort::key::Key;

use crate::data::{element, generate};

/// The kinds of data. The first one is the default.
pub(super) const NAMES: &[&str] = &["random", "constant", "sorted", "reversed", "few"];

/// One of every `FEW_EVERY` random keys is a special key.
const FEW_EVERY: u32 = 61;

/// A type of keys and its order on the host.
pub trait SortKey: Key + Pod + Send + Sync {
    /// The name of the type.
    const NAME: &'static str;
    /// The keys for data of the kind `few`: the limits of the type, zeros, and keys that differ in one digit.
    const FEW: &'static [Self];

    /// Returns the order of two keys. Equal keys have equal bits.
    fn order(self, other: Self) -> Ordering;

    /// Returns a key whose ordered bits start with these 32 bits. The remaining bits are computed from these bits.
    fn from_high(high: u32) -> Self;

    /// Returns the key as text for messages.
    fn shown(self) -> String;
}

macro_rules! integers {
    ($($type:ident: $from_high:expr, $few:expr;)*) => {$(
        impl SortKey for $type {
            const NAME: &'static str = stringify!($type);
            const FEW: &'static [Self] = &$few;

            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }

            fn from_high(high: u32) -> Self {
                Self::from_ordered($from_high(high))
            }

            fn shown(self) -> String {
                self.to_string()
            }
        }
    )*};
}

integers! {
    u32: |high| high, [0, 1, 0x100, 0x1_0000, 0x100_0000, u32::MAX];
    i32: |high| high, [i32::MIN, -0x100, -1, 0, 1, 0x100, i32::MAX];
    u64: |high| u64::from(high) << 32 | u64::from(element(high).cast_unsigned()), [0, 1, 0x100, 1 << 32, 1 << 56, u64::MAX];
}

impl SortKey for f32 {
    const NAME: &'static str = "f32";
    const FEW: &'static [Self] =
        &[f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1.5, -1.5, f32::MIN_POSITIVE / 2.0];

    fn order(self, other: Self) -> Ordering {
        self.total_cmp(&other)
    }

    fn from_high(high: u32) -> Self {
        Self::from_ordered(high)
    }

    fn shown(self) -> String {
        format!("{self} ({:#010x})", self.to_bits())
    }
}

/// Returns `n` keys of a kind in [`NAMES`].
pub(super) fn generate_keys<K: SortKey>(n: u64, kind: &str) -> Vec<K> {
    let random = |index: u32| element(index).cast_unsigned();
    let few = |index: u32| K::FEW[random(index) as usize % K::FEW.len()];
    // The keys are spread over the whole range.
    let ascending = |index: u32| K::from_high(((u64::from(index) << 32) / n) as u32);
    match kind {
        "constant" => generate(n, |_| K::from_high(random(0))),
        "sorted" => generate(n, ascending),
        "reversed" => generate(n, |index| ascending(n as u32 - 1 - index)),
        "few" => generate(n, few),
        _ => generate(n, |index| if index % FEW_EVERY == 0 { few(index) } else { K::from_high(random(index)) }),
    }
}
