//! NVIDIA's tools, for every program of this workspace: the resource usage that `ptxas` reports for a kernel, and the
//! machine code that it makes. The crate `locate` finds the tools.
//!
//! ```no_run
//! use toolkit::{Tool, ptxas};
//!
//! # fn main() -> Result<(), toolkit::Error> {
//! let assembler = toolkit::find(Tool::Ptxas)?;
//! let text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n";
//! let usages = ptxas::usages(&assembler, text, "sm_90")?;
//! println!("{} registers", usages["nothing"].registers);
//! # Ok(())
//! # }
//! ```

pub mod access;
mod error;
pub mod ptxas;
pub mod usage;

pub use error::Error;
pub use locate::nvidia::{Found, Tool, Unavailable};
pub use usage::Usage;

/// Looks for a tool, as [`locate::nvidia::find`] does.
///
/// # Errors
/// [`Error::Unavailable`] when there is none, and when those that were found cannot be used.
pub fn find(tool: Tool) -> Result<Found, Error> {
    locate::nvidia::find(tool).map_err(Error::from)
}
