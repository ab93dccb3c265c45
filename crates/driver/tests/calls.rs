//! The driver's functions, called as programs call them.

mod captures;
mod devices;
mod executables;
mod graphs;
mod occupancy;
mod streams;
mod support;
