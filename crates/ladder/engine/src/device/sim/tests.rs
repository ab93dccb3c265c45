#![allow(clippy::unwrap_used)]

use super::*;
use crate::Ptx;
use crate::device::Device;
use crate::launch::{Arg, Code, TensorElement, TensorMap};

static NO_KERNELS: [Ptx; 1] = [Ptx::new((7, 5), ".version 6.3\n.target sm_75\n")];
static KERNELS: Kernels = Kernels { modules: &NO_KERNELS, host_compiler: "", build_folder: "", package_folder: "" };

fn launch(code: Code, entry: &str, args: Vec<Arg>) -> Launch {
    Launch { code, entry: entry.to_owned(), grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, args }
}

#[test]
fn variables_keep_their_values_from_launch_to_launch() {
    const COUNTS: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.global .u32 count = 5;\n\
        .entry adds() { .reg .b32 %r1; atom.global.add.u32 %r1, [count], 1; ret; }\n\
        .entry reads(.param .u64 to) { .reg .b32 %r1; .reg .b64 %to; ld.param.u64 %to, [to];\n\
        ld.global.u32 %r1, [count]; st.global.u32 [%to], %r1; ret; }\n";
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let to = sim.alloc(4).unwrap();
    let code = sim.load(COUNTS.to_owned()).unwrap();
    for (entry, args) in [("adds", vec![]), ("adds", vec![]), ("reads", vec![Arg::Buffer(0)])] {
        // SAFETY: the simulator checks every address.
        unsafe { sim.launch(&launch(code, entry, args), &[to]) }.unwrap();
    }
    let mut count = [0; 4];
    sim.download(to, &mut count).unwrap();
    assert_eq!(u32::from_le_bytes(count), 7);
}

#[test]
fn a_tensor_map_is_an_argument_by_value() {
    // The tile of 8 rows × 32 words whose first element is at row 8, column 32.
    const COPIES: &str = ".version 8.6\n.target sm_90\n.address_size 64\n\
        .entry copies(.param .align 64 .b8 map[128], .param .u64 to) { .reg .pred %p1; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n\
        .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 bar;\n\
        mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; mov.u32 %r1, tile; ld.param.u64 %rd2, [to];\n\
        mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 1024;\n\
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {32, 8}], [bar];\n\
        WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra WAIT;\n\
        add.u32 %r2, %r1, 1024;\n\
        NEXT: ld.shared.u32 %r3, [%r1]; st.global.u32 [%rd2], %r3; add.u32 %r1, %r1, 4; add.u64 %rd2, %rd2, 4;\n\
        setp.lt.u32 %p1, %r1, %r2; @%p1 bra NEXT; ret; }\n";
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let matrix: Vec<u8> = (1..=480_u32).flat_map(u32::to_le_bytes).collect();
    let buffers = [sim.alloc(matrix.len()).unwrap(), sim.alloc(1024).unwrap()];
    sim.upload(buffers[0], &matrix).unwrap();
    let code = sim.load(COPIES.to_owned()).unwrap();
    let map = TensorMap {
        buffer: 0,
        begin: 0,
        element: TensorElement::U32,
        columns: 40,
        rows: 12,
        matrices: None,
        tile: [32, 8],
    };
    let with = |map| launch(code, "copies", vec![Arg::TensorMap(map), Arg::Buffer(1)]);
    // SAFETY: the simulator checks every address.
    unsafe { sim.launch(&with(map), &buffers) }.unwrap();
    let mut tile = [0; 1024];
    sim.download(buffers[1], &mut tile).unwrap();
    for (at, bytes) in tile.chunks(4).enumerate() {
        let (row, place) = (at / 32, at % 32);
        // The 128-byte swizzle stores the element of this row and column at `place`. The swizzle is an involution.
        let (row, column) = (row + 8, ((place / 4) ^ row) * 4 + place % 4 + 32);
        let right = if row < 12 && column < 40 { row * 40 + column + 1 } else { 0 };
        assert_eq!(u32::from_le_bytes(bytes.try_into().unwrap()) as usize, right, "row {row}, column {column}");
    }

    let cases = [
        (TensorMap { columns: 39, ..map }, "12 rows of 39 U32, 156 bytes apart, in tiles of 8 × 32 at address 0x"),
        (
            TensorMap { tile: [33, 8], ..map },
            "a tensor map's tile has rows of 132 bytes, which is not a multiple of 16",
        ),
        (TensorMap { rows: 0, ..map }, "a tensor map's sizes must be 1 to 2^32"),
        (TensorMap { buffer: 2, ..map }, "buffer 2 is an argument, but the number of bound buffers is 2"),
    ];
    for (map, why) in cases {
        // SAFETY: the simulator checks every address.
        let error = unsafe { sim.launch(&with(map), &buffers) }.unwrap_err();
        assert!(matches!(error, Error::Launch { .. }) && error.to_string().contains(why), "{error}");
    }
}
