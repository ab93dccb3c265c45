//! Two- and three-dimensional copies between memory and arrays.

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::array::Array;
use crate::gpu::copy::{Copy, Side, Space};
use crate::gpu::ranges;

/// `CUmemorytype`.
const HOST: u32 = 1;
pub(crate) const DEVICE: u32 = 2;
pub(crate) const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// One side of a `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Operand {
    pub(crate) x_bytes: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    pub(crate) level: usize,
    /// `CUmemorytype`.
    pub(crate) kind: u32,
    pub(crate) host: u64,
    pub(crate) device: u64,
    pub(crate) array: Handle,
    /// The context, in a `CUDA_MEMCPY3D_PEER`; unused in a `CUDA_MEMCPY3D`.
    pub(crate) context: Handle,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Memcpy3d {
    pub(crate) from: Operand,
    pub(crate) to: Operand,
    pub(crate) width_bytes: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// One side of a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Operand2d {
    x_bytes: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Memcpy2d {
    from: Operand2d,
    to: Operand2d,
    width_bytes: usize,
    height: usize,
}

impl From<Operand2d> for Operand {
    fn from(operand: Operand2d) -> Self {
        let Operand2d { x_bytes, y, kind, host, device, array, pitch } = operand;
        Self { x_bytes, y, kind, host, device, array, pitch, ..Self::default() }
    }
}

impl From<Memcpy2d> for Memcpy3d {
    fn from(params: Memcpy2d) -> Self {
        let Memcpy2d { from, to, width_bytes, height } = params;
        Self { from: from.into(), to: to.into(), width_bytes, height, depth: 1 }
    }
}

/// Returns `a * b + c`, or `CUDA_ERROR_INVALID_VALUE` when it overflows.
fn product_and(a: usize, b: usize, c: usize) -> Result<usize> {
    a.checked_mul(b).and_then(|product| product.checked_add(c)).ok_or_else(|| Code::INVALID_VALUE.into())
}

impl Operand {
    /// Returns an operand for a position in an array. The position along x is in bytes.
    pub(crate) fn of_array(array: Handle, [x_bytes, y, z]: [usize; 3]) -> Self {
        Self { x_bytes, y, z, kind: ARRAY, array, ..Self::default() }
    }

    /// Returns an operand for memory that an address fully describes.
    pub(crate) fn of_address(device: u64, pitch: usize, height: usize) -> Self {
        Self { kind: UNIFIED, device, pitch, height, ..Self::default() }
    }

    /// Returns the operand as one side of a copy of `width` bytes, `height` rows and `depth` slices, and the required
    /// memory space.
    fn side(&self, [width, height, depth]: [usize; 3]) -> Result<(Side, Space)> {
        let (base, space) = match self.kind {
            HOST => (self.host, Space::Host),
            DEVICE => (self.device, Space::Device),
            UNIFIED => (self.device, Space::Either),
            ARRAY => {
                let array = Array::of(self.array)?;
                if self.level != 0 {
                    return Err(Error::new(
                        Code::INVALID_VALUE,
                        "the mipmap level must be 0; to copy another level, pass its array",
                    ));
                }
                let begin = [self.x_bytes, self.y, self.z].map(|at| at as u64);
                let extent = [width, height, depth].map(|length| length as u64);
                return Ok((array.side(begin, extent)?, Space::Device));
            }
            _ => return Err(Code::INVALID_VALUE.into()),
        };
        let (row, rows) = (product_and(width, 1, self.x_bytes)?, product_and(height, 1, self.y)?);
        let or = |given: usize, least: usize| match given {
            0 => Ok(least),
            _ if given >= least => Ok(given),
            _ => Err(Error::new(
                Code::INVALID_VALUE,
                format!("a pitch or height of {given} is less than the {least} copied"),
            )),
        };
        let (pitch, height) = (or(self.pitch, row)?, or(self.height, rows)?);
        if base == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let rows = product_and(self.z, height, self.y)?;
        let begin = product_and(rows, pitch, self.x_bytes)?;
        let address = base.checked_add(begin as u64).ok_or(Code::INVALID_VALUE)?;
        let slice = product_and(pitch, height, 0)? as u64;
        Ok((Side { address, pitch: pitch as u64, slice }, space))
    }
}

/// Reads and checks a copy that a program requests.
///
/// # Errors
/// Returns `CUDA_ERROR_INVALID_VALUE` when a pitch or height is too small, a kind of memory or an array does not exist,
/// or the copy extends beyond an array or an allocation.
pub(crate) fn read(params: &Memcpy3d) -> Result<Copy> {
    let extent = [params.width_bytes, params.height, params.depth];
    let (kinds, known) = ([params.from.kind, params.to.kind], HOST..=UNIFIED);
    if extent.contains(&0) && kinds.iter().all(|kind| known.contains(kind)) {
        return Ok(Copy::row(0, 0, 0));
    }
    let ((from, from_space), (to, to_space)) = (params.from.side(extent)?, params.to.side(extent)?);
    let [bytes, rows, slices] = extent.map(|length| length as u64);
    let copy = Copy { from, to, bytes, rows, slices };
    copy.check(from_space, to_space)?;
    Ok(copy)
}

/// Describes a copy by the addresses of its memory.
pub(crate) fn describe(copy: &Copy) -> Memcpy3d {
    let Copy { from, to, bytes, rows, slices } = *copy;
    let [width_bytes, height, depth] = [bytes, rows, slices].map(|length| length as usize);
    let operand = |Side { address, pitch, slice }: Side| {
        let is_device = ranges::range_of(address).is_some_and(|range| !range.kind.is_host());
        let (kind, host, device) = if is_device { (DEVICE, 0, address) } else { (HOST, address, 0) };
        let height = slice.checked_div(pitch).unwrap_or_default() as usize;
        Operand { kind, host, device, pitch: pitch as usize, height, ..Operand::default() }
    };
    Memcpy3d { from: operand(from), to: operand(to), width_bytes, height, depth }
}
