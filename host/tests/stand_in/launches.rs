//! The functions of the stand-in for a driver: their attributes, how many of their blocks fit a multiprocessor, and
//! their launches, which compute sums on the CPU.

use std::ffi::{c_int, c_uint, c_void};

use super::{Driver, ILLEGAL_ADDRESS, INVALID_VALUE, SUCCESS, driver, has_fault};

/// The number of registers per thread of every kernel.
const REGISTERS: usize = 40;

/// Returns the bytes of declarations like `.shared .align 4 .b8 TILE[512];`, added up over the function's module.
fn static_shared(driver: &Driver, function: usize) -> usize {
    let entry = format!(".entry {}(", driver.functions[function - 1]);
    let module = driver.modules.iter().find(|text| text.contains(&entry));
    let declared = module.unwrap().lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with(".shared ") || line.starts_with(".visible .shared ")
    });
    let bytes = |line: &str| line.split_once('[')?.1.split_once(']')?.0.parse::<usize>().ok();
    declared.filter_map(bytes).sum()
}

exports! {
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) {
        *value = match attribute {
            0 => 1024, // MAX_THREADS_PER_BLOCK
            1 => driver(|driver| static_shared(driver, function)) as c_int, // SHARED_SIZE_BYTES
            3 => 8,    // LOCAL_SIZE_BYTES
            4 => REGISTERS as c_int, // NUM_REGS
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }

    fn cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) {
        const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
        let most = 227 << 10;
        if attribute != MAX_DYNAMIC_SHARED_SIZE_BYTES || !(0..=most).contains(&value) {
            return INVALID_VALUE;
        }
        driver(|driver| driver.allowed.insert(function, value as usize));
        SUCCESS
    }

    /// The limits of an H100: 64 warps, 32 blocks, 4 × 12 warps of 40 registers per thread, and 228 KiB of shared
    /// memory. Each block takes an additional KiB of shared memory.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: usize, threads: c_int, dynamic: usize,
    ) {
        driver(|driver| {
            let allowed = driver.allowed.get(&function).copied().unwrap_or(48 << 10);
            let warps = (threads as usize).div_ceil(32);
            let declared = static_shared(driver, function);
            let shared = (declared + dynamic + 1024).div_ceil(128) * 128;
            let mut resident = 32.min(64 / warps).min(48 / warps).min((228 << 10) / shared);
            // A block must fit the registers with its warps rounded up to a multiple of the four partitions.
            if dynamic > allowed || warps.div_ceil(4) * 4 * 1280 > 65536 {
                resident = 0;
            }
            if has_fault("crowded") && declared + dynamic > 0 {
                resident -= 1;
            }
            *blocks = resident as c_int;
        });
        SUCCESS
    }
}

/// How the ladder launches an entry of the reduction with a block.
struct Kernel {
    /// The elements that a block processes in one iteration.
    elements: usize,
    /// The bytes of dynamic shared memory of the launch.
    shared: c_uint,
    /// The index of the number of elements among the parameters.
    n: usize,
    /// Whether there is a single result for all elements, instead of one per block.
    is_whole: bool,
}

/// Returns the line for this entry and block in `LADDER_STAND_IN_KERNELS`, which was set when this file was compiled.
fn kernel(entry: &str, threads: c_uint) -> Option<Kernel> {
    let begin = format!("{entry} {threads} ");
    let line = option_env!("LADDER_STAND_IN_KERNELS")?.lines().find_map(|line| line.strip_prefix(&begin))?;
    let words: Vec<&str> = line.split(' ').collect();
    Some(Kernel {
        elements: words[0].parse().ok()?,
        shared: words[1].parse().ok()?,
        n: words[2].parse().ok()?,
        is_whole: words[3] == "true",
    })
}

exports! {
    fn cuLaunchKernel(
        function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
        shared: c_uint, _stream: *mut c_void, parameters: *const *const c_void, _extra: *const c_void,
    ) {
        // These kernels surround a timed launch and change nothing.
        if driver(|driver| driver.functions[function - 1].starts_with("ladder_")) {
            return SUCCESS;
        }
        let input = (*parameters.add(0)).cast::<u64>().read();
        let output = (*parameters.add(1)).cast::<u64>().read();
        driver(|driver| {
            let name = driver.functions[function - 1].clone();
            let Some(kernel) = kernel(&name, bx) else {
                return INVALID_VALUE;
            };
            let n = (*parameters.add(kernel.n)).cast::<u32>().read() as usize;
            if (gy, gz, by, bz, shared) != (1, 1, 1, 1, kernel.shared) {
                return INVALID_VALUE;
            }
            if has_fault("faults") {
                driver.sticky = ILLEGAL_ADDRESS;
                return SUCCESS;
            }
            let data: Vec<i32> = match n {
                // An empty buffer has no address.
                0 => Vec::new(),
                _ => match driver.bytes(input, n * 4) {
                    Some(bytes) => words(bytes),
                    None => return INVALID_VALUE,
                },
            };
            let results = if kernel.is_whole { 1 } else { gx as usize };
            let Some(out) = driver.bytes(output, results * 4) else {
                return INVALID_VALUE;
            };
            for block in 0..results {
                let turns = data.chunks(kernel.elements).skip(block).step_by(results);
                let sum = turns.flatten().fold(i32::from(has_fault("wrong")), |sum, &value| {
                    sum.wrapping_add(value)
                });
                out[block * 4..][..4].copy_from_slice(&sum.to_ne_bytes());
            }
            SUCCESS
        })
    }
}

fn words(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_ne_bytes(word.try_into().unwrap())).collect()
}
