//! Runs the kernels of `device.rs` on simt.

use std::sync::LazyLock;

use cuda_builder::{CudaBuilder, NvvmArch};
use simt::{Arg, Buffer, Config, Element, Launch, LaunchError, Module, Simulator};

use crate::krate;

static PTX: LazyLock<String> = LazyLock::new(|| {
    let folder = krate("cuda_std_device", false, include_str!("device.rs"));
    let ptx = CudaBuilder::new(folder).arch(NvvmArch::Compute90).build().unwrap();
    std::fs::read_to_string(ptx).unwrap()
});

/// Returns the text that a kernel prints, and the fault that ends it.
fn outcome(simulator: &mut Simulator, kernel: &str, threads: u32, args: &[Arg]) -> (String, Option<String>) {
    let function = Module::from_ptx(PTX.as_str()).unwrap().function(kernel).unwrap();
    let ended = simulator.launch(&Launch::new(&function, [1; 3], [threads, 1, 1], args));
    let printed = String::from_utf8(simulator.take_printed()).unwrap();
    match ended {
        Ok(()) => (printed, None),
        Err(LaunchError::Fault(fault)) => (printed, Some(fault.to_string())),
        Err(error) => panic!("{error}"),
    }
}

/// Returns the values that a kernel writes to its first parameter.
fn results<T: Element>(kernel: &str, threads: u32, len: usize, args: &[Arg]) -> Vec<T> {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let out: Buffer<T> = simulator.zeroed(len).unwrap();
    let args = [&[out.into()], args].concat();
    assert_eq!(outcome(&mut simulator, kernel, threads, &args), (String::new(), None), "{kernel}");
    simulator.read(out).unwrap()
}

#[track_caller]
fn assert_fault(kernel: &str, args: &[Arg], parts: &[&str]) {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let data: Buffer<u32> = simulator.zeroed(4).unwrap();
    let args: Vec<Arg> = match kernel {
        "asserts" | "panics" | "expects" => args.to_vec(),
        _ => [&[data.into()], args].concat(),
    };
    let fault = outcome(&mut simulator, kernel, 8, &args).1.unwrap();
    for part in parts {
        assert!(fault.contains(part), "`{part}` is not in {fault}");
    }
}

/// Returns the line of `device.rs` that contains this text, in the format of a fault.
fn place(text: &str) -> String {
    let line = 1 + include_str!("device.rs").lines().position(|line| line.contains(text)).unwrap();
    format!("src/lib.rs:{line}")
}

