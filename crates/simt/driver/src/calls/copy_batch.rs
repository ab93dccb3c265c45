//! Batches of copies.

use super::copy::enqueue as enqueue_copy;
use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::gpu::array::Array;
use crate::gpu::capture;
use crate::gpu::copy::{Copy, Space};
use crate::gpu::copy3d::{self, Memcpy3d, Operand};
use crate::gpu::location::Location;
use crate::gpu::stream::Stream;

/// The memory space of all operands: the address of each operand determines its space.
const EITHER: Space = Space::Either;
/// The valid values of `CUmemcpySrcAccessOrder`.
const ORDERS: std::ops::RangeInclusive<u32> = 1..=3;
/// `CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE`.
const FLAGS: u32 = 1;

/// `CUmemcpyAttributes`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Attributes {
    order: u32,
    from: Location,
    to: Location,
    flags: u32,
}

/// The attributes of a batch. Each applies to the copies from its index up to the next index.
struct Groups {
    attributes: In<Attributes>,
    indices: In<usize>,
    count: usize,
}

impl Groups {
    fn check(&self, copies: usize) -> Result<()> {
        let (attributes, indices) = (self.attributes.all(self.count)?, self.indices.all(self.count)?);
        let has_order = indices.first() == Some(&0) && indices.is_sorted_by(|one, next| one < next);
        let is_known = |attributes: &Attributes| ORDERS.contains(&attributes.order) && attributes.flags & !FLAGS == 0;
        match has_order && indices.iter().all(|index| *index < copies) && attributes.iter().all(is_known) {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE.into()),
        }
    }
}

/// Reads all operations of a batch and enqueues them if every operation is valid. Otherwise, reports the index of the
/// first invalid operation. A captured stream refuses the batch, and its capture continues, as on an H100.
fn enqueue<T>(
    operations: Vec<T>,
    read: impl Fn(&T) -> Result<Copy>,
    failed: Out<usize>,
    stream: &Stream,
) -> Result<()> {
    let check = |(at, operation): (usize, &T)| {
        let copy = read(operation).and_then(|copy| copy.check(EITHER, EITHER).map(|()| copy));
        copy.inspect_err(|_| failed.offer(at))
    };
    let copies: Result<Vec<Copy>> = operations.iter().enumerate().map(check).collect();
    let copies = copies?;
    capture::refuse_gently(stream)?;
    copies.into_iter().try_for_each(|copy| enqueue_copy(copy, EITHER, EITHER, stream.handle, false))
}

/// One side of an operation (`CUmemcpy3DOperand`).
#[derive(Clone, Copy)]
#[repr(C)]
struct Operand3d {
    /// `CUmemcpy3DOperandType`.
    kind: u32,
    /// For memory: the address, the length of a row and the height of a slice. For an array: its handle and the
    /// position in it along x, y and z. Lengths are in elements.
    words: [usize; 4],
}

/// `CUDA_MEMCPY3D_BATCH_OP`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Operation {
    from: Operand3d,
    to: Operand3d,
    extent: [usize; 3],
    order: u32,
    flags: u32,
}

/// `CU_MEMCPY_OPERAND_TYPE_POINTER` and `CU_MEMCPY_OPERAND_TYPE_ARRAY`.
const POINTER: u32 = 1;
const ARRAY: u32 = 2;

impl Operand3d {
    /// Returns the size of an element in bytes if the operand is an array.
    fn element(&self) -> Result<Option<usize>> {
        match self.kind {
            ARRAY => Ok(Some(Array::of(self.words[0])?.texel_bytes() as usize)),
            POINTER => Ok(None),
            _ => Err(Code::INVALID_VALUE.into()),
        }
    }

    fn operand(&self, element: usize) -> Result<Operand> {
        let [first, x, y, z] = self.words;
        let bytes = x.checked_mul(element).ok_or(Code::INVALID_VALUE)?;
        Ok(match self.kind {
            ARRAY => Operand::of_array(first, [bytes, y, z]),
            _ => Operand::of_address(first as u64, bytes, y),
        })
    }
}

impl Operation {
    fn read(&self) -> Result<Copy> {
        let [width, height, depth] = self.extent;
        if self.extent.contains(&0) || !ORDERS.contains(&self.order) || self.flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        let (from, to) = (self.from.element()?, self.to.element()?);
        if from.is_some() && to.is_some() && from != to {
            return Err(Error::new(Code::INVALID_VALUE, "both arrays of a copy must have texels of the same size"));
        }
        let element = from.or(to).unwrap_or(1);
        let width_bytes = width.checked_mul(element).ok_or(Code::INVALID_VALUE)?;
        let (from, to) = (self.from.operand(element)?, self.to.operand(element)?);
        copy3d::read(&Memcpy3d { from, to, width_bytes, height, depth })
    }
}

/// Copies of contiguous bytes.
struct Rows {
    to: In<u64>,
    from: In<u64>,
    sizes: In<usize>,
    count: usize,
}

fn copy_rows(rows: Rows, groups: &Groups, failed: Out<usize>, stream: Handle) -> Result<()> {
    failed.offer(usize::MAX);
    let Rows { to, from, sizes, count } = rows;
    let stream = Stream::of_batch(stream)?;
    if count == 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    groups.check(count)?;
    let sides = from.all(count)?.into_iter().zip(to.all(count)?).zip(sizes.all(count)?);
    let read = |((from, to), bytes): &((u64, u64), usize)| match bytes {
        0 => Err(Code::INVALID_VALUE.into()),
        _ => Ok(Copy::row(*from, *to, *bytes)),
    };
    enqueue(sides.collect(), read, failed, &stream)
}

fn copy_3d(count: usize, operations: In<Operation>, failed: Out<usize>, flags: u64, stream: Handle) -> Result<()> {
    failed.offer(usize::MAX);
    let stream = Stream::of_batch(stream)?;
    if count == 0 || flags != 0 {
        return Err(Code::INVALID_VALUE.into());
    }
    enqueue(operations.all(count)?, Operation::read, failed, &stream)
}

functions! {
    fn cuMemcpyBatchAsync(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<Attributes>, indices: In<usize>,
        attribute_count: usize, failed: Out<usize>, stream: Handle,
    ) {
        let groups = Groups { attributes, indices, count: attribute_count };
        copy_rows(Rows { to, from, sizes, count }, &groups, failed, stream)
    }

    fn cuMemcpyBatchAsync_v2(
        to: In<u64>, from: In<u64>, sizes: In<usize>, count: usize, attributes: In<Attributes>, indices: In<usize>,
        attribute_count: usize, stream: Handle,
    ) {
        let groups = Groups { attributes, indices, count: attribute_count };
        copy_rows(Rows { to, from, sizes, count }, &groups, Out::none(), stream)
    }

    fn cuMemcpy3DBatchAsync(
        count: usize, operations: In<Operation>, failed: Out<usize>, flags: u64, stream: Handle,
    ) {
        copy_3d(count, operations, failed, flags, stream)
    }

    fn cuMemcpy3DBatchAsync_v2(count: usize, operations: In<Operation>, flags: u64, stream: Handle) {
        copy_3d(count, operations, Out::none(), flags, stream)
    }
}
