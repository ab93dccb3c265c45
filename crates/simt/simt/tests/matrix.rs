//! Tests of tensor cores: time, wavefronts and faults. The crate `difftest` compares the bits of all forms with a
//! GPU's.

use devices::Latencies;
use simt::counters::Value;

use simt::matrix::{Arithmetic, Element, Product};
use simt::{Config, Counters, Launch, LaunchError, Module, Simulator};
use simt_timing::CriticalPath;

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// Returns a kernel of one warp group with 2 KiB of shared memory at the address `%r20`; `%r21` is the thread's index.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.entry k(.param .u64 p) {{\n.shared .align 128 .b8 memory[2048];\n\
         .reg .b32 %r<40>;\n.reg .f32 %f<40>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\n\
         mov.u32 %r20, memory;\nmov.u32 %r21, %tid.x;\n{body}\nret;\n}}"
    )
}

fn counted(text: &str) -> Result<Counters, LaunchError> {
    let function = Module::from_ptx(text).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let buffer = simulator.zeroed::<u32>(32).unwrap();
    let args = [buffer.into()];
    simulator.launch_counted(&Launch::new(&function, [1, 1, 1], [32, 1, 1], &args))
}

fn fault(body: &str) -> String {
    counted(&kernel(body)).unwrap_err().to_string()
}

/// Measures the latency and rate of products with a chain in which each product adds to the previous product's sums.
#[test]
fn products_have_latency_and_rate() {
    let chain = |one: &str, count: usize| {
        let function = Module::from_ptx(kernel(&one.repeat(count))).unwrap().function("k").unwrap();
        let latencies = Latencies {
            alu: 4,
            special: 18,
            shuffle: 23,
            shared: 29,
            atomic: 4,
            l1: 41,
            l2: 263,
            memory: 479,
            barrier: 15,
            mma: 33,
            wgmma: 0,
            wgmma_group: 0,
            mbarrier: 0,
            bulk: 0,
            bulk_memory: 0,
            tile_memory: 0,
            bulk_store: 0,
            cluster: 0,
        };
        let mut simulator = Simulator::new(Config::default()).unwrap();
        let args = [simulator.zeroed::<u32>(32).unwrap().into()];
        let path = CriticalPath::new(&function, latencies, 64 << 10, &[]);
        let launch = Launch::new(&function, [1, 1, 1], [128, 1, 1], &args);
        simulator.launch_observed(&launch, path).unwrap().resource_use()
    };
    let cases = [
        // 16 x 8 x 16 and 16 x 8 x 8 products of halves, and a quarter of 64 x 64 x 16.
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};\n",
            33,
            2048.0,
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4}, {%f0,%f1,%f2,%f3};\n",
            25,
            1024.0,
        ),
        (
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r6,%r7,%r8,%r9}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7,%r8,%r9};\n",
            33,
            2048.0,
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r20];\nand.b32 %r0, %r0, 0;\nadd.u32 %r20, %r20, %r0;\n",
            29 + 2 * 4,
            0.0,
        ),
    ];
    for (one, latency, products) in cases {
        let (few, many) = (chain(one, 10), chain(one, 30));
        assert_eq!(many.cycles[0] - few.cycles[0], 20 * latency, "{one}");
        assert_eq!(many.warp_products - few.warp_products, 4.0 * 20.0 * products, "{one}");
    }
}

