//! The driver's functions, called as programs call them.

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
