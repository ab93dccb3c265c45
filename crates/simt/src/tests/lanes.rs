//! For tests: instructions against plain Rust, lane by lane.

use crate::regs::{LANES, Lanes64};
use crate::tests::{State, eval};
use proptest::prelude::*;

/// Values of four sources: edges and small numbers among random ones.
pub(crate) fn values() -> impl Strategy<Value = [Lanes64; 4]> {
    let value = prop_oneof![
        4 => any::<u64>(),
        2 => any::<u32>().prop_map(u64::from),
        2 => 0..70u64,
        1 => (-70..0i64).prop_map(i64::cast_unsigned),
        1 => (0..64u32).prop_map(|bit| 1 << bit),
        1 => prop::sample::select(vec![
            0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff,
            0x8000_8000, 0x7fff_7fff, u64::MAX >> 1, 1 << 63, u64::MAX,
        ]),
    ];
    let lanes = prop::collection::vec(value, LANES)
        .prop_map(|lanes| Lanes64::try_from(lanes).expect("as many as asked for"));
    prop::collection::vec(lanes, 4).prop_map(|all| all.try_into().expect("as many as asked for"))
}

/// Checks an instruction with these registers, the destination first, each of another number: source `n`
/// holds the values `n - 1`. The reference gets them cut to their register's width. Of a predicate, bit 0
/// is what counts.
pub(crate) fn agree<const N: usize>(
    opcode: &str,
    registers: [&str; N],
    values: &[Lanes64; 4],
    reference: impl Fn(&[u64]) -> u64,
) {
    let [to, sources @ ..] = &registers[..] else {
        panic!("{opcode} without registers");
    };
    let mut state = State::new();
    for (source, lanes) in sources.iter().zip(values) {
        let held = match is_pred(source) {
            true => [mask_of(lanes); LANES],
            false => lanes.map(|value| cut(source, value)),
        };
        state = state.set_lanes(source, held);
    }
    let text = format!("{opcode} {};", registers.join(", "));
    let results = state.run(&text).lanes(to);
    for lane in 0..LANES {
        let inputs: Vec<u64> = sources
            .iter()
            .zip(values)
            .map(|(source, lanes)| cut(source, lanes[lane]))
            .collect();
        let found = match is_pred(to) {
            true => results[lane] >> lane & 1,
            false => results[lane],
        };
        let wanted = cut(to, reference(&inputs));
        assert_eq!(
            found, wanted,
            "{text} of {inputs:#x?}: {found:#x}, not {wanted:#x}"
        );
    }
}

/// An instruction whose first operand is its result, inputs by register, and the result.
pub(crate) type Row<'r> = (&'r str, &'r [(&'r str, u64)], u64);

/// Checks values worked out by hand.
pub(crate) fn check(rows: &[Row<'_>]) {
    for (instruction, inputs, wanted) in rows {
        let to = instruction
            .split_whitespace()
            .nth(1)
            .expect("an operand")
            .trim_end_matches(',');
        let found = eval(instruction, inputs, to);
        assert_eq!(
            found, *wanted,
            "{instruction} of {inputs:x?}: {found:#x}, not {wanted:#x}"
        );
    }
}

fn is_pred(register: &str) -> bool {
    register.starts_with("%p")
}

fn mask_of(lanes: &Lanes64) -> u64 {
    let bits = lanes.iter().enumerate();
    bits.fold(0, |mask, (lane, value)| mask | (value & 1) << lane)
}

fn cut(register: &str, value: u64) -> u64 {
    match register.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "%p" => value & 1,
        "%h" => value & 0xffff,
        "%r" | "%f" => value & 0xffff_ffff,
        _ => value,
    }
}
