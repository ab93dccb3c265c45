//! NVIDIA's tools, for all programs of this workspace: the resource usage that `ptxas` reports for a kernel, and the
//! machine code that it generates. The crate `locate` finds the tools.
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

/// Looks for a tool in the same way as [`locate::nvidia::find`].
///
/// # Errors
/// Returns [`Error::Unavailable`] when no tool is found, or when no found tool can be used.
pub fn find(tool: Tool) -> Result<Found, Error> {
    locate::nvidia::find(tool).map_err(Error::from)
}