/// Eight rows of 16 bytes are a wavefront, if they lie in different banks.
#[test]
fn matrix_loads_count_wavefronts_of_rows() {
    let wavefronts = |distance: u32, stores: bool| {
        let name = if stores { "stmatrix" } else { "ldmatrix" };
        let (to, from) = ("{%r0, %r1, %r2, %r3}", "[%r22]");
        let (to, from) = if stores { (from, to) } else { (to, from) };
        let body = format!(
            "and.b32 %r22, %r21, 7;\nmad.lo.u32 %r22, %r22, {distance}, %r20;\n\
             {name}.sync.aligned.m8n8.x4.shared.b16 {to}, {from};"
        );
        let way = if stores { "st" } else { "ld" };
        let name = format!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{way}.sum");
        let counters = counted(&kernel(&body)).unwrap();
        // For its per-instruction counters, a GPU counts only plain loads and stores (`lab agree gemm` on an H200).
        let by_instruction = format!("smsp__sass_{}", name.replacen("__", "_", 1));
        assert_eq!(counters.get(&by_instruction), Some(Value::Count(0)));
        match counters.get(&name) {
            Some(Value::Count(count)) => count,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(wavefronts(16, false), 4);
    assert_eq!(wavefronts(144, false), 4);
    assert_eq!(wavefronts(128, false), 32);
    assert_eq!(wavefronts(64, true), 16);
}

#[test]
fn invalid_uses_are_faults() {
    let mma = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \
               {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};";
    let rows = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r20+8];";
    let group = "mov.b64 %d0, 0x1000100080;\nsetp.eq.u32 %p0, 0, 0;\n\
                 wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %d0, %d0, %p0, 1, 1, 0, 0;";
    let cases = [
        (format!("setp.lt.u32 %p0, %r21, 9;\n@%p0 {mma}"), "lanes that are not there (0xfffffe00)"),
        (rows.to_owned(), "misaligned read of 16 bytes"),
        (rows.replace("+8", "+2048"), "0 bytes past the end of the block's shared memory of 2048 bytes"),
        (
            group.to_owned(),
            "matrix descriptor 0x1000100080: out of bounds read of 2 bytes at 0x800, 0 bytes past the end of \
                            the block's shared memory of 2048 bytes",
        ),
        (group.replace("0x1000100080", "0x1000100000"), "a warp-group product with only 1 of 4 warps"),
    ];
    for (body, words) in cases {
        let text = fault(&body);
        assert!(text.contains(words), "{text}");
    }
}

/// Tests zeros of either sign, infinities, NaNs, subnormal and other numbers; some rows and columns are zero. The
/// product of a sparse A skips no terms, so a sparse A that selects all its elements must give the dense product.
#[test]
fn sparse_products_equal_dense_products() {
    const SIDES: [usize; 3] = [16, 24, 16];
    let mut random = fastrand::Rng::with_seed(7);
    for (element, infinity) in [(Element::F16, 0x7c00), (Element::Bf16, 0x7f80)] {
        for (sum, bits, infinite_sum) in [(Element::F32, 32, 0x7f80_0000), (Element::F16, 16, 0x7c00)] {
            let [m, n, k] = SIDES;
            let arithmetic = Arithmetic::Float { step: 16 };
            let product = Product { m, n, k, count: 1, a: element, b: element, c: sum, d: sum, arithmetic };
            let chosen: Vec<u16> = (0..m).flat_map(|_| 0..k as u16).collect();
            let mut line = |length: usize, is_sum: bool| -> Vec<u64> {
                let kind = random.u32(0..4);
                let (top, special) = if is_sum { (bits - 1, infinite_sum) } else { (15, infinity) };
                let mut number = || match random.u32(0..8) {
                    0 => special | u64::from(random.bool()),
                    1 => special | 1 << top,
                    2 => 1 << top,
                    3 => random.u64(0..4),
                    4 => 0,
                    _ => random.u64(..) & ((1 << (top + 1)) - 1),
                };
                match kind {
                    0 => vec![0; length],
                    1 => vec![1 << top; length],
                    2 => (0..length).map(|_| number() & !special).collect(),
                    _ => (0..length).map(|_| number()).collect(),
                }
            };
            for _ in 0..100 {
                let [a, b] = [m, n].map(|lines| (0..lines).flat_map(|_| line(k, false)).collect::<Vec<u64>>());
                let sums: Vec<u64> = (0..m).flat_map(|_| line(n, true)).collect();
                let [mut found, mut right] = [sums.clone(), sums];
                product.add(&a, &b, &mut found, None);
                // A column of B is twice as long as a row of a sparse A.
                let long: Vec<u64> = b.chunks(k).flat_map(|column| [column, &vec![0; k]].concat()).collect();
                product.add(&a, &long, &mut right, Some(&chosen));
                assert_eq!(found, right, "{product:?}");
            }
        }
    }
}
