//! NVIDIA's GPUs as data: a [`Description`] of each known GPU, the [`Limits`] of the multiprocessors of each compute
//! capability, and the resulting [`occupancy`].
//!
//! The inputs are the names of devices and architectures, and files that describe devices. The outputs are figures. The
//! source of each figure is in a TOML file: `known/*.toml` and `src/limits.toml`.
//!
//! The crate must not know what the figures are used for: predictions, kernels or the CUDA driver.

mod description;
mod error;
mod limits;
pub mod occupancy;
mod timing;

pub use description::{Board, Description, L2, Memory, Multiprocessor};
pub use error::Error;
pub use limits::{Limits, WARP};
pub use timing::{Latencies, Rates};

/// Parses the table of a TOML file that is compiled into this program.
///
/// # Panics
/// Panics when the text is not such a table. Tests read every file.
fn embedded<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))
}
