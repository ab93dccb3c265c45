//! Rungs on simulated devices of other sizes. Grids suit the device, and the device determines how many blocks run at
//! the same time.

use crate::common::all_right;
use analysis::predict::{Description, properties};
use host::device::{Device as _, Sim};
use host::launch::{Arg, Launch};
use host::{DeviceProperties, KERNELS, Ladder, Options, ladder};

/// The numbers of multiprocessors of an H20, of an H100 on a PCI Express board, of an H100 on an SXM5 board, and of the
/// full die of this GPU.
const SIZES: [u32; 4] = [78, 114, 132, 144];

/// Returns an H100 with another number of multiprocessors, parsed from its description file.
pub fn device(multiprocessors: u32) -> Description {
    let h100 = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/simt/devices/known/h100.toml");
    let text = std::fs::read_to_string(h100).unwrap();
    let text = text.replace("multiprocessors = 132", &format!("multiprocessors = {multiprocessors}"));
    Description::parse("a device of the test", &text).unwrap()
}

fn gemm() -> &'static Ladder {
    ladder("gemm").unwrap()
}

fn sizes(m: u64, n: u64, k: u64) -> Options {
    Options::default().with("m", m).with("n", n).with("k", k)
}

#[test]
fn the_device_reports_its_number_of_multiprocessors() {
    for size in SIZES {
        let sim = Sim::open_device(&KERNELS, 0, &device(size)).unwrap();
        assert_eq!(sim.info().properties(), DeviceProperties { multiprocessors: size });
        assert_eq!(sim.info().properties(), properties(&device(size)));
    }
    let usual = Sim::open(&KERNELS, 0).unwrap();
    assert_eq!((usual.info().multiprocessors, usual.info().properties().multiprocessors), (None, 132));
    let like = Sim::open_like(&KERNELS, 0, None, DeviceProperties { multiprocessors: 7 }).unwrap();
    assert_eq!(like.info().multiprocessors, Some(7));
}

#[test]
fn every_gemm_rung_is_right_on_every_device() {
    for size in SIZES {
        let mut sim = Sim::open_device(&KERNELS, 0, &device(size)).unwrap();
        // The shapes are primes, rows that tensor maps can describe, and more tiles than the smallest device has
        // multiprocessors.
        let shapes = [(127, 61, 37), (200, 136, 72), (1100, 1288, 8)];
        for (m, n, k) in shapes.into_iter().take(if size == SIZES[0] { 3 } else { 2 }) {
            let options = sizes(m, n, k);
            let problem = gemm().problem(&options).unwrap();
            all_right(&mut sim, gemm(), &options, |rung, _| problem.refuses(rung).is_none());
        }
    }
}

#[test]
fn a_grid_is_made_for_the_device() {
    let problem = gemm().problem(&sizes(4096, 4096, 64)).unwrap();
    let reduce = ladder("reduce").unwrap();
    let sums = reduce.problem(&Options::default()).unwrap();
    for multiprocessors in SIZES {
        let device = DeviceProperties { multiprocessors };
        let rung = reduce.rung("reduce_grid_stride").unwrap();
        let launch = reduce.launch(rung, &*sums, Some([256, 1, 1]), device).unwrap();
        assert_eq!(launch.grid, [multiprocessors * 8, 1, 1]);
        // Rungs with a `Geometry` have the same grid on all devices.
        for rung in gemm().rungs.iter().filter(|rung| rung.blocks_wait) {
            let launch = gemm().launch(rung, &*problem, None, device).unwrap();
            assert!(launch.blocks() <= u64::from(multiprocessors), "{launch}");
        }
    }
}

/// A kernel whose blocks wait, in line 7 of a file, until all blocks of the grid have arrived.
const GRID_BARRIER: &str = r#"
.version 7.8
.target sm_80
.address_size 64
.file 1 "grid_barrier.rs"
.visible .entry wait_for_all(.param .u64 counter)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd;
    ld.param.u64 %rd, [counter];
    mov.u32 %r1, %nctaid.x;
    .loc 1 6 1
    atom.global.add.u32 %r2, [%rd], 1;
WAIT:
    .loc 1 7 1
    ld.acquire.gpu.global.u32 %r3, [%rd];
    setp.lt.u32 %p, %r3, %r1;
    @%p bra WAIT;
    ret;
}
"#;

/// Runs [`GRID_BARRIER`] with `blocks` blocks. A multiprocessor runs one of them at a time.
fn wait_for_all(sim: &mut Sim, blocks: u32) -> Result<(), String> {
    let code = sim.load(GRID_BARRIER.to_owned()).unwrap();
    let counter = sim.alloc(4).unwrap();
    sim.fill(counter, 0).unwrap();
    let launch = Launch {
        code,
        entry: "wait_for_all".to_owned(),
        grid: [blocks, 1, 1],
        block: [1, 1, 1],
        shared_bytes: 150_000,
        args: vec![Arg::Buffer(0)],
    };
    // SAFETY: the kernel accesses only the first word of the buffer, which has 4 bytes.
    unsafe { sim.launch(&launch, &[counter]) }.map(drop).map_err(|error| error.to_string())
}

#[test]
fn waiting_for_blocks_that_are_not_resident_is_a_deadlock() {
    let mut large = Sim::open_device(&KERNELS, 1, &device(132)).unwrap();
    assert_eq!(wait_for_all(&mut large, 132), Ok(()));
    let mut sim = Sim::open_device(&KERNELS, 1, &device(114)).unwrap();
    assert_eq!(wait_for_all(&mut sim, 114), Ok(()));
    let why = wait_for_all(&mut sim, 132).unwrap_err();
    assert_eq!(
        why,
        "wait_for_all<<<132, 1, 150000>>> failed: deadlock: warp 0 repeats itself and reads no new value; 114 blocks wait, \
         and block 114 has not started, because the device runs 114 blocks at the same time in kernel `wait_for_all`, block \
         (0, 0, 0), thread (0, 0, 0), PTX line 18: setp.lt.u32 %p, %r3, %r1; [grid_barrier.rs:7]"
    );
}
