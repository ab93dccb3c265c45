//! The bytes to count.

use std::fs::File;
use std::io::Read as _;

use engine::Error;

/// The names of the made-up bytes.
pub(super) const NAMES: [&str; 3] = ["uniform", "skewed", "constant"];

/// Where the bytes come from.
pub(super) enum Data {
    /// Byte by byte from its index, the same on every machine.
    MadeUp(fn(u32) -> u8),
    /// A file's.
    File(Vec<u8>),
}

impl Data {
    /// The bytes of this name: one of [`NAMES`], or a file, of which no more than `most` are read.
    ///
    /// # Errors
    /// [`Error::Unreadable`] for a file that cannot be read.
    pub(super) fn named(name: &str, most: u64) -> Result<Self, Error> {
        let made: [fn(u32) -> u8; 3] = [uniform, skewed, |_| 0x41];
        if let Some(place) = NAMES.iter().position(|own| *own == name) {
            return Ok(Self::MadeUp(made[place]));
        }
        let mut bytes = Vec::new();
        File::open(name)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(|error| Error::Unreadable {
                option: "data",
                path: name.to_owned(),
                why: error.to_string(),
                takes: "uniform, skewed, constant or the path of a file",
            })?;
        Ok(Self::File(bytes))
    }
}

/// All values as often, in no order.
fn uniform(index: u32) -> u8 {
    (mixed(index) >> 24) as u8
}

/// Half of the bytes are 0, a quarter 1, an eighth 2: each value half as often as the one before.
fn skewed(index: u32) -> u8 {
    mixed(index).leading_zeros() as u8
}

/// The finalizer of MurmurHash3 (Appleby, public domain).
fn mixed(index: u32) -> u32 {
    crate::ladders::reduce::element(index).cast_unsigned()
}
