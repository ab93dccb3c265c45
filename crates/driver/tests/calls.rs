//! The driver's functions, called as programs call them.

#![allow(clippy::unwrap_used, reason = "a test ends where there is no value")]

mod copies;
mod devices;
mod linking;
mod memory;
mod occupancy;
mod pools;
mod structs;
mod support;
mod tensor_maps;
mod textures;
mod virtual_memory;
