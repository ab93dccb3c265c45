//! Occupancy of four kernels as an H200's driver reports it, and cooperative launches of the maximum size.

use std::ffi::c_void;
use std::fs;

use crate::support::{
    INVALID_VALUE, OK, attribute, context, cuCtxSynchronize, cuMemAlloc_v2, cuMemcpyDtoH_v2, cuMemsetD8_v2, file,
    functions, in_child_process, kernel,
};

/// `CUlaunchConfig` and `CUlaunchAttribute`.
#[repr(C)]
pub(crate) struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: usize,
    attributes: *const Attribute,
    count: u32,
}

#[repr(C)]
pub(crate) struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

type SharedBytes = Option<extern "C" fn(i32) -> usize>;

functions! {
    fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: usize);
    fn cuFuncSetAttribute(function: usize, attribute: u32, value: i32);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(count: *mut i32, function: usize, threads: i32, shared: usize);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: *mut i32, function: usize, threads: i32, shared: usize, flags: u32,
    );
    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut i32, block: *mut i32, function: usize, shared_of: SharedBytes, shared: usize, limit: i32,
    );
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut i32, block: *mut i32, function: usize, shared_of: SharedBytes, shared: usize, limit: i32, flags: u32,
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: usize, count: i32, threads: i32);
    fn cuOccupancyMaxPotentialClusterSize(blocks: *mut i32, function: usize, config: *const Config);
    fn cuOccupancyMaxActiveClusters(count: *mut i32, function: usize, config: *const Config);
    fn cuLaunchCooperativeKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: usize, params: *const *const c_void,
    );
}

const INVALID_HANDLE: u32 = 400;
const COOPERATIVE_LAUNCH_TOO_LARGE: u32 = 720;
const INVALID_CLUSTER_SIZE: u32 = 912;

fn ptx(directives: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {directives} {{ {body} ret; }}\n"
    )
}

/// Returns a plain kernel, two kernels with bounds on the block size, and a kernel with 20,000 bytes of shared memory.
fn kernels() -> [usize; 4] {
    let shared = ".shared .b8 s[20000]; .reg .u64 a; mov.u64 a, s; .reg .u64 q; ld.param.u64 q, [p]; st.u64 [q], a;";
    [("", ""), (".maxntid 64", ""), (".reqntid 128", ""), ("", shared)]
        .map(|(directives, body)| kernel(&ptx(directives, body)))
}

fn active(function: usize, threads: i32, shared: usize) -> Result<i32, u32> {
    let mut count = -9;
    match cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut count, function, threads, shared) {
        OK => Ok(count),
        code => Err(code),
    }
}

fn potential(function: usize, shared_of: SharedBytes, shared: usize, limit: i32) -> Result<(i32, i32), u32> {
    let (mut grid, mut block) = (-9, -9);
    match cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, function, shared_of, shared, limit) {
        OK => Ok((grid, block)),
        code => Err(code),
    }
}

fn available(function: usize, count: i32, threads: i32) -> Result<usize, u32> {
    let mut bytes = 0;
    match cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, function, count, threads) {
        OK => Ok(bytes),
        code => Err(code),
    }
}

/// Returns the largest cluster size and the number of clusters that run at a time, for a launch with `block` threads
/// per block.
fn clusters(
    function: usize,
    cluster: Option<[u32; 3]>,
    block: u32,
    shared: u32,
) -> (Result<i32, u32>, Result<i32, u32>) {
    let mut value = [0; 16];
    value[..3].copy_from_slice(&cluster.unwrap_or_default());
    let attribute = Attribute { id: 4, padding: 0, value };
    let config = Config {
        grid: [48, 2, 2],
        block: [block, 1, 1],
        shared_bytes: shared,
        stream: 0,
        attributes: &attribute,
        count: cluster.is_some().into(),
    };
    let query = |function_of: fn(*mut i32, usize, *const Config) -> u32| {
        let mut value = -9;
        match function_of(&mut value, function, &config) {
            OK => Ok(value),
            code => Err(code),
        }
    };
    (query(cuOccupancyMaxPotentialClusterSize), query(cuOccupancyMaxActiveClusters))
}

