#![allow(clippy::unwrap_used)]

use super::*;
use crate::ladders::rung_fixture::output_of;
use engine::DeviceProperties;
use engine::problem::POISON;
use engine::registry::Effort;
use proptest::prelude::*;

fn gemm(sides: [u32; 3], others: &[(&'static str, &str)]) -> Gemm {
    let options = others.iter().fold(product::with(sides), |all, (name, value)| all.with(name, value));
    Gemm::new(&LADDER.complete(&options).unwrap()).unwrap()
}

impl Gemm {
    /// Returns an output that a correct kernel could write: summed in single precision from the first product to the
    /// last, and rounded once.
    fn right(&self) -> Vec<f32> {
        let [m, n, k] = self.sides();
        let line = |at: &dyn Fn(&mut [f64])| {
            let mut line = vec![0.0; k];
            at(&mut line);
            line
        };
        let element = |at: usize| {
            let a = line(&|into| self.inputs().a.read_line(at / n, 0, into));
            let b = line(&|into| self.inputs().b.read_line(at % n, 0, into));
            let sum = a.iter().zip(&b).fold(0f32, |sum, (a, b)| (*a as f32).mul_add(*b as f32, sum));
            self.out.round(sum.into())
        };
        (0..m * n).map(element).collect()
    }

    /// Returns the reason why an output is wrong, or `None` if it is right.
    fn why(&self, found: &[f32]) -> Option<String> {
        let outputs = match self.out {
            Format::F32 | Format::Tf32 => output_of(found),
            out => output_of(&found.iter().map(|value| out.encode(*value)).collect::<Vec<u16>>()),
        };
        match self.check_bytes(&outputs) {
            Verdict::Right => None,
            Verdict::Wrong(why) => Some(why),
        }
    }

    fn check_bytes(&self, outputs: &[Vec<u8>]) -> Verdict {
        let naive = LADDER.rung("gemm_naive").unwrap();
        let launch = LADDER.launch(naive, self, None, DeviceProperties::default()).unwrap();
        self.check(naive, &launch, outputs)
    }
}

const TYPES_AND_OUTS: [(&str, &str); 5] =
    [("bf16", "same"), ("bf16", "f32"), ("f16", "same"), ("f16", "f32"), ("tf32", "same")];

#[test]
fn single_precision_passes_and_a_missing_product_fails() {
    for (kind, out) in TYPES_AND_OUTS {
        for (data, b) in [("uniform", "rows"), ("uniform", "columns"), ("exact", "rows"), ("exact", "columns")] {
            let gemm = gemm([17, 35, 20], &[("type", kind), ("out", out), ("data", data), ("b", b)]);
            let mut c = gemm.right();
            assert_eq!(gemm.why(&c), None, "{}", gemm.labels().title);
            // A product of typical size exceeds the bound and the rounding error of bfloat16.
            let at = 5 * 35 + 33;
            c[at] += 0.25;
            let why = gemm.why(&c).unwrap();
            assert!(why.starts_with("row 5, column 33 of the product is "), "{why}");
            c[at] = f32::NAN;
            assert!(gemm.why(&c).is_some(), "a NaN is wrong");
        }
    }
    let bytes = vec![vec![POISON; 17 * 35 * 2]];
    let why = gemm([17, 35, 20], &[]).check_bytes(&bytes);
    assert!(matches!(why, Verdict::Wrong(why) if why.contains(", the value from before the launch; ")));
    assert!(!gemm([1, 1, 1], &[]).check_bytes(&[]).is_right());
}

#[test]
fn exact_data_require_the_sum_rounded_once() {
    for (kind, out) in TYPES_AND_OUTS {
        let gemm = gemm([3, 40, 500], &[("type", kind), ("out", out), ("data", "exact")]);
        let c = gemm.right();
        for next in [f32::next_up, f32::next_down] {
            let mut wrong = c.clone();
            // The adjacent number in the output's format.
            wrong[7] = loop {
                wrong[7] = next(wrong[7]);
                if gemm.out.round(wrong[7].into()) == wrong[7] {
                    break wrong[7];
                }
            };
            let why = gemm.why(&wrong).unwrap();
            assert_eq!(why, format!("row 0, column 7 of the product is {:e}; {:e} is right", wrong[7], c[7]));
        }
    }
}

#[test]
fn a_16_bit_nan_must_be_the_canonical_nan() {
    for kind in ["bf16", "f16"] {
        let gemm = gemm([64, 64, 30], &[("type", kind), ("data", "special")]);
        let mut c: Vec<u16> = gemm.right().into_iter().map(|value| gemm.out.encode(value)).collect();
        let at = c.iter().position(|bits| *bits == NAN).unwrap();
        c[at] = 0x7ffe;
        let Verdict::Wrong(why) = gemm.check_bytes(&output_of(&c)) else { panic!("another NaN is wrong") };
        let (row, column) = (at / 64, at % 64);
        assert_eq!(why, format!("row {row}, column {column} of the product is 0x7ffe; the NaN 0x7fff is right"));
    }
}

#[test]
fn special_numbers_propagate_as_ieee_754_requires() {
    for (kind, out) in TYPES_AND_OUTS {
        let gemm = gemm([64, 64, 30], &[("type", kind), ("out", out), ("data", "special")]);
        let c = gemm.right();
        assert_eq!(gemm.why(&c), None, "{}", gemm.labels().title);
        let place = |is: &dyn Fn(&f32) -> bool| c.iter().position(is).unwrap();
        for (at, wrong) in [
            (place(&|x| x.is_nan()), 1.0),
            (place(&|x| x.is_nan()), f32::INFINITY),
            (place(&|x| *x == f32::INFINITY), f32::NEG_INFINITY),
            (place(&|x| *x == f32::NEG_INFINITY), f32::NAN),
            (place(&|x| x.is_infinite()), gemm.out.largest() as f32),
            (place(&|x| x.abs() < 10.0), f32::NAN),
        ] {
            let mut c = c.clone();
            c[at] = wrong;
            assert!(gemm.why(&c).is_some(), "{}: {wrong} for {}", gemm.labels().title, gemm.right()[at]);
        }
    }
}

#[test]
fn rungs_refuse_rows_that_are_not_multiples_of_their_bytes() {
    let maps = Rung { name: "of_tensor_maps", row_bytes: 16, ..*LADDER.rung("gemm_naive").unwrap() };
    let why = |sides, others: &[(&'static str, &str)]| gemm(sides, others).refuses(&maps);
    assert_eq!(why([3, 8, 16], &[]), None);
    assert_eq!(why([3, 5, 16], &[("b", "columns")]), None);
    assert_eq!(why([3, 4, 4], &[("type", "tf32")]), None);
    let refused = why([3, 8, 1001], &[]).unwrap();
    assert!(
        refused.starts_with("a row of A has 2002 bytes, which is not a multiple of 16; use --k 1000, or gemm_"),
        "{refused}"
    );
    assert!(refused.ends_with(", which accepts any size"), "{refused}");
    let starts = |sides, others, words: &str| {
        let refused = why(sides, others).unwrap();
        assert!(refused.starts_with(words), "{refused}");
    };
    starts([3, 4, 16], &[], "a row of B has 8 bytes, which is not a multiple of 16; use --n 8");
    starts([3, 8, 6], &[("type", "tf32")], "a row of A has 24 bytes, which is not a multiple of 16; use --k 8");
    // A's rows are as long as B's columns.
    starts([3, 8, 1], &[("b", "columns")], "a row of A has 2 bytes, which is not a multiple of 16; use --k 8");

    let ragged = gemm([3, 8, 1001], &[]);
    assert_eq!(ragged.refuses(LADDER.rung("gemm_naive").unwrap()), None);
    let error = LADDER.launch(&maps, &ragged, None, DeviceProperties::default()).unwrap_err();
    assert!(error.to_string().starts_with("of_tensor_maps cannot compute this: a row of A has 2002 bytes"), "{error}");
    // The rows of A's copy are padded with zeros to 1008 elements. Rungs that cannot be launched need no buffers.
    let bytes: Vec<u64> = ragged.buffers(DeviceProperties::default())[4..].iter().map(|buffer| buffer.bytes).collect();
    assert_eq!(bytes, [0, 3 * 1008 * 2, 0]);
    let maps = ["a_copy_map", "b_copy_map"].map(|name| match ragged.argument(name) {
        Some(Arg::TensorMap(map)) => (map.buffer, map.columns),
        other => panic!("{other:?}"),
    });
    assert_eq!(maps, [(5, 1008), (1, 8)]);
}

#[test]
fn tensor_maps_are_of_whole_matrices_in_tiles_of_128_bytes() {
    let maps = |gemm: &Gemm| {
        ["a_map", "b_map", "c_map"].map(|name| match gemm.argument(name) {
            Some(Arg::TensorMap(TensorMap { buffer, columns, rows, tile, .. })) => (buffer, columns, rows, tile),
            other => panic!("{other:?}"),
        })
    };
    let rows = gemm([3, 8, 16], &[]);
    assert_eq!(maps(&rows), [(0, 16, 3, [64, 64]), (1, 8, 16, [64, 64]), (2, 8, 3, [64, 64])]);
    let columns = gemm([3, 8, 16], &[("b", "columns"), ("out", "f32")]);
    assert_eq!(maps(&columns), [(0, 16, 3, [64, 64]), (1, 16, 8, [64, 64]), (2, 8, 3, [32, 64])]);
    // No map can describe these rows of C.
    let ragged = gemm([3, 5, 16], &[("b", "columns")]);
    assert_eq!(maps(&ragged)[2], (0, 16, 3, [64, 64]));
}

#[test]
fn the_sweeps_have_every_variant_and_every_kind_of_data() {
    for (effort, least) in [(Effort::Full, 3000), (Effort::Quick, 30), (Effort::Least, 10)] {
        let all = (LADDER.sweep)(effort);
        assert!(all.len() >= least, "{effort:?}: {}", all.len());
        let problems = all.iter().map(|options| Gemm::new(&LADDER.complete(options).unwrap()).unwrap());
        let mut kinds: Vec<_> = problems.map(|gemm| (gemm.variant(), gemm.data as usize)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if effort != Effort::Least {
            assert_eq!(kinds.len(), 30, "{effort:?}: {kinds:?}");
        }
        kinds.dedup_by_key(|(variant, _)| variant.clone());
        assert_eq!(kinds.len(), 10, "{effort:?}: {kinds:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_order_of_summation_is_right(m in 1u32..20, n in 1u32..70, k in 1u32..300, kind in 0usize..5, data in 0usize..3) {
        let (kind, out) = TYPES_AND_OUTS[kind];
        let gemm = gemm([m, n, k], &[("type", kind), ("out", out), ("data", DATA[data])]);
        let [mut a, mut b] = [vec![0.0; k as usize], vec![0.0; k as usize]];
        let mut backwards = Vec::new();
        for at in 0..(m * n) as usize {
            gemm.inputs().a.read_line(at / n as usize, 0, &mut a);
            gemm.inputs().b.read_line(at % n as usize, 0, &mut b);
            let products = a.iter().zip(&b).map(|(a, b)| *a as f32 * *b as f32);
            backwards.push(gemm.out.round(products.rev().fold(0f32, |sum, product| sum + product).into()));
        }
        prop_assert_eq!(gemm.why(&backwards), None);
    }
}

#[test]
fn the_smaller_problem_fits_and_every_rung_accepts_it() {
    let all = gemm([1024; 3], &[]);
    let fits = all.smaller(0.5).unwrap();
    assert_eq!(fits.command_line(), "--m 696 --n 696 --k 696");
    let tiny = all.smaller(1e-9).unwrap();
    assert_eq!(tiny.command_line(), "--m 8 --n 8 --k 8");
}
