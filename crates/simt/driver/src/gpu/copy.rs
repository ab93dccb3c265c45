//! Copies and fills: rows of bytes, one behind the other or with gaps between.

use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use simt::Simulator;

use crate::abi::error::{Code, Error, Result};
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The address of the first byte, of the host's or the device's memory.
    pub(crate) address: u64,
    /// Bytes from row to row.
    pub(crate) pitch: u64,
    /// Bytes from slice to slice.
    pub(crate) slice: u64,
}

impl Side {
    /// Bytes in a row.
    pub(crate) fn row(address: u64) -> Self {
        Self { address, pitch: 0, slice: 0 }
    }
}

/// A copy of slices of rows of bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) from: Side,
    pub(crate) to: Side,
    /// Bytes of a row.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) slices: u64,
}

/// Where the memory of one side of a copy has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Host,
    Device,
    /// Wherever the address says.
    Either,
}

impl Copy {
    /// A copy of bytes in a row.
    pub(crate) fn row(from: u64, to: u64, bytes: usize) -> Self {
        Self { from: Side::row(from), to: Side::row(to), bytes: bytes as u64, rows: 1, slices: 1 }
    }

    /// Refuses a copy that reaches beyond an allocation of the device: `CUDA_ERROR_INVALID_VALUE`.
    pub(crate) fn check(&self, from: Space, to: Space) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        for (side, space) in [(self.from, from), (self.to, to)] {
            let needed = extent([(side.slice, self.slices - 1), (side.pitch, self.rows - 1), (self.bytes, 1)])?;
            match (ranges::range_of(side.address), space) {
                (Some(range), _) => check_inside(&range, side.address, needed)?,
                // What kernels once could access is no memory of the host.
                (None, space)
                    if space == Space::Device || driver()?.simulator().memory().is_own_address(side.address) =>
                {
                    return Err(Error::new(
                        Code::INVALID_VALUE,
                        format!("{:#x} is no address of the device's memory", side.address),
                    ));
                }
                (None, _) if side.address == 0 => return Err(Code::INVALID_VALUE.into()),
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Whether the program may change or free its memory before the copy is done, unless the copy is waited for: memory
    /// of the host that is not page-locked.
    pub(crate) fn is_pageable(&self) -> bool {
        [self.from, self.to].iter().any(|side| ranges::range_of(side.address).is_none())
    }

    /// Whether nothing is copied.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0 || self.rows == 0 || self.slices == 0
    }

    /// Does it.
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

/// The sum of steps and how often they are taken: `CUDA_ERROR_INVALID_VALUE` when no memory has so many bytes.
fn extent(steps: [(u64, u64); 3]) -> Result<u64> {
    let sum = steps.into_iter().try_fold(0_u64, |sum, (step, count)| sum.checked_add(step.checked_mul(count)?));
    sum.ok_or_else(|| Code::INVALID_VALUE.into())
}

/// Refuses more bytes than are left behind an address in its range, or in those that a program has mapped behind it.
fn check_inside(range: &Range, address: u64, needed: u64) -> Result<()> {
    let mut end = range.base + range.bytes;
    if range.kind == Kind::Mapped {
        let mut last = Some(range.clone());
        while let Some(range) = last.take().filter(Range::is_accessible) {
            end = range.base + range.bytes;
            last = ranges::range_of(end).filter(|next| next.kind == Kind::Mapped && end - address < needed);
        }
        if !range.is_accessible() {
            let what = format!("nobody may access what is mapped at {:#x}; use cuMemSetAccess", range.base);
            return Err(Error::new(Code::INVALID_VALUE, what));
        }
    }
    let left = end - address;
    match needed <= left {
        true => Ok(()),
        false => Err(Error::new(
            Code::INVALID_VALUE,
            format!("{needed} bytes at {address:#x}, where {left} bytes are left of an allocation of {}", range.bytes),
        )),
    }
}

/// How many of so many bytes from an address on lie in one piece of memory.
fn piece(simulator: &Simulator, address: u64, bytes: u64) -> u64 {
    let memory = simulator.memory();
    let left = memory.span(address, 0).map(|(block, at)| block.bytes - at);
    left.filter(|left| *left > 0).map_or(bytes, |left| left.min(bytes))
}

/// Copies bytes in a row, whose pieces may have been mapped one behind the other.
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
    if [from, to].iter().any(|address| device.span(*address, bytes).is_none() && device.is_own_address(*address)) {
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
            // Memory of the host may be uninitialized, so it cannot be a slice to read into.
            let mut buffer = [0; 4096];
            for at in (0..len).step_by(buffer.len()) {
                let part = &mut buffer[..(len - at).min(4096)];
                read(simulator, from + at as u64, part)?;
                // SAFETY: the program passes `to` as the address of `bytes` bytes that can be written until the copy is
                // done, and `at + part.len()` is at most `bytes`.
                unsafe { with_exposed_provenance_mut::<u8>(to as usize + at).copy_from(part.as_ptr(), part.len()) };
            }
            Ok(())
        }
        (false, true) => {
            // SAFETY: the program passes `from` as the address of `bytes` bytes that can be read, and does not write
            // them until the copy is done.
            let host = unsafe { std::slice::from_raw_parts(with_exposed_provenance(from as usize), len) };
            write(simulator, to, host)
        }
        (false, false) => {
            let from = with_exposed_provenance::<u8>(from as usize);
            // SAFETY: the program passes `from` and `to` as addresses of `bytes` bytes that can be read and written. They
            // may overlap.
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
    /// Bytes from row to row.
    pub(crate) pitch: u64,
    /// The value, of which `size` bytes count.
    pub(crate) value: u32,
    /// 1, 2 or 4.
    pub(crate) size: u64,
    /// Values in a row.
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

    /// Does it.
    pub(crate) fn run(&self, simulator: &mut Simulator) -> Result<()> {
        if self.width == 0 {
            // Of which there may be any number of rows, anywhere.
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
