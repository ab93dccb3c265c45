//! The two vectors that [`thread`](crate::thread)'s functions return.
//!
//! Upstream re-exports the crate `glam` under this name and returns its `UVec2` and `UVec3`. Kernels
//! read the fields `x`, `y` and `z` and little else, so these are just that: types of the same name
//! and path, without a large dependency to build for the device.

/// A vector of two `u32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct UVec2 {
    /// The first component.
    pub x: u32,
    /// The second component.
    pub y: u32,
}

impl UVec2 {
    /// (0, 0).
    pub const ZERO: Self = Self::new(0, 0);

    /// The vector (`x`, `y`).
    #[inline(always)]
    pub const fn new(x: u32, y: u32) -> Self {
        Self { x, y }
    }

    /// The components as an array.
    #[inline(always)]
    pub const fn to_array(&self) -> [u32; 2] {
        [self.x, self.y]
    }
}

/// A vector of three `u32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct UVec3 {
    /// The first component.
    pub x: u32,
    /// The second component.
    pub y: u32,
    /// The third component.
    pub z: u32,
}

impl UVec3 {
    /// (0, 0, 0).
    pub const ZERO: Self = Self::new(0, 0, 0);

    /// The vector (`x`, `y`, `z`).
    #[inline(always)]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// The components as an array.
    #[inline(always)]
    pub const fn to_array(&self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    /// `x * y * z`: how many threads a block, or blocks a grid, of this shape has.
    #[inline(always)]
    pub const fn element_product(self) -> u32 {
        self.x * self.y * self.z
    }
}
