//! Copies and fills: rows of bytes, contiguous or with gaps between them.

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use simt::Simulator;

use crate::abi::error::{Code, Error, Result};
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The address of the first byte, in host or device memory.
    pub(crate) address: u64,
    /// The distance between rows in bytes.
    pub(crate) pitch: u64,
    /// The distance between slices in bytes.
    pub(crate) slice: u64,
}

impl Side {
    /// Returns the side of a copy of contiguous bytes.
    pub(crate) fn row(address: u64) -> Self {
        Self { address, pitch: 0, slice: 0 }
    }
}

/// A copy of slices of rows of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) from: Side,
    pub(crate) to: Side,
    /// The length of a row in bytes.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) slices: u64,
}

/// The required memory space of one side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Host,
    Device,
    /// The address determines the space.
    Either,
}

impl Copy {
    /// Returns a copy of contiguous bytes.
    pub(crate) fn row(from: u64, to: u64, bytes: usize) -> Self {
        Self { from: Side::row(from), to: Side::row(to), bytes: bytes as u64, rows: 1, slices: 1 }
    }

    /// Returns `CUDA_ERROR_INVALID_VALUE` when the copy extends beyond an allocation of the device.
    pub(crate) fn check(&self, from: Space, to: Space) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for (side, space) in [(self.from, from), (self.to, to)] {
            let needed = extent([(side.slice, self.slices - 1), (side.pitch, self.rows - 1), (self.bytes, 1)])?;
            match (ranges::range_of(side.address), space) {
                (Some(range), _) => check_inside(&range, side.address, needed)?,
                // An address that ever belonged to the device is not host memory.
                (None, space)
                    if space == Space::Device || driver()?.simulator().memory().is_device_address(side.address) =>
                {
                    return Err(Error::new(
                        Code::INVALID_VALUE,
                        format!("{:#x} is not an address in device memory", side.address),
                    ));
                }
                (None, _) if side.address == 0 => return Err(Code::INVALID_VALUE.into()),
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Returns whether the copy uses pageable host memory. The program may change or free such memory at any time, so
    /// the call must wait for the copy.
    pub(crate) fn is_pageable(&self) -> bool {
        [self.from, self.to].iter().any(|side| ranges::range_of(side.address).is_none())
    }

    /// Returns whether the copy copies no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0 || self.rows == 0 || self.slices == 0
    }

    /// Runs the copy.
    pub(crate) fn run(&self, simulator: &mut Simulator) -> Result<()> {
        for slice in 0..self.slices {
            for row in 0..self.rows {
                let at = |side: Side| side.address + slice * side.slice + row * side.pitch;
                copy_row(simulator, at(self.from), at(self.to), self.bytes)?;
            }
        }
        Ok(())
    }
}

/// Returns the sum of `step * count` over `steps`, or `CUDA_ERROR_INVALID_VALUE` when it overflows.
fn extent(steps: [(u64, u64); 3]) -> Result<u64> {
    let sum = steps.into_iter().try_fold(0_u64, |sum, (step, count)| sum.checked_add(step.checked_mul(count)?));
    sum.ok_or_else(|| Code::INVALID_VALUE.into())
}

/// Checks that a range has `needed` bytes after an address. Adjacent mappings of virtual memory count as one range.
fn check_inside(range: &Range, address: u64, needed: u64) -> Result<()> {
    let mut end = range.base + range.bytes;
    if range.kind == Kind::Mapped {
        let mut last = Some(range.clone());
        while let Some(range) = last.take().filter(Range::is_accessible) {
            end = range.base + range.bytes;
            last = ranges::range_of(end).filter(|next| next.kind == Kind::Mapped && end - address < needed);
        }
        if !range.is_accessible() {
            let what = format!("the mapping at {:#x} is not accessible; call cuMemSetAccess first", range.base);
            return Err(Error::new(Code::INVALID_VALUE, what));
        }
    }
    let left = end - address;
    match needed <= left {
        true => Ok(()),
        false => Err(Error::new(
            Code::INVALID_VALUE,
            format!(
                "{needed} bytes at {address:#x} exceed the allocation of {} bytes: only {left} bytes remain",
                range.bytes
            ),
        )),
    }
}

/// Returns the number of bytes, up to `bytes`, that are contiguous in one block of memory from `address` on.
fn piece(simulator: &Simulator, address: u64, bytes: u64) -> u64 {
    let memory = simulator.memory();
    let left = memory.span(address, 0).map(|(block, at)| block.bytes - at);
    left.filter(|left| *left > 0).map_or(bytes, |left| left.min(bytes))
}

/// Copies contiguous bytes, which may span several adjacent mappings.
fn copy_row(simulator: &mut Simulator, mut from: u64, mut to: u64, mut bytes: u64) -> Result<()> {
    while bytes > 0 {
        let part = piece(simulator, from, bytes).min(piece(simulator, to, bytes));
        copy_piece(simulator, from, to, part)?;
        (from, to, bytes) = (from + part, to + part, bytes - part);
    }
    Ok(())
}

fn copy_piece(simulator: &mut Simulator, from: u64, to: u64, bytes: u64) -> Result<()> {
    let len = usize::try_from(bytes).map_err(|_| Code::INVALID_VALUE)?;
    let device = simulator.memory_mut();
    if [from, to].iter().any(|address| device.span(*address, bytes).is_none() && device.is_device_address(*address)) {
        return Err(Code::ILLEGAL_ADDRESS.into());
    }
    let source = device.span(from, bytes).is_some();
    match (source, device.span(to, bytes).is_some()) {
        (true, true) => {
            let mut copied = vec![0; len];
            read(simulator, from, &mut copied)?;
            write(simulator, to, &copied)
        }
        (true, false) => {
            // Host memory may be uninitialized, so it cannot be a slice to read into.
            let mut buffer = [0; 4096];
            for at in (0..len).step_by(buffer.len()) {
                let part = &mut buffer[..(len - at).min(4096)];
                read(simulator, from + at as u64, part)?;
                // SAFETY: the program passes `to` as the address of `bytes` bytes that are writable until the copy is
                // done, and `at + part.len()` is at most `bytes`.
                unsafe { with_exposed_provenance_mut::<u8>(to as usize + at).copy_from(part.as_ptr(), part.len()) };
            }
            Ok(())
        }
        (false, true) => {
            // SAFETY: the program passes `from` as the address of `bytes` readable bytes, and does not write them until
            // the copy is done.
            let host = unsafe { std::slice::from_raw_parts(with_exposed_provenance(from as usize), len) };
            write(simulator, to, host)
        }
        (false, false) => {
            let from = with_exposed_provenance::<u8>(from as usize);
            // SAFETY: the program passes `from` and `to` as addresses of `bytes` readable and writable bytes.
            // `ptr::copy` allows overlap.
            unsafe { std::ptr::copy(from, with_exposed_provenance_mut(to as usize), len) };
            Ok(())
        }
    }
}

fn read(simulator: &Simulator, from: u64, bytes: &mut [u8]) -> Result<()> {
    let (allocation, at) = simulator.memory().span(from, bytes.len() as u64).ok_or(Code::ILLEGAL_ADDRESS)?;
    allocation.read(at, bytes);
    Ok(())
}

fn write(simulator: &mut Simulator, to: u64, bytes: &[u8]) -> Result<()> {
    let (allocation, at) = simulator.memory_mut().span_mut(to, bytes.len() as u64).ok_or(Code::ILLEGAL_ADDRESS)?;
    allocation.write(at, bytes);
    Ok(())
}

/// A fill of rows with a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    /// The distance between rows in bytes.
    pub(crate) pitch: u64,
    /// The value. Only the lowest `size` bytes are used.
    pub(crate) value: u32,
    /// The size of a value: 1, 2 or 4 bytes.
    pub(crate) size: u64,
    /// The number of values in a row.
    pub(crate) width: u64,
    pub(crate) rows: u64,
}

