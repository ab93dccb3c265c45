//! How long a rung would take on a device that is not here.

pub mod sample;
