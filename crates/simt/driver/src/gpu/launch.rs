//! Launches: the geometry and arguments of a kernel.

use std::ffi::c_void;

use simt::Arg;
use simt::params::{Declared, Param, Role};

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::Handle;
use crate::abi::platform::{self, Place};
use crate::gpu::function::Function;
use crate::gpu::op::LaunchOp;
use crate::gpu::{library, occupancy, ranges};

/// The keys in the list `extra`: the buffer with all arguments, and the buffer's size.
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// A launch that a program requests.
pub(crate) struct Request {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) is_cooperative: bool,
    /// The addresses of the arguments.
    pub(crate) params: *const *const c_void,
    /// A list that describes a buffer with all arguments, or null.
    pub(crate) extra: *const usize,
}

impl Request {
    /// Checks the launch and copies its arguments.
    ///
    /// # Errors
    /// Returns `CUDA_ERROR_INVALID_HANDLE` when the function does not exist, and `CUDA_ERROR_INVALID_VALUE` when the
    /// grid or block exceeds the device's limits, or the kernel was compiled for smaller blocks.
    pub(crate) fn prepare(&self) -> Result<LaunchOp> {
        let function = library::get(self.function)?;
        let invalid = |what: String| Error::new(Code::INVALID_VALUE, what);
        let Self { grid, block, shared_bytes, .. } = *self;
        let program = function.kernel.program();
        function.limits()?.check(program, grid, block, shared_bytes).map_err(invalid)?;
        if shared_bytes > function.max_dynamic_shared() {
            let limit = function.max_dynamic_shared();
            return Err(invalid(format!(
                "{shared_bytes} bytes of dynamic shared memory exceed the function's limit of {limit}"
            )));
        }
        if let Some(cluster) = self.cluster.or(program.required_cluster) {
            function.check_cluster(grid, cluster)?;
        }
        let threads = block.iter().product();
        let resident = occupancy::blocks_of_device(function.device()?, &function, threads, shared_bytes);
        let blocks: u64 = grid.iter().fold(1, |all, side| all.saturating_mul(u64::from(*side)));
        if self.is_cooperative && blocks > resident {
            let what =
                format!("a cooperative launch of {blocks} blocks; at most {resident} blocks are resident at a time");
            return Err(Error::new(Code::COOPERATIVE_LAUNCH_TOO_LARGE, what));
        }
        let args = self.arguments(&function)?;
        let (cluster, is_cooperative) = (self.cluster, self.is_cooperative);
        Ok(LaunchOp {
            handle: self.function,
            function,
            grid,
            block,
            shared_bytes,
            cluster,
            is_cooperative,
            resident,
            args,
        })
    }

    /// Copies the arguments.
    fn arguments(&self, function: &Function) -> Result<Vec<Arg>> {
        let params = &function.kernel.program().params;
        if params.is_empty() {
            return Ok(Vec::new());
        }
        let (mut places, mut error) = self.places(params)?;
        if let Some(index) = platform::first_unreadable(&places) {
            error = Some(missing(params, index, &format!("its address {:#x} cannot be read", places[index].0.addr())));
            places.truncate(index);
        }
        let read = |(from, bytes): Place| {
            // SAFETY: `from` has `bytes` bytes, which `first_unreadable` has just read.
            let bytes = unsafe { std::slice::from_raw_parts(from, bytes) };
            // Pass eight bytes as a pointer, so that the simulator can name the argument if its address faults.
            match <[u8; 8]>::try_from(bytes) {
                Ok(word) => Arg::Pointer(u64::from_le_bytes(word)),
                Err(_) => Arg::Bytes(bytes.to_vec()),
            }
        };
        let args: Vec<Arg> = places.into_iter().map(read).collect();
        // If the program forgot a length, the following arguments are one position too early and the last argument is
        // missing. Report the length first.
        check_slices(params, &args)?;
        match error {
            Some(error) => Err(error),
            None => Ok(args),
        }
    }