#[test]
fn kernel_output_matches_rusts_formatting() {
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let data = simulator.upload(&[7_u32, 300]).unwrap();
    let (printed, fault) = outcome(&mut simulator, "prints", 2, &[data.into()]);
    assert_eq!(fault, None);
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort();
    let long = "long ".repeat(300);
    let expected = [
        "Some(1.75) 0.667 1e-7",
        long.as_str(),
        "thread 0 of UVec3(2, 1, 1): 0x0007, 100%s",
        "thread 1 of UVec3(2, 1, 1): 0x012c, 100%s",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_panic_reports_message_and_location() {
    let asserted = "`assertion `left == right` failed\n  left: 3\n right: 5` failed";
    assert_fault("asserts", &[Arg::U32(3), Arg::U32(5)], &[asserted, &place("assert_eq!(a, b)")]);
    let message = "`thread 5 has 9 of \"µ%\"` failed";
    assert_fault("panics", &[Arg::U32(9)], &[message, &place("panic!("), "thread (5, 0, 0)"]);
    assert_fault("expects", &[Arg::U32(6)], &["`the number is at least 7` failed", &place("expect(")]);

    let index = "`index out of bounds: the len is 4 but the index is 4` failed";
    assert_fault("indexes", &[Arg::U64(4)], &[index, &place("thread() + 2"), "thread (2, 0, 0)"]);
    let range = |start, end| [Arg::U64(start), Arg::U64(end)];
    let message = "`range end index 5 out of range for slice of length 4` failed";
    assert_fault("ranges", &range(1, 5), &[message, &place("start..end")]);
    assert_fault("ranges", &range(6, 5), &["`range start index 6 out of range for slice of length 4` failed"]);
    assert_fault("ranges", &range(3, 2), &["`slice index starts at 3 but ends at 2` failed"]);
    assert_fault("divides", &[Arg::U32(0)], &["`attempt to divide by zero` failed", &place("/= by")]);
}

/// The bodies of the panic functions must not contain calls of formatting code.
#[test]
fn a_check_in_ordinary_code_formats_nothing() {
    for function in ["panic_bounds_check", "slice_index_fail", "panic_const_div_by_zero", "expect_failed"] {
        let mut bodies = PTX.split("\n.func ").filter(|text| {
            let (head, _) = text.split_once('{').unwrap_or_default();
            head.split('(').next().unwrap().contains(function)
        });
        let is_body = |text: &&str| text.lines().any(|line| line.starts_with('{'));
        let body = bodies.find(is_body).unwrap_or_else(|| panic!("no {function}"));
        let body = &body[..body.find("\n}").unwrap()];
        assert!(body.contains("call.uni") && !body.contains("3fmt"), "{body}");
    }
}

#[test]
fn alloc_allocates_and_frees_heap_memory() {
    let sums = results::<u64>("allocates", 3, 3, &[]);
    let expected: Vec<u64> = (0..3)
        .map(|i| {
            let n = 10 + i;
            let text = format!("{i}-{}!", n + 3).len() as u64;
            (n * (n - 1) / 2 + 6 + 32) * 1000 + text * 10 + 1
        })
        .collect();
    assert_eq!(sums, expected);

    let message = "`allocation on the device's heap failed; bytes: 1073741824, alignment: 1` failed";
    assert_fault("has_no_room", &[Arg::U64(1 << 30)], &[message]);
}

#[test]
fn halves_and_vectors_compute() {
    let found = results::<f32>("halves", 32, 32, &[]);
    for (i, found) in found.into_iter().enumerate() {
        let x = 0.1 * (i ^ 1) as f32;
        let expected = x * x + 200.0 * x;
        assert!((found - expected).abs() <= expected / 100.0, "{i}: {found}, expected {expected}");
    }
}

/// The expected values were computed by mpmath with 30 digits.
#[test]
fn functions_are_accurate() {
    let found = results::<f64>("functions", 1, 23, &[Arg::F64(0.3)]);
    let expected = [
        0.328_626_759_459_127_4,
        0.671_373_240_540_872_6,
        0.732_869_077_959_216_9,
        0.734_599_334_567_655_1,
        0.587_785_252_292_473_1,
        0.809_016_994_374_947_5,
        2.991_568_987_687_591,
        1.095_797_994_818_075_6,
        0.977_626_246_538_296_1,
        0.011_165_861_949_063_964,
        -2.293_105_138_388_529_3,
        0.617_911_422_188_952_7,
        -0.524_400_512_708_040_8,
        1.493_801_582_185_721_6,
        0.6,
        -2.0,
        0.262_364_264_467_491_06,
        0.328_626_759_459_127_4,
        0.809_016_994_374_947_5,
        0.3,
        2.4,
        0.547_722_557_505_166_1,
        1.349_858_807_576_003_2,
    ];
    for (at, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        let tolerance = if [17, 18, 19, 20, 22].contains(&at) { 3e-7 } else { 4e-15 };
        assert!((found - expected).abs() <= tolerance * f64::abs(expected), "{at}: {found:?}, expected {expected:?}");
    }
}

#[test]
fn roundings_are_exact() {
    let (a, b) = (1.0_f32, f32::powi(2.0, -24) * 1.5);
    let found = results::<f32>("instructions", 1, 14, &[Arg::F32(a), Arg::F32(b)]);
    let next = 1.0 + f32::EPSILON;
    let quotient = (1.0 / f64::from(b)) as f32;
    let quotient = if f64::from(quotient) * f64::from(b) < 1.0 { quotient.next_up() } else { quotient };
    let root = f64::from(b).sqrt() as f32;
    let root = if f64::from(root) * f64::from(root) > f64::from(b) { root.next_down() } else { root };
    let third = (1.0_f64 / 3.0) as f32;
    let third = if f64::from(third) < 1.0 / 3.0 { third.next_up() } else { third };
    let expected = [
        next,
        1.0,
        1.0,
        next,
        quotient,
        root,
        1.0,
        1.0,
        2_147_483_520.0,
        2.0,
        // 2^-24 is the last place of f16's subnormals. Halves of it round to even.
        f32::powi(2.0, -23),
        third,
        0x0705_0301 as f32,
        -2.0,
    ];
    assert_eq!(found, expected);
}

#[test]
fn integers_of_128_bits_compute() {
    let (a, b) = (-0x1234_5678_9abc_def0_0fed_cba9_8765_4321_i128, 0xffff_1111_2222_3333_i128);
    let wide = |value: i128| Arg::Bytes(value.to_le_bytes().to_vec());
    let found = results::<u64>("wide", 1, 16, &[wide(a), wide(b)]);
    let found: Vec<_> =
        found.chunks(2).map(|words| (u128::from(words[1]) << 64 | u128::from(words[0])) as i128).collect();
    let expected = [a + b, a - b, a.wrapping_mul(b), a / b, a % b, (a as u128 / b as u128) as i128, a >> 67, a << 3];
    assert_eq!(found, expected);
}
