//! The instructions of PTX as one table, `instructions.txt`: their modifiers, operands and classes, and the PTX version
//! and target that each needs.
//!
//! The table lists the instructions that `ptxas` accepts. The simulator decides which of these instructions it runs.

mod class;
mod expected;
mod matching;
mod needs;
mod registers;
mod table;

pub use class::Class;
pub use expected::{Expected, Kind, Predicate, is_type};
pub use matching::{class, find};
pub use needs::{Needs, Reach, Target};
pub use registers::Registers;
pub use table::{Row, Slot, names, rows, sets};
