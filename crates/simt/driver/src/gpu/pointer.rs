//! The attributes of addresses.

use std::ffi::c_void;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::gpu::context::Context;
use crate::gpu::memory::host::READ_ONLY;
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;
use crate::gpu::virtual_memory;

/// The mapping granularity of device addresses.
const MAPPING_BYTES: u64 = 2 << 20;
/// The host's page size.
const PAGE_BYTES: u64 = 4096;

/// `CUpointer_attribute`.
const CONTEXT: u32 = 1;
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const P2P_TOKENS: u32 = 5;
const SYNC_MEMOPS: u32 = 6;
const BUFFER_ID: u32 = 7;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
const IS_LEGACY_CUDA_IPC_CAPABLE: u32 = 10;
const RANGE_START_ADDR: u32 = 11;
const RANGE_SIZE: u32 = 12;
const MAPPED: u32 = 13;
const ALLOWED_HANDLE_TYPES: u32 = 14;
const IS_GPU_DIRECT_RDMA_CAPABLE: u32 = 15;
const ACCESS_FLAGS: u32 = 16;
const MEMPOOL_HANDLE: u32 = 17;
const MAPPING_SIZE: u32 = 18;
const MAPPING_BASE_ADDR: u32 = 19;
const MEMORY_BLOCK_ID: u32 = 20;
const IS_HW_DECOMPRESS_CAPABLE: u32 = 21;

/// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// The value of an attribute, in the size that the driver writes.
enum Value {
    Word(u32),
    Long(u64),
    /// A `CUDA_POINTER_ATTRIBUTE_P2P_TOKENS`.
    Tokens,
    /// No value: the driver writes nothing.
    None,
}

impl Value {
    /// Writes the value.
    ///
    /// # Safety
    /// The caller must ensure that `to` is null or the place for the attribute with this value.
    unsafe fn write(self, to: Out<c_void>) {
        match self {
            // SAFETY: `to` is the place of an attribute that is four bytes in `cuda.h`.
            Value::Word(word) => unsafe { to.cast() }.offer(word),
            // SAFETY: `to` is the place of an attribute that is eight bytes in `cuda.h`.
            Value::Long(long) => unsafe { to.cast() }.offer(long),
            // SAFETY: `to` is the place of a `CUDA_POINTER_ATTRIBUTE_P2P_TOKENS`.
            Value::Tokens => unsafe { to.cast() }.offer([0_u32; 3]),
            Value::None => {}
        }
    }
}

/// Returns the range that contains an address. Arrays are excluded, because programs do not know their addresses.
fn range_of(address: u64) -> Option<Range> {
    ranges::range_of(address).filter(|range| range.kind != Kind::Array)
}

impl Range {
    /// Returns the start and size of the allocation, or of the reservation if the program mapped the memory.
    fn allocation(&self) -> (u64, u64) {
        let reserved = virtual_memory::reservation_of(self.base).filter(|_| self.kind == Kind::Mapped);
        reserved.unwrap_or((self.base, self.bytes))
    }

    /// Returns the start and size of the pages that contain the range.
    fn mapping(&self) -> (u64, u64) {
        let granularity = match self.kind {
            Kind::Mapped => return (self.base, self.bytes),
            Kind::Registered => PAGE_BYTES,
            _ => MAPPING_BYTES,
        };
        let base = self.base / granularity * granularity;
        (base, (self.base + self.bytes - base).next_multiple_of(granularity))
    }

