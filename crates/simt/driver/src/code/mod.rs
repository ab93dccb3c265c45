//! The code images that programs load, and the PTX in them.

pub(crate) mod fatbin;
pub(crate) mod image;
pub(crate) mod merge;