#[test]
fn active_blocks_per_multiprocessor() {
    context(0);
    let [plain, bound, required, shared] = kernels();
    for function in [plain, bound, required] {
        let requests = [(128, 0), (1024, 0), (1025, 0), (64, 0), (65, 0), (128, 40_000), (128, 60_000), (128, 300_000)];
        let found = requests.map(|(threads, bytes)| active(function, threads, bytes));
        assert_eq!(found, [16, 2, 0, 32, 21, 5, 0, 0].map(Ok));
        assert_eq!([0, -1].map(|threads| active(function, threads, 0)), [Err(INVALID_VALUE); 2]);
    }
    let requests = [(128, 0), (1024, 0), (64, 0), (128, 40_000)];
    assert_eq!(requests.map(|(threads, bytes)| active(shared, threads, bytes)), [11, 2, 11, 0].map(Ok));
    let blocks_with_flags = |flags| {
        let mut count = -9;
        (cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut count, plain, 128, 0, flags), count)
    };
    assert_eq!([0, 1, 2].map(blocks_with_flags), [(OK, 16), (OK, 16), (INVALID_VALUE, -9)]);
    assert_eq!(active(0x33, 128, 0), Err(INVALID_HANDLE));
    assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(std::ptr::null_mut(), plain, 128, 0), INVALID_VALUE);
    let attribute_of = |function, number| {
        let mut value = -9;
        assert_eq!(cuFuncGetAttribute(&mut value, number, function), OK);
        value
    };
    assert_eq!([plain, bound, required, shared].map(|function| attribute_of(function, 0)), [1024, 64, 1024, 1024]);
    assert_eq!([5, 6, 8].map(|number| attribute_of(shared, number)), [75, 90, 29_152]);
}

#[test]
fn block_size_with_the_highest_occupancy() {
    extern "C" fn two_hundred_each(threads: i32) -> usize {
        threads as usize * 200
    }
    context(0);
    let [plain, bound, _, shared] = kernels();
    let sizes_with_limits = |function| [0, 100, -1, 5000].map(|limit| potential(function, None, 0, limit));
    assert_eq!(sizes_with_limits(plain), [Ok((264, 1024)), Ok((4224, 64)), Err(INVALID_VALUE), Ok((264, 1024))]);
    assert_eq!(sizes_with_limits(bound), [Ok((4224, 64)), Ok((4224, 64)), Err(INVALID_VALUE), Ok((4224, 64))]);
    assert_eq!(sizes_with_limits(shared), [Ok((264, 1024)), Ok((1452, 100)), Err(INVALID_VALUE), Ok((264, 1024))]);
    let computed = [plain, bound, shared].map(|function| potential(function, Some(two_hundred_each), 0, 0));
    assert_eq!(computed, [(660, 224), (2112, 64), (528, 128)].map(Ok));
    let sizes_with_shared = |shared| [plain, bound].map(|function| potential(function, None, shared, 0));
    assert_eq!(sizes_with_shared(30_000), [(264, 1024), (924, 64)].map(Ok));
    assert_eq!(sizes_with_shared(99_999), [(0, 0); 2].map(Ok));
    let (mut grid, mut block) = (0, 0);
    let flags = 2;
    let code = cuOccupancyMaxPotentialBlockSizeWithFlags(&mut grid, &mut block, plain, None, 0, 0, flags);
    assert_eq!(code, INVALID_VALUE);
    assert_eq!(cuOccupancyMaxPotentialBlockSize(std::ptr::null_mut(), &mut block, plain, None, 0, 0), INVALID_VALUE);
}

#[test]
fn available_shared_memory() {
    context(0);
    let [plain, .., shared] = kernels();
    let available_bytes = |function| {
        [(1, 128), (2, 128), (4, 128), (16, 128)].map(|(count, threads)| available(function, count, threads))
    };
    assert_eq!(available_bytes(plain), [49_152, 49_152, 49_152, 14_592].map(Ok));
    assert_eq!(available_bytes(shared), [Ok(29_152), Ok(29_152), Ok(29_152), Err(INVALID_VALUE)]);
    for (count, threads) in [(32, 128), (17, 128), (0, 128), (1, 0), (1, 2048), (100, 32)] {
        assert_eq!(available(plain, count, threads), Err(INVALID_VALUE), "{count} blocks of {threads}");
    }
    assert_eq!(cuFuncSetAttribute(plain, 8, 200_000), OK);
    assert_eq!(available(plain, 2, 128), Ok(116_736));
    assert_eq!([60_000, 200_001].map(|bytes| active(plain, 128, bytes)), [Ok(3), Ok(0)]);
}

