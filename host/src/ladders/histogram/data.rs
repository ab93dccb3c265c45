//! The bytes that the histogram counts.

use std::fs::File;
use std::io::Read as _;

use engine::Error;

use crate::data::element;

/// The names of the generated data sets.
pub(super) const NAMES: [&str; 3] = ["uniform", "skewed", "constant"];

pub(super) enum Data {
    /// Generated from each byte's index, and the same on every computer.
    Generated(fn(u32) -> u8),
    /// Read from a file.
    File(Vec<u8>),
}

impl Data {
    /// Returns the data set with this name: generated for one of [`NAMES`], or else up to `most` bytes of the file at
    /// this path.
    ///
    /// # Errors
    /// Returns [`Error::BadValue`] when the file cannot be read.
    pub(super) fn named(name: &str, most: u64) -> Result<Self, Error> {
        let generated: [fn(u32) -> u8; 3] = [uniform, skewed, |_| 0x41];
        if let Some(place) = NAMES.iter().position(|known| *known == name) {
            return Ok(Self::Generated(generated[place]));
        }
        let mut bytes = Vec::new();
        File::open(name).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(|error| {
            Error::BadValue(format!(
                "cannot read {name}: {error}; --data must be uniform, skewed, constant or the path of a file"
            ))
        })?;
        Ok(Self::File(bytes))
    }
}

/// Returns bytes in random order, with all values equally frequent.
fn uniform(index: u32) -> u8 {
    (mixed(index) >> 24) as u8
}

/// Returns skewed bytes: half are 0, a quarter are 1, an eighth are 2, and so on.
fn skewed(index: u32) -> u8 {
    mixed(index).leading_zeros() as u8
}

/// Applies the finalizer of MurmurHash3 (Appleby, public domain).
fn mixed(index: u32) -> u32 {
    element(index).cast_unsigned()
}
