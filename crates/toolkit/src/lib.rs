//! NVIDIA's tools, for every program of this workspace: where they are, what `ptxas` says of a kernel, and
//! what is in the machine code that it makes.
//!
//! Nothing is installed here: `cargo xtask setup --nvidia` does that, into a folder that [`find`] looks in
//! first.
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
mod find;
pub mod ptxas;
pub mod usage;

pub use error::Error;
pub use find::{Found, RELEASE, Tool, find, folder, target};
pub use usage::Usage;
