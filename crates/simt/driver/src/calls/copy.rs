//! Copies and fills of memory and arrays.

use std::ffi::c_void;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::Result;
use crate::abi::handles::Handle;
use crate::gpu::array::Array;
use crate::gpu::context::Context;
use crate::gpu::copy::{Copy, Fill, Side, Space};
use crate::gpu::copy3d::{self, Memcpy2d, Memcpy3d, Operand};
use crate::gpu::op::Op;
use crate::gpu::stream::Stream;
use crate::gpu::submit;

/// Enqueues a copy. Waits for the copy if `waits` is true, or if the copy reads or writes pageable memory.
pub(crate) fn enqueue(copy: Copy, from: Space, to: Space, stream: Handle, waits: bool) -> Result<()> {
    Stream::of(stream)?;
    copy.check(from, to)?;
    submit::enqueue_or_wait(stream, Op::Copy(copy), waits || copy.is_pageable())
}

/// Enqueues a fill. Returns `CUDA_ERROR_INVALID_VALUE` for host memory and for the wrong alignment.
fn fill(fill: Fill, stream: Handle, waits: bool) -> Result<()> {
    Stream::of(stream)?;
    fill.check()?;
    submit::enqueue_or_wait(stream, Op::Fill(fill), waits)
}

fn rectangle(address: u64, pitch: usize, value: u32, size: u64, [width, rows]: [usize; 2]) -> Fill {
    Fill { pitch: pitch as u64, rows: rows as u64, ..Fill::row(address, value, size, width) }
}

/// Returns an error if one of the contexts does not exist.
fn peer(contexts: [Handle; 2]) -> Result<()> {
    contexts.into_iter().try_for_each(|context| Context::of(context).map(drop))
}

/// Returns an error if the context of the operand does not exist.
fn check_context(operand: &Operand) -> Result<()> {
    match operand.kind {
        copy3d::DEVICE | copy3d::ARRAY => Context::of(operand.context).map(drop),
        _ => Ok(()),
    }
}

fn enqueue_3d(params: &Memcpy3d, stream: Handle, waits: bool) -> Result<()> {
    Stream::of(stream)?;
    enqueue(copy3d::read(params)?, Space::Either, Space::Either, stream, waits)
}

fn enqueue_peer(params: &Memcpy3d, stream: Handle, waits: bool) -> Result<()> {
    check_context(&params.from)?;
    check_context(&params.to)?;
    enqueue_3d(params, stream, waits)
}

/// Returns one side of a copy: a row of an array, from byte `offset` on.
fn row(array: Handle, offset: usize, bytes: usize) -> Result<Side> {
    let array = Array::of(array)?;
    array.side([offset as u64, 0, 0], [bytes as u64, bytes.min(1) as u64, bytes.min(1) as u64])
}

fn copy_texels(from: Side, to: Side, bytes: usize, spaces: [Space; 2], stream: Option<Handle>) -> Result<()> {
    let [from_space, to_space] = spaces;
    let copy = Copy { from, to, ..Copy::row(0, 0, bytes) };
    enqueue(copy, from_space, to_space, stream.unwrap_or(0), stream.is_none())
}

const HOST: Space = Space::Host;
const DEVICE: Space = Space::Device;