    /// Returns an attribute (`CUpointer_attribute`) of an address in the range.
    fn attribute(&self, attribute: u32, address: u64) -> Result<Value> {
        let is_host = self.kind.is_host();
        let flag = |is: bool| Value::Word(is.into());
        // Memory of pools and memory that a program maps belong to the device, not to a context.
        let has_context = self.pool == 0 && self.kind != Kind::Mapped;
        Ok(match attribute {
            CONTEXT => Value::Long(if has_context { self.context as u64 } else { 0 }),
            MEMORY_TYPE => Value::Word(if is_host { HOST } else { DEVICE }),
            DEVICE_POINTER => Value::Long(address),
            HOST_POINTER if is_host || self.kind == Kind::Managed => Value::Long(address),
            P2P_TOKENS if !is_host => Value::Tokens,
            HOST_POINTER | P2P_TOKENS => return Err(Code::INVALID_VALUE.into()),
            SYNC_MEMOPS => flag(self.sync_copies),
            BUFFER_ID => Value::Long(self.id),
            IS_MANAGED => flag(self.kind == Kind::Managed),
            DEVICE_ORDINAL => Value::Word(Context::of(self.context).map_or(0, |context| context.device as u32)),
            RANGE_START_ADDR => Value::Long(self.allocation().0),
            RANGE_SIZE => Value::Long(self.allocation().1),
            MAPPED => flag(true),
            // No other process or device can access this memory.
            IS_LEGACY_CUDA_IPC_CAPABLE | IS_GPU_DIRECT_RDMA_CAPABLE | IS_HW_DECOMPRESS_CAPABLE => flag(false),
            ALLOWED_HANDLE_TYPES => Value::Long(0),
            ACCESS_FLAGS => {
                let is_read_only = self.kind == Kind::Registered && self.flags & READ_ONLY != 0;
                Value::Word(if is_read_only { 1 } else { 3 })
            }
            MEMPOOL_HANDLE => Value::Long(self.pool as u64),
            MAPPING_SIZE => Value::Long(self.mapping().1),
            MAPPING_BASE_ADDR => Value::Long(self.mapping().0),
            MEMORY_BLOCK_ID => Value::Word(self.id as u32),
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }
}

/// Returns the result of `cuPointerGetAttributes` for an address that is not mapped. Such an address is not an error in
/// the function that queries several attributes at once.
fn unknown_attribute(attribute: u32, address: u64) -> Result<Value> {
    let reserved = virtual_memory::reservation_of(address);
    Ok(match attribute {
        MEMORY_TYPE
        | SYNC_MEMOPS
        | IS_MANAGED
        | IS_LEGACY_CUDA_IPC_CAPABLE
        | MAPPED
        | IS_GPU_DIRECT_RDMA_CAPABLE
        | ACCESS_FLAGS
        | MEMORY_BLOCK_ID
        | IS_HW_DECOMPRESS_CAPABLE => Value::Word(0),
        DEVICE_ORDINAL => Value::Word(-2_i32 as u32),
        // An address that is neither mapped nor reserved counts as host memory.
        HOST_POINTER => Value::Long(address),
        RANGE_START_ADDR => reserved.map_or(Value::None, |range| Value::Long(range.0)),
        RANGE_SIZE => reserved.map_or(Value::None, |range| Value::Long(range.1)),
        CONTEXT..=IS_HW_DECOMPRESS_CAPABLE => Value::Long(0),
        _ => return Err(Code::INVALID_VALUE.into()),
    })
}

functions! {
    fn cuPointerGetAttribute(value: Out<c_void>, attribute: u32, address: u64) {
        driver()?;
        value.check()?;
        let found = range_of(address).ok_or(Code::INVALID_VALUE)?.attribute(attribute, address)?;
        // SAFETY: `cuda.h` requires that `value` is the place for this attribute, and `found` is the attribute's value.
        unsafe { found.write(value) };
        Ok(())
    }

    fn cuPointerGetAttributes(count: u32, attributes: In<u32>, values: In<Out<c_void>>, address: u64) {
        driver()?;
        let attributes = attributes.all(count as usize)?;
        let range = range_of(address);
        for (attribute, value) in attributes.into_iter().zip(values.all(count as usize)?) {
            let found = match &range {
                Some(_) if attribute == 0 || attribute > IS_HW_DECOMPRESS_CAPABLE => return Err(Code::INVALID_VALUE.into()),
                Some(range) => range.attribute(attribute, address).unwrap_or(Value::Long(0)),
                None => unknown_attribute(attribute, address)?,
            };
            // SAFETY: `cuda.h` requires a place for each attribute. An attribute without a value in this range is a
            // pointer or tokens, so its place has at least the eight bytes that the 0 needs.
            unsafe { found.write(value) };
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: In<u32>, attribute: u32, address: u64) {
        driver()?;
        let value = value.get()?;
        match range_of(address) {
            Some(range) if range.kind == Kind::Mapped => {
                Err(Error::new(Code::NOT_SUPPORTED, "setting attributes of mapped virtual memory is not supported"))
            }
            _ if attribute != SYNC_MEMOPS => Err(Code::INVALID_VALUE.into()),
            _ => ranges::change(address, |range| {
                range.sync_copies = value != 0;
                Ok(())
            }),
        }
    }

    fn cuMemGetHandleForAddressRange(_handle: Out<c_void>, address: u64, bytes: usize, _kind: u32, flags: u64) {
        driver()?;
        if range_of(address).is_none() || bytes == 0 || flags > 1 {
            return Err(Code::INVALID_VALUE.into());
        }
        Err(Error::new(Code::NOT_SUPPORTED, "handles of simulated memory for other devices are not supported"))
    }

    fn cuIpcGetMemHandle(_handle: Out<c_void>, address: u64) {
        driver()?;
        range_of(address).ok_or(Code::INVALID_VALUE)?;
        Err(Error::new(Code::NOT_SUPPORTED, "simulated memory belongs to one process and cannot be shared"))
    }
}
