//! The existing versions of PTX.

/// The last minor version of each major version, starting at 1 (PTX ISA §13, "Release Notes").
const LAST_MINOR: [u32; 9] = [5, 3, 2, 3, 0, 5, 8, 8, 5];

/// The newest version, as major and minor number: the version of CUDA 13.5.
pub const NEWEST: (u32, u32) = (LAST_MINOR.len() as u32, LAST_MINOR[LAST_MINOR.len() - 1]);

/// Returns whether a version with this major and minor number exists, up to [`NEWEST`].
#[must_use]
pub fn exists((major, minor): (u32, u32)) -> bool {
    LAST_MINOR.get((major as usize).wrapping_sub(1)).is_some_and(|last| minor <= *last)
}
