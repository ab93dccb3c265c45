//! Launches explained for people: a page, JSON or CSV of what each kernel of a program did, why it takes its time, and what helps.
//!
//! - [`Report`] runs the launches of a program, and writes what [`profile`] explains of them to a file. The simulated driver
//!   (`LADDER_PROFILE`) and tests (`SIMT_TEST_REPORT`) use it.
//! - [`LaunchRecord`] is an explained launch as data; [`words`] are a verdict's sentences.
//! - [`figures`] and [`svg`] draw what [`profile::figures`] describe, with the texts of [`sources`].
//!
//! This crate must not know ladders, drivers or terminals.

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
