//! The driver's functions, called as programs call them.

mod captures;
mod devices;
mod graphs;
mod occupancy;
mod streams;
mod support;
