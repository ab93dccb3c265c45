//! Explanations of launches for people, as a page, JSON or CSV. An explanation shows the work of each kernel of a
//! program, the reasons for its time, and the optimizations that help.
//!
//! - [`Report`] runs the launches of a program, and writes their explanations by [`profile`] to a file. simt's driver
//!   (`LADDER_PROFILE`) and tests (`SIMT_TEST_REPORT`) use it.
//! - [`LaunchRecord`] is an explained launch as data; [`words`] formats a verdict in sentences.
//! - [`figures`] and [`svg`] draw the figures of [`profile::figures`], with the texts of [`sources`].
//!
//! This crate must not know about ladders, drivers or terminals.

mod csv;
pub mod figures;
pub mod files;
mod launch;
pub mod page;
mod program;
pub mod sources;
pub mod svg;
pub mod text;
pub mod words;

pub use launch::LaunchRecord;
pub use program::{Form, Report, UsageOf, at_exit, run};
