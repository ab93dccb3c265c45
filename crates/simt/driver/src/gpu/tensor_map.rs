//! Tensor maps: descriptions of tensors and tiles for kernels with bulk copies.

use simt::{Im2col, Swizzle, TensorElement, TensorMap};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::gpu::state::driver;

/// `CUtensorMap`: 128 bytes in a format private to the driver.
type Encoded = [u8; 128];

/// The maximum number of dimensions of a tensor.
const MOST: u32 = 5;
/// The alignment of a map in bytes.
const MAP_ALIGN: usize = 64;

/// The description of a tensor in the terms of `cuda.h`.
struct Description {
    element: u32,
    rank: u32,
    address: u64,
    sizes: In<u64>,
    strides: In<u64>,
    steps: In<u32>,
    /// `CUtensorMapInterleave`.
    interleave: u32,
    /// `CUtensorMapSwizzle`.
    swizzle: u32,
    /// `CUtensorMapL2promotion`.
    promotion: u32,
    /// `CUtensorMapFloatOOBfill`.
    fill: u32,
}

impl Description {
    /// Returns a map whose tile is one element.
    fn read(&self) -> Result<TensorMap> {
        let invalid = |what: &str| Err(Error::new(Code::INVALID_VALUE, what.to_owned()));
        if !(1..=MOST).contains(&self.rank) {
            return invalid("a tensor map must have 1 to 5 dimensions");
        }
        if self.element > 15 || self.interleave > 2 || self.swizzle > 6 || self.promotion > 3 || self.fill > 1 {
            return invalid("the tensor map has an invalid data type or mode");
        }
        let Some(element) = TensorElement::ALL.get(self.element as usize).copied() else {
            return Err(Error::new(Code::NOT_SUPPORTED, "tensor maps of 4-bit or 6-bit elements are not supported"));
        };
        if self.interleave != 0 {
            return Err(Error::new(Code::NOT_SUPPORTED, "tensor maps with interleaved channels are not supported"));
        }
        let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
        let Some(swizzle) = swizzles.get(self.swizzle as usize).copied() else {
            return Err(Error::new(
                Code::NOT_SUPPORTED,
                "tensor maps with 32-byte or 64-byte swizzle atoms are not supported",
            ));
        };
        if self.address == 0 {
            return invalid("the address of the tensor is null");
        }
        let rank = self.rank as usize;
        Ok(TensorMap {
            element,
            address: self.address,
            sizes: self.sizes.all(rank)?,
            strides: self.strides.all(rank - 1)?,
            tile: vec![1; rank],
            steps: self.steps.all(rank)?,
            swizzle,
            nan: self.fill != 0,
        })
    }
}

/// Writes an encoded map, or returns the error.
fn write(to: Out<Encoded>, encoded: std::result::Result<Encoded, String>) -> Result<()> {
    let encoded = encoded.map_err(|problem| Error::new(Code::INVALID_VALUE, problem))?;
    to.set(encoded)
}

/// Returns an error when the place for a map is null or misaligned.
fn check_place(map: Out<Encoded>) -> Result<()> {
    driver()?;
    map.check()?;
    match map.as_ptr().addr().is_multiple_of(MAP_ALIGN) {
        true => Ok(()),
        false => Err(Error::new(Code::INVALID_VALUE, "a tensor map must be aligned to 64 bytes")),
    }
}

functions! {
    fn cuTensorMapEncodeTiled(
        map: Out<Encoded>, element: u32, rank: u32, address: u64, sizes: In<u64>, strides: In<u64>, tile: In<u32>,
        steps: In<u32>, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    ) {
        check_place(map)?;
        let description =
            Description { element, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill };
        let described = description.read()?;
        let tile = tile.all(rank as usize)?;
        write(map, TensorMap { tile, ..described }.encode())
    }

    fn cuTensorMapEncodeIm2col(
        map: Out<Encoded>, element: u32, rank: u32, address: u64, sizes: In<u64>, strides: In<u64>, lower: In<i32>,
        upper: In<i32>, channels: u32, pixels: u32, steps: In<u32>, interleave: u32, swizzle: u32, promotion: u32,
        fill: u32,
    ) {
        check_place(map)?;
        let description =
            Description { element, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill };
        let described = description.read()?;
        let corners = (rank as usize).saturating_sub(2);
        let im2col = Im2col { lower: lower.all(corners)?, upper: upper.all(corners)?, channels, pixels };
        write(map, described.encode_im2col(&im2col))
    }

    fn cuTensorMapReplaceAddress(map: Out<Encoded>, address: u64) {
        check_place(map)?;
        if address == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        // SAFETY: the place is not null and is aligned, which `check_place` ensures, and `cuda.h` requires that it
        // holds a map.
        let mut bytes = unsafe { map.as_ptr().read() };
        let replaced = TensorMap::replace_address(&mut bytes, address);
        write(map, replaced.map(|()| bytes))
    }
}
