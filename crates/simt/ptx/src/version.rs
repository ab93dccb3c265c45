//! The versions of PTX that there are.

/// The last minor version of each major version, from 1 on (PTX ISA §13, "Release Notes").
const LAST_MINOR: [u32; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 5];

/// The newest version, as major and minor number: that of CUDA 13.5.
pub const NEWEST: (u32, u32) = (LAST_MINOR.len() as u32, LAST_MINOR[LAST_MINOR.len() - 1]);

/// Whether there is a version of this major and minor number, up to [`NEWEST`].
#[must_use]
pub fn exists((major, minor): (u32, u32)) -> bool {
    LAST_MINOR.get((major as usize).wrapping_sub(1)).is_some_and(|last| minor <= *last)
}
