//! Stream operations on single words of memory: waiting for a value, and writing a value.

use std::sync::Arc;

use simt::Simulator;

use crate::abi::call::In;
use crate::abi::error::{Code, Error, Result};
use crate::gpu::ranges::{self, Kind};

/// The comparison of a word with a value (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The word is greater than or equal to the value, in modular arithmetic.
    NotBefore,
    Equal,
    /// The word and the value have a set bit in common.
    And,
    /// The word and the value have a zero bit in common.
    Nor,
}

/// A 4-byte or 8-byte word of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    address: u64,
    bytes: usize,
}

/// An operation on a word.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemOp {
    Wait(Word, u64, Condition),
    Write(Word, u64),
    /// Orders earlier operations before later operations, which a stream does in any case.
    Barrier,
}

impl Word {
    /// Creates a word after checking its address.
    fn new(address: u64, bytes: usize) -> Result<Self> {
        let range = ranges::range_of(address).filter(|range| range.kind != Kind::Managed);
        match range {
            Some(_) if address.is_multiple_of(bytes as u64) => Ok(Self { address, bytes }),
            _ => Err(Error::new(
                Code::INVALID_VALUE,
                format!("{address:#x} is not an aligned {bytes}-byte address that streams can wait for or write"),
            )),
        }
    }

    fn read(self, simulator: &Simulator) -> Option<u64> {
        let (allocation, at) = simulator.memory().span(self.address, self.bytes as u64)?;
        let mut bytes = [0; 8];
        allocation.read(at, &mut bytes[..self.bytes]);
        Some(u64::from_le_bytes(bytes))
    }
}

impl MemOp {
    /// Returns whether the operation can run now.
    pub(crate) fn is_fulfilled(self, simulator: &Simulator) -> bool {
        let Self::Wait(word, value, condition) = self else { return true };
        // If the memory was freed, the wait returns an error when it runs.
        let Some(found) = word.read(simulator) else { return true };
        match condition {
            Condition::NotBefore if word.bytes == 4 => (found as u32).wrapping_sub(value as u32) as i32 >= 0,
            Condition::NotBefore => found.wrapping_sub(value) as i64 >= 0,
            Condition::Equal => found == value,
            Condition::And => found & value != 0,
            Condition::Nor if word.bytes == 4 => !(found as u32 | value as u32) != 0,
            Condition::Nor => !(found | value) != 0,
        }
    }

    /// Runs the operation.
    pub(crate) fn run(self, simulator: &mut Simulator) -> Result<()> {
        let (Self::Wait(word, ..) | Self::Write(word, _)) = self else { return Ok(()) };
        let span = simulator.memory_mut().span_mut(word.address, word.bytes as u64);
        let (allocation, at) = span.ok_or(Code::ILLEGAL_ADDRESS)?;
        if let Self::Write(_, value) = self {
            allocation.write(at, &value.to_le_bytes()[..word.bytes]);
        }
        Ok(())
    }
}

/// The version of the interface. The first version has no barrier operations, and accepts writes without a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    First,
    Second,
}

/// `CU_STREAM_WAIT_VALUE_FLUSH`.
const FLUSH: u32 = 1 << 30;
/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
const WITHOUT_BARRIER: u32 = 1;

pub(crate) fn wait(address: u64, bytes: usize, value: u64, flags: u32) -> Result<MemOp> {
    let condition = match flags & !FLUSH {
        0 => Condition::NotBefore,
        1 => Condition::Equal,
        2 => Condition::And,
        3 => Condition::Nor,
        _ => return Err(Code::INVALID_VALUE.into()),
    };
    if flags & FLUSH != 0 {
        return Err(Error::new(Code::NOT_SUPPORTED, "waits cannot flush remote writes"));
    }
    Ok(MemOp::Wait(Word::new(address, bytes)?, value, condition))
}

pub(crate) fn write(address: u64, bytes: usize, value: u64, flags: u32, interface: Interface) -> Result<MemOp> {
    match flags {
        0 => {}
        WITHOUT_BARRIER if interface == Interface::First => {}
        _ => return Err(Code::INVALID_VALUE.into()),
    }
    Ok(MemOp::Write(Word::new(address, bytes)?, value))
}

/// `CUstreamBatchMemOpParams`. A wait or write uses `operation`, `address`, `value` and `flags`. Other operations use
/// `operation`, and store their flags in the upper half of the first word.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct BatchParams {
    operation: u32,
    other_flags: u32,
    address: u64,
    value: u64,
    flags: u32,
    padding: [u32; 5],
}

impl BatchParams {
    /// Reads and checks a batch of `count` operations.
    pub(crate) fn read(params: In<Self>, count: u32, interface: Interface) -> Result<Arc<[MemOp]>> {
        if count > 255 {
            return Err(Error::new(
                Code::INVALID_VALUE,
                format!("a batch of {count} operations exceeds the limit of 255"),
            ));
        }
        params.all(count as usize)?.into_iter().map(|params| params.op(interface)).collect()
    }

    /// Returns the words of the struct.
    pub(crate) fn words(self) -> [u64; 6] {
        let Self { operation, other_flags, address, value, flags, .. } = self;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [pair(operation, other_flags), address, value, flags.into(), 0, 0]
    }

    fn op(self, interface: Interface) -> Result<MemOp> {
        let Self { address, value, flags, .. } = self;
        let low = value & u64::from(u32::MAX);
        match self.operation {
            1 => wait(address, 4, low, flags),
            4 => wait(address, 8, value, flags),
            2 => write(address, 4, low, flags, interface),
            5 => write(address, 8, value, flags, interface),
            6 if interface == Interface::Second && self.other_flags <= 1 => Ok(MemOp::Barrier),
            3 => Err(Error::new(Code::NOT_SUPPORTED, "flushes of remote writes are not supported")),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }
}

impl From<MemOp> for BatchParams {
    fn from(op: MemOp) -> Self {
        match op {
            MemOp::Wait(Word { address, bytes }, value, condition) => {
                let operation = if bytes == 4 { 1 } else { 4 };
                Self { operation, address, value, flags: condition as u32, ..Self::default() }
            }
            MemOp::Write(Word { address, bytes }, value) => {
                let operation = if bytes == 4 { 2 } else { 5 };
                Self { operation, address, value, ..Self::default() }
            }
            MemOp::Barrier => Self { operation: 6, ..Self::default() },
        }
    }
}