impl Fill {
    pub(crate) fn row(address: u64, value: u32, size: u64, width: usize) -> Self {
        Self { address, pitch: 0, value, size, width: width as u64, rows: 1 }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.width == 0 || self.rows == 0 {
            return Ok(());
        }
        let range = ranges::range_of(self.address).ok_or(Code::INVALID_VALUE)?;
        if !self.address.is_multiple_of(self.size) || !self.pitch.is_multiple_of(self.size) {
            return Err(Code::INVALID_VALUE.into());
        }
        if self.rows > 1 && self.width.checked_mul(self.size).is_none_or(|row| row > self.pitch) {
            return Err(Code::INVALID_VALUE.into());
        }
        let needed = extent([(self.pitch, self.rows - 1), (self.width, self.size), (0, 0)])?;
        check_inside(&range, self.address, needed)
    }

    /// Runs the fill.
    pub(crate) fn run(&self, simulator: &mut Simulator) -> Result<()> {
        if self.width == 0 {
            // An empty fill may have any number of rows at any address.
            return Ok(());
        }
        let value = self.value.to_le_bytes();
        let word = std::array::from_fn(|byte| value[byte % self.size as usize]);
        for row in 0..self.rows {
            let mut left = self.width * self.size;
            let mut address = self.address + row * self.pitch;
            while left > 0 {
                let bytes = piece(simulator, address, left);
                let found = simulator.memory_mut().span_mut(address, bytes);
                let (allocation, at) = found.ok_or(Code::ILLEGAL_ADDRESS)?;
                allocation.fill(at, bytes, word);
                (address, left) = (address + bytes, left - bytes);
            }
        }
        Ok(())
    }
}
