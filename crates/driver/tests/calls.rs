//! The driver's functions, called as programs call them.

mod captures;
mod graphs;
mod streams;
mod support;