    /// Returns the address and size of each argument up to the first missing argument, and the error for that argument.
    fn places(&self, params: &[Param]) -> Result<(Vec<Place>, Option<Error>)> {
        let mut places = Vec::with_capacity(params.len());
        if let Some((start, len)) = self.buffer()? {
            for (index, param) in params.iter().enumerate() {
                let (offset, bytes) = (param.offset as usize, param.bytes as usize);
                if offset + bytes > len {
                    let why = format!("the argument buffer ends after {len} bytes");
                    return Ok((places, Some(missing(params, index, &why))));
                }
                places.push((start.wrapping_add(offset), bytes));
            }
            return Ok((places, None));
        }
        if self.params.is_null() {
            return Err(Error::new(
                Code::INVALID_VALUE,
                format!("the kernel has {} parameters, but the launch passes no arguments", params.len()),
            ));
        }
        let slots: Vec<_> =
            (0..params.len()).map(|at| (self.params.wrapping_add(at).cast(), size_of::<*const c_void>())).collect();
        let end = platform::first_unreadable(&slots);
        for (index, param) in params.iter().enumerate() {
            if end == Some(index) {
                return Ok((places, Some(missing(params, index, "the list of addresses ends before it"))));
            }
            // SAFETY: the list has an address at this index, because `first_unreadable` has just read it.
            let from: *const u8 = unsafe { *self.params.add(index) }.cast();
            if from.is_null() {
                return Ok((places, Some(missing(params, index, "it has a null address"))));
            }
            places.push((from, param.bytes as usize));
        }
        Ok((places, None))
    }

    /// Returns the buffer with all arguments and its size, if the program passes one.
    fn buffer(&self) -> Result<Option<(*const u8, usize)>> {
        if self.extra.is_null() || !self.params.is_null() {
            return Ok(None);
        }
        let (mut start, mut len) = (None, None);
        for pair in 0..8 {
            // SAFETY: in `cuda.h`, `extra` is a list of pairs of a number and a pointer that ends with 0, and the loop
            // stops there.
            let (key, value) = unsafe { (*self.extra.add(pair * 2), self.extra.add(pair * 2 + 1)) };
            match key {
                0 => break,
                // SAFETY: the entry after this key contains the address of the buffer.
                BUFFER_POINTER => start = Some(std::ptr::with_exposed_provenance(unsafe { *value })),
                // SAFETY: the entry after this key contains a pointer to the size.
                BUFFER_SIZE => len = Some(unsafe { *std::ptr::with_exposed_provenance::<usize>(*value) }),
                _ => return Err(Code::INVALID_VALUE.into()),
            }
        }
        Ok(Some((start.ok_or(Code::INVALID_VALUE)?, len.ok_or(Code::INVALID_VALUE)?)))
    }
}

/// Checks that each slice argument is memory that kernels can access. This is possible only if the module contains the
/// parameter types of the kernel's source.
fn check_slices(params: &[Param], args: &[Arg]) -> Result<()> {
    let pairs = params.windows(2).zip(args.windows(2)).enumerate();
    for (index, (params, args)) in pairs {
        let [Arg::Pointer(address), Arg::Pointer(len)] = args else { continue };
        let Some(Declared { role: Role::Slice(element), .. }) = &params[0].declared else { continue };
        let bytes = len.saturating_mul(element.bytes.unwrap_or(1));
        if bytes == 0 {
            continue;
        }
        let what = match ranges::range_of(*address) {
            Some(range) if bytes <= range.base + range.bytes - address => continue,
            Some(range) => format!(
                "argument {}, the length of {}, is {len}: {bytes} bytes exceed the {} bytes left in the allocation",
                index + 1,
                params[0],
                range.base + range.bytes - address
            ),
            None => format!("argument {index} for {} is {address:#x}, which is not an address of memory", params[0]),
        };
        return Err(Error::new(
            Code::INVALID_VALUE,
            format!("{what}; a slice is two arguments: its pointer and its length"),
        ));
    }
    Ok(())
}

/// Returns the error for a missing argument.
fn missing(params: &[Param], index: usize, why: &str) -> Error {
    let what = format!(
        "argument {index} of {}, for the parameter {}, is missing: {why}; pass one argument \
         for each parameter, and two for a slice: its pointer and its length",
        params.len(),
        params[index]
    );
    Error::new(Code::INVALID_VALUE, what)
}
