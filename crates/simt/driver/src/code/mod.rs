//! The images that programs give the driver as code, and the PTX in them.

pub(crate) mod fatbin;
pub(crate) mod image;
pub(crate) mod merge;
