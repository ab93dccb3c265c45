//! Loops with known numbers.
#![allow(clippy::unwrap_used)]

use devices::Description;
use simt::{Config, Launch, Module, Simulator};

use super::super::figure::{Figure, Shade};
use super::{Parsed, draw, number};
use crate::{Watch, record};

/// Each thread computes the maximum of `row` and the sum of its exponentials in one pass over `n` elements, and repeats
/// the pass `turns` times.
const ONLINE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry kernel(.param .u64 .ptr .global .align 4 row, .param .u32 n, .param .u32 turns)\n{\n\
    .reg .b32 %r<20>;\n.reg .b64 %rd<3>;\n.reg .pred %p<3>;\n\
    ld.param.u32 %r2, [n];\nld.param.u32 %r3, [turns];\n\
    TURN:\n\
    ld.param.u64 %rd1, [row];\nmov.b32 %r1, 0;\nmov.b32 %r4, 0fFF800000;\nmov.b32 %r5, 0f00000000;\n\
    LOOP:\n\
    mov.b32 %r6, %r4;\n\
    ld.global.b32 %r7, [%rd1];\n\
    max.f32 %r4, %r6, %r7;\n\
    sub.f32 %r8, %r6, %r4;\nmul.f32 %r8, %r8, 0f3FB8AA3B;\nex2.approx.f32 %r9, %r8;\n\
    sub.f32 %r10, %r7, %r4;\nmul.f32 %r10, %r10, 0f3FB8AA3B;\nex2.approx.f32 %r11, %r10;\n\
    fma.rn.f32 %r5, %r5, %r9, %r11;\n\
    add.s32 %r1, %r1, 1;\nadd.s64 %rd1, %rd1, 4;\n\
    setp.lt.u32 %p1, %r1, %r2;\n@%p1 bra LOOP;\n\
    sub.s32 %r3, %r3, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra TURN;\n\
    ret;\n}\n";

/// Returns the figures of a launch of one warp.
fn drawn(row: &[f32], turns: u32) -> Vec<Figure> {
    let function = Module::from_ptx(ONLINE).unwrap().function("kernel").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let data = simulator.upload(row).unwrap();
    let args = [data.into(), (row.len() as u32).into(), turns.into()];
    let launch = Launch::new(&function, [1; 3], [32, 1, 1], &args);
    draw(&record(&mut simulator, &launch, Watch::new(Description::open("h100").unwrap())).unwrap().recording)
}

/// The row in the book's picture `online-softmax`.
#[test]
fn the_steps_of_an_online_softmax() {
    let figures = drawn(&[2.0, 1.0, 4.0, 3.0, 4.0, 7.0, 5.0, 6.0], 3);
    let [figure] = &figures[..] else { panic!("{} figures", figures.len()) };
    let grid = &figure.grids[0];
    let row = |label: &str| grid.rows.iter().find(|row| row.label == label).unwrap();
    let texts = |label: &str| row(label).cells.iter().map(|cell| &*cell.text).collect::<Vec<_>>().join(" ");
    assert_eq!(texts("mov %r6"), "-∞ 2 2 4 4 4 7 7");
    assert_eq!(texts("ld %r7"), "2 1 4 3 4 7 5 6");
    assert_eq!(texts("max %r4"), "2 2 4 4 4 7 7 7");
    assert_eq!(texts("ex2 %r9"), "0 1 0.135 1 1 0.05 1 1");
    assert_eq!(texts("ex2 %r11"), "1 0.368 1 0.368 1 1 0.135 0.368");
    assert_eq!(texts("fma %r5"), "1 1.368 1.185 1.553 2.553 1.127 1.262 1.63");
    // The index has no row, because it is not an f32.
    assert_eq!(grid.rows.len(), 10);
    let shades: Vec<Shade> = row("max %r4").cells.iter().map(|cell| cell.shade).collect();
    let (new, same) = (Shade::Turn(3), Shade::Used);
    assert_eq!(shades, [new, same, new, same, same, new, same, same]);
    assert!(row("ex2 %r9").cells.iter().all(|cell| cell.shade == Shade::Idle));
}

#[test]
fn short_loops_are_not_drawn_and_long_ones_are_cut() {
    assert!(drawn(&[1.0, 2.0], 1).is_empty());
    let figures = drawn(&[1.0; 40], 1);
    assert_eq!((figures[0].grids[0].columns.len(), figures[0].counts[0]), (16, ("steps", 40)));
    assert!(figures[0].grids[0].caption.ends_with("; 24 more steps are left out"), "{}", figures[0].grids[0].caption);
}

#[test]
fn numbers_are_short() {
    let texts = [
        (0.0, "0"),
        (1.0, "1"),
        (-1.0, "-1"),
        (3.171_9, "3.172"),
        (-3.171_9, "-3.17"),
        (9.999_7, "10"),
        (0.049_787, "0.05"),
        (100.0, "100"),
        (-137.96, "-138"),
        (1e-9, "1e-9"),
        (-3.1e20, "-3e20"),
        (f32::NEG_INFINITY, "-∞"),
        (f32::NAN, "NaN"),
    ];
    for (value, text) in texts {
        assert_eq!(number(value), text);
    }
    assert!((-2_000_000..2_000_000).step_by(997).all(|i| number(i as f32 / 1000.0).chars().count() <= 5));
}

#[test]
fn instructions_are_parsed() {
    let parsed = |line| {
        let Parsed { name, writes, reads } = Parsed::new(line);
        (name, writes, reads)
    };
    assert_eq!(parsed("\tmax.f32 \t%r75, %r7, %r11;"), ("max.f32", vec!["%r75"], vec!["%r7", "%r11"]));
    assert_eq!(
        parsed("@!%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8];"),
        ("ld.global.v2.b32", vec!["%r1", "%r2"], vec!["%rd1"])
    );
    let kind = |line| (Parsed::new(line).reads_floats(), Parsed::new(line).gives_float());
    assert_eq!(kind("fma.rn.f32 %r1, %r2, %r3, %r1;"), (true, true));
    assert_eq!(kind("setp.lt.f32 %p1, %r1, %r2;"), (true, false));
    assert_eq!(kind("ld.shared.f32 %r1, [%r2];"), (false, true));
    assert_eq!(kind("cvt.rn.f32.s32 %r1, %r2;"), (false, true));
    assert_eq!(kind("cvt.rzi.s32.f32 %r1, %r2;"), (true, false));
    assert_eq!(kind("add.s32 %r1, %r2, %r3;"), (false, false));
}