/// A GPU runs fewer clusters if a cluster would cross the border of a graphics processing cluster. The simulator has no
/// such borders.
#[test]
fn clusters_of_blocks() {
    context(0);
    let [plain, .., shared] = kernels();
    let refused = (Err(INVALID_CLUSTER_SIZE), Err(INVALID_CLUSTER_SIZE));
    assert_eq!(clusters(plain, None, 128, 0), (Ok(8), Ok(0)));
    assert_eq!(clusters(plain, Some([1; 3]), 128, 0), (Ok(8), Ok(1056)));
    assert_eq!(clusters(plain, Some([2, 1, 1]), 128, 0), (Ok(8), Ok(528)));
    assert_eq!(clusters(plain, Some([2, 1, 1]), 128, 40_000), (Ok(8), Ok(330)));
    assert_eq!(clusters(shared, Some([2, 1, 1]), 128, 40_000), (Ok(0), Ok(0)));
    assert_eq!(clusters(plain, Some([8, 1, 1]), 128, 100_000), (Ok(0), Ok(0)));
    for wrong in [[16, 1, 1], [0, 1, 1], [5, 1, 1], [u32::MAX, 2, 2]] {
        assert_eq!(clusters(plain, Some(wrong), 128, 0), refused, "{wrong:?}");
    }
    assert_eq!(cuFuncSetAttribute(plain, 14, 1), OK);
    assert_eq!(clusters(plain, Some([16, 1, 1]), 128, 0).0, Ok(16));
    assert_eq!(clusters(plain, None, 128, 0), (Ok(16), Ok(0)));
}

/// A grid-wide barrier: each block increments a counter and waits for the other blocks.
const BARRIER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .u64 a;\n.reg .u32 old, now, all, t;\n.reg .pred q, first;
    ld.param.u64 a, [p];\nld.param.u32 all, [n];\nmov.u32 t, %tid.x;\nsetp.ne.u32 first, t, 0;
    @first bra END;
    atom.global.add.u32 old, [a], 1;
WAIT:
    ld.volatile.global.u32 now, [a];\nsetp.lt.u32 q, now, all;
    @q bra WAIT;
END:
    bar.sync 0;\nret;\n}\n";

/// Launches the maximum number of blocks according to the occupancy, which wait for each other. A launch with one more
/// block is refused.
fn cooperate(multiprocessors: i32, threads: u32, shared: u32) {
    context(0);
    let function = kernel(BARRIER);
    assert_eq!(attribute(16, 0), multiprocessors);
    assert_eq!(cuFuncSetAttribute(function, 8, shared as i32), OK);
    let blocks = active(function, threads as i32, shared as usize).expect("a kernel that fits");
    let blocks = blocks as u32 * multiprocessors as u32;
    let mut counter = 0;
    assert_eq!(cuMemAlloc_v2(&mut counter, 4), OK);
    assert_eq!(cuMemsetD8_v2(counter, 0, 4), OK);
    let launch = |blocks: u32| {
        let params: [*const c_void; 2] = [(&raw const counter).cast(), (&raw const blocks).cast()];
        cuLaunchCooperativeKernel(function, blocks, 1, 1, threads, 1, 1, shared, 0, params.as_ptr())
    };
    assert_eq!(launch(blocks + 1), COOPERATIVE_LAUNCH_TOO_LARGE);
    assert_eq!(launch(blocks), OK);
    assert_eq!(cuCtxSynchronize(), OK);
    let mut counted = 0u32;
    assert_eq!(cuMemcpyDtoH_v2((&raw mut counted).cast(), counter, 4), OK);
    assert_eq!(counted, blocks);
}

#[test]
fn cooperative_launches_on_a_small_device() {
    if in_child_process("occupancy::cooperative_launches_on_a_small_device", &[("LADDER_SIM_DEVICE", "t4")]) {
        cooperate(40, 1024, 0);
    }
}

/// More multiprocessors than any GPU of this architecture has.
#[test]
fn cooperative_launches_on_a_large_device() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("large.toml").display().to_string();
    let h200 = fs::read_to_string(file("crates/simt/devices/known/h200.toml")).expect("the description of an H200");
    fs::write(&path, h200.replace("multiprocessors = 132", "multiprocessors = 160")).expect("the folder is writable");
    if in_child_process("occupancy::cooperative_launches_on_a_large_device", &[("LADDER_SIM_DEVICE", &path)]) {
        // One block per multiprocessor.
        cooperate(160, 32, 150_000);
    }
}
