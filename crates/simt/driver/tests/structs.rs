//! Structs of `cuda.h` that the tests pass to the driver.

use super::support::Handle;

/// One side of a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Side {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    pub(crate) level: usize,
    pub(crate) kind: u32,
    pub(crate) host: u64,
    pub(crate) device: u64,
    pub(crate) array: Handle,
    pub(crate) reserved: usize,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Memcpy3d {
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) extent: [usize; 3],
}

/// `CUmemorytype`.
pub(crate) const HOST: u32 = 1;
pub(crate) const DEVICE: u32 = 2;
pub(crate) const ARRAY: u32 = 3;
pub(crate) const UNIFIED: u32 = 4;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub(crate) sides: [usize; 3],
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Resource {
    pub(crate) kind: u32,
    pub(crate) words: [u64; 16],
    pub(crate) flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Sampling {
    pub(crate) addressing: [u32; 3],
    pub(crate) filter: u32,
    pub(crate) flags: u32,
    pub(crate) anisotropy: u32,
    pub(crate) level_filter: u32,
    pub(crate) levels: [f32; 3],
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [i32; 12],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct View {
    pub(crate) format: u32,
    pub(crate) sides: [usize; 3],
    pub(crate) levels: [u32; 2],
    pub(crate) layers: [u32; 2],
    pub(crate) reserved: [u32; 16],
}

/// `CUmemLocation`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Location {
    pub(crate) kind: u32,
    pub(crate) id: i32,
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Access {
    pub(crate) location: Location,
    pub(crate) flags: u32,
}

/// `CUmemAllocationProp`, which is also the start of `CUmemPoolProps`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct Props {
    pub(crate) kind: u32,
    pub(crate) handle_types: u32,
    pub(crate) location: [i32; 2],
    pub(crate) security: usize,
    pub(crate) max_bytes: usize,
    pub(crate) rest: [u64; 7],
}