functions! {
    fn cuMemcpy(to: u64, from: u64, bytes: usize) {
        enqueue(Copy::row(from, to, bytes), Space::Either, Space::Either, 0, true)
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(Copy::row(from, to, bytes), Space::Either, Space::Either, stream, false)
    }

    fn cuMemcpyHtoD_v2(to: u64, from: In<c_void>, bytes: usize) {
        enqueue(Copy::row(from.address(), to, bytes), Space::Host, Space::Device, 0, true)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: In<c_void>, bytes: usize, stream: Handle) {
        enqueue(Copy::row(from.address(), to, bytes), Space::Host, Space::Device, stream, false)
    }

    fn cuMemcpyDtoH_v2(to: Out<c_void>, from: u64, bytes: usize) {
        enqueue(Copy::row(from, to.address(), bytes), Space::Device, Space::Host, 0, true)
    }

    fn cuMemcpyDtoHAsync_v2(to: Out<c_void>, from: u64, bytes: usize, stream: Handle) {
        enqueue(Copy::row(from, to.address(), bytes), Space::Device, Space::Host, stream, false)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        enqueue(Copy::row(from, to, bytes), Space::Device, Space::Device, 0, true)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(Copy::row(from, to, bytes), Space::Device, Space::Device, stream, false)
    }

    fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize) {
        peer([to_context, from_context])?;
        enqueue(Copy::row(from, to, bytes), Space::Device, Space::Device, 0, true)
    }

    fn cuMemcpyPeerAsync(
        to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle,
    ) {
        peer([to_context, from_context])?;
        enqueue(Copy::row(from, to, bytes), Space::Device, Space::Device, stream, false)
    }

    fn cuMemsetD8_v2(address: u64, value: u8, count: usize) {
        fill(Fill::row(address, value.into(), 1, count), 0, true)
    }

    fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Handle) {
        fill(Fill::row(address, value.into(), 1, count), stream, false)
    }

    fn cuMemsetD16_v2(address: u64, value: u16, count: usize) {
        fill(Fill::row(address, value.into(), 2, count), 0, true)
    }

    fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Handle) {
        fill(Fill::row(address, value.into(), 2, count), stream, false)
    }

    fn cuMemsetD32_v2(address: u64, value: u32, count: usize) {
        fill(Fill::row(address, value, 4, count), 0, true)
    }

    fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle) {
        fill(Fill::row(address, value, 4, count), stream, false)
    }

    fn cuMemsetD2D8_v2(address: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill(rectangle(address, pitch, value.into(), 1, [width, height]), 0, true)
    }

    fn cuMemsetD2D8Async(address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle) {
        fill(rectangle(address, pitch, value.into(), 1, [width, height]), stream, false)
    }

    fn cuMemsetD2D16_v2(address: u64, pitch: usize, value: u16, width: usize, height: usize) {
        fill(rectangle(address, pitch, value.into(), 2, [width, height]), 0, true)
    }

    fn cuMemsetD2D16Async(address: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Handle) {
        fill(rectangle(address, pitch, value.into(), 2, [width, height]), stream, false)
    }

    fn cuMemsetD2D32_v2(address: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(rectangle(address, pitch, value, 4, [width, height]), 0, true)
    }

    fn cuMemsetD2D32Async(address: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle) {
        fill(rectangle(address, pitch, value, 4, [width, height]), stream, false)
    }

    fn cuMemcpy2D_v2 | cuMemcpy2DUnaligned_v2(params: In<Memcpy2d>) {
        enqueue_3d(&params.get()?.into(), 0, true)
    }

    fn cuMemcpy2DAsync_v2(params: In<Memcpy2d>, stream: Handle) {
        enqueue_3d(&params.get()?.into(), stream, false)
    }

    fn cuMemcpy3D_v2(params: In<Memcpy3d>) {
        enqueue_3d(&params.get()?, 0, true)
    }

    fn cuMemcpy3DAsync_v2(params: In<Memcpy3d>, stream: Handle) {
        enqueue_3d(&params.get()?, stream, false)
    }

    fn cuMemcpy3DPeer(params: In<Memcpy3d>) {
        enqueue_peer(&params.get()?, 0, true)
    }

    fn cuMemcpy3DPeerAsync(params: In<Memcpy3d>, stream: Handle) {
        enqueue_peer(&params.get()?, stream, false)
    }

    fn cuMemcpyHtoA_v2(array: Handle, offset: usize, from: In<u8>, bytes: usize) {
        let from = Side::row(from.address());
        copy_texels(from, row(array, offset, bytes)?, bytes, [HOST, DEVICE], None)
    }

    fn cuMemcpyHtoAAsync_v2(array: Handle, offset: usize, from: In<u8>, bytes: usize, stream: Handle) {
        let from = Side::row(from.address());
        copy_texels(from, row(array, offset, bytes)?, bytes, [HOST, DEVICE], Some(stream))
    }

    fn cuMemcpyAtoH_v2(to: Out<u8>, array: Handle, offset: usize, bytes: usize) {
        let to = Side::row(to.address());
        copy_texels(row(array, offset, bytes)?, to, bytes, [DEVICE, HOST], None)
    }

    fn cuMemcpyAtoHAsync_v2(to: Out<u8>, array: Handle, offset: usize, bytes: usize, stream: Handle) {
        let to = Side::row(to.address());
        copy_texels(row(array, offset, bytes)?, to, bytes, [DEVICE, HOST], Some(stream))
    }

    fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) {
        copy_texels(Side::row(from), row(array, offset, bytes)?, bytes, [DEVICE; 2], None)
    }

    fn cuMemcpyAtoD_v2(to: u64, array: Handle, offset: usize, bytes: usize) {
        copy_texels(row(array, offset, bytes)?, Side::row(to), bytes, [DEVICE; 2], None)
    }

    fn cuMemcpyAtoA_v2(to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize) {
        copy_texels(row(from, from_offset, bytes)?, row(to, to_offset, bytes)?, bytes, [DEVICE; 2], None)
    }
}
