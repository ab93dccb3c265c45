//! Tests of the driver's functions, called as a program calls them.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod captures;
mod copies;
mod devices;
mod executables;
mod fuzz;
mod graphs;
mod images;
mod launches;
mod linking;
mod memory;
mod nothing;
mod occupancy;
mod pools;
mod simulations;
mod streams;
mod structs;
mod support;
mod tensor_maps;
mod textures;
mod virtual_memory;
