//! Copies of up to three dimensions as `cuda.h` describes them.

use crate::copy::{Copy, Side, Space};
use crate::error::{Code, Error, Result};
use crate::handles::Handle;
use crate::memory::{self, Kind};

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// One side of a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Side3d {
    x_bytes: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    reserved: usize,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Copy3d {
    from: Side3d,
    to: Side3d,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

impl Side3d {
    /// The side of a copy of so many bytes, rows and slices.
    fn side(&self, [bytes, rows, slices]: [usize; 3]) -> Result<(Side, Space)> {
        let (address, space) = match self.kind {
            HOST => (self.host, Space::Host),
            DEVICE => (self.device, Space::Device),
            UNIFIED => (self.device, Space::Either),
            ARRAY => return Err(Error::new(Code::NOT_SUPPORTED, "copies of arrays here")),
            _ => return Err(Code::INVALID_VALUE.into()),
        };
        let row = bytes.checked_add(self.x_bytes).ok_or(Code::INVALID_VALUE)?;
        let pitch = if self.pitch == 0 { row } else { self.pitch };
        let height = if self.height == 0 { rows } else { self.height };
        if address == 0 || pitch < row || (slices > 1 && height < rows) {
            return Err(Error::new(
                Code::INVALID_VALUE,
                "a null address, or a pitch or height smaller than what is copied",
            ));
        }
        let offset = self.z.checked_mul(height).and_then(|row| row.checked_add(self.y));
        let offset = offset.and_then(|row| row.checked_mul(pitch)).and_then(|at| at.checked_add(self.x_bytes));
        let address = offset.and_then(|offset| address.checked_add(offset as u64)).ok_or(Code::INVALID_VALUE)?;
        let slice = pitch.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
        let side = Side { address, pitch: pitch as u64, slice: slice as u64 };
        Ok((side, space))
    }

    /// The description of the side of a copy of so many bytes in a row.
    fn of(side: Side, bytes: u64) -> Self {
        let is_device = memory::range_of(side.address).is_some_and(|range| range.kind != Kind::Host);
        let (host, device) = if is_device { (0, side.address) } else { (side.address, 0) };
        let is_plain = side.pitch == 0 || side.pitch == bytes;
        let pitch = if is_plain { 0 } else { side.pitch as usize };
        let height = side.slice.checked_div(pitch as u64).unwrap_or_default() as usize;
        Self { kind: if is_device { DEVICE } else { HOST }, host, device, pitch, height, ..Self::default() }
    }
}

impl Copy3d {
    /// The copy, checked: `CUDA_ERROR_INVALID_VALUE` for one of nothing, or beyond an allocation.
    pub(crate) fn copy(&self) -> Result<Copy> {
        let extent = [self.width_bytes, self.height, self.depth];
        if extent.contains(&0) {
            return Err(Error::new(Code::INVALID_VALUE, "a copy of no bytes"));
        }
        let ((from, from_space), (to, to_space)) = (self.from.side(extent)?, self.to.side(extent)?);
        let [bytes, rows, slices] = extent.map(|side| side as u64);
        let copy = Copy { from, to, bytes, rows, slices };
        copy.check(from_space, to_space)?;
        Ok(copy)
    }

    /// The description of a copy.
    pub(crate) fn of(copy: &Copy) -> Self {
        let Copy { from, to, bytes, rows, slices } = *copy;
        let [width_bytes, height, depth] = [bytes, rows, slices].map(|side| side as usize);
        Self { from: Side3d::of(from, bytes), to: Side3d::of(to, bytes), width_bytes, height, depth }
    }
}
