//! The driver's functions, called as programs call them.

mod devices;
mod occupancy;
mod support;
