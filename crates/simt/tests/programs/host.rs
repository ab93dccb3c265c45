//! What some of the programs compute, computed by the host.

/// A word of a result, by its place.
type Word = fn(u32) -> u32;

/// Kernels, each with the words of its result.
#[rustfmt::skip]
pub(crate) const RESULTS: &[(&str, Word)] = &[
    ("exit_then_shuffle", |t| match (t % 32, t / 32) {
        (lane, _) if lane % 3 == 2 => 0,
        (lane, block) => { let other = if lane % 3 == 0 { lane + 1 } else { lane - 1 }; other * other + block }
    }),
    ("exit_then_activemask", |word| [(1 << 21) - 1, !(0x4924_9249 << 1), 21][word as usize]),
    ("exit_completes_a_barrier", |t| if t < 32 { (0..t * 4).sum() } else { 32 }),
    ("exit_in_a_function", |lane| if lane % 2 == 1 { 0 } else { (lane ^ 2) * 5 + 16 }),
    ("block_of_7_by_5", |t| {
        let lanes = if t < 32 { 0..32 } else { 32..35 };
        lanes.map(|t| t % 7 * 10 + t / 7 + if t % 7 > t / 7 { 65536 } else { 0 }).sum()
    }),
    ("shuffle_from_two_branches", |t| {
        let own = |t: u32| (0..t % 32).fold(t, |own, _| own.wrapping_mul(5));
        if t % 2 == 0 { own(t + 1).wrapping_mul(3) } else { (t - 1 + 100) ^ 0xabcd }
    }),
    ("vote_from_three_branches", |lane| {
        let yes = |lane: &u32| match lane % 3 { 0 => *lane > 10, 1 => true, _ => lane % 2 == 1 };
        let votes = (0..32).filter(yes).map(|lane| 1u32 << lane).sum::<u32>();
        match lane % 3 { 0 => votes.wrapping_add(1), 1 => votes.wrapping_mul(3), _ => votes ^ 0xffff }
    }),
    ("lock_with_a_flag", |word| [(0..64).sum(), 64][word as usize]),
    ("lock_before_the_work", |word| [(0..64).sum(), 64][word as usize]),
    ("lock_in_functions", |_| 2),
    ("ticket_lock", |ticket| ticket * 3),
    ("try_lock_and_sleep", |_| (0..64).map(|t| t % 32 * 2 + t / 32).sum()),
    ("lock_across_blocks", |word| match word {
        0 => (0..160).sum(),
        _ => (0..160u32).fold(0, |all, t| all ^ t.wrapping_mul(2_654_435_761)),
    }),
    ("semaphore", |word| [(0..64).sum(), 1][word as usize]),
    ("queue_lock", |_| (1..=96).map(|me| me * me).sum()),
    ("readers_and_writers", |word| match word {
        0 => (0..64).filter(|t| t % 8 == 3).sum(),
        1 => (0..64).filter(|t| t % 8 == 3).sum::<u32>() * 2,
        word => u32::from((word - 2) % 8 != 3),
    }),
    ("lanes_wait_for_lower_lanes", |t| (1..=t).fold(1u32, |value, t| (value | 1).wrapping_mul(3).wrapping_add(t))),
    ("lanes_wait_with_atomics", |lane| (0..32).find(|n| n * 7 % 32 == lane).unwrap()),
    ("lanes_take_turns", |lane| {
        let factor = if lane % 2 == 0 { 3 } else { 5 };
        (0..6).fold(lane, |sum, round| sum * factor + round)
    }),
    ("attempts_counted_in_memory", |_| 1),
    ("digits_in_memory", |at| if (32..64).contains(&at) { 71 } else { 61 }),
    ("block_tickets", |item| item * item + item / 32),
    ("look_back_scan", |item| (0..=item).map(|item| item.wrapping_mul(2_654_435_761) >> 25).sum()),
    ("last_block_reduces", |word| {
        let part = |block: u32| (block * 64..block * 64 + 64).map(|t: u32| t * t).sum::<u32>();
        match word {
            0 => (0..640).map(|t| t * t).sum(),
            1 => (0..10).fold(0u32, |history, block| history.wrapping_mul(31).wrapping_add(part(block))),
            _ => 0,
        }
    }),
    ("queue_of_work", |word| match word {
        0 => (1..=118).sum(),
        1 => (1..=118).map(|node| node * node).sum(),
        2 => (1..=118u32).fold(0, |all, node| all ^ node.wrapping_mul(2_654_435_761)),
        _ => 118,
    }),
    ("recursion_fibonacci", |t| [0, 1, 1, 2, 3, 5, 8, 13, 21, 34][t as usize % 48 % 10]),
    ("static_of_a_function", |_| 1),
    ("u128_add_subtract", |at| {
        let (a, b) = pair(at / 12);
        let negated = a.wrapping_neg().wrapping_add(b.wrapping_add(1)).wrapping_sub(a ^ b);
        word([a.wrapping_add(b), a.wrapping_sub(b), negated][at as usize / 4 % 3], at)
    }),
    ("u128_multiply", |at| {
        let (a, b) = pair(at / 8);
        let narrow = i128::from(a as i64) * i128::from(b as i64);
        word([a.wrapping_mul(b), narrow.cast_unsigned()][at as usize / 4 % 2], at)
    }),
    ("u128_divide", |at| word(pair(at / 4).0 / pair(at / 4).1, at)),
    ("u128_remainder", |at| word(pair(at / 4).0 % pair(at / 4).1, at)),
    ("i128_divide_remainder", |at| {
        let (a, b) = pair(at / 8);
        let (a, b) = (a.cast_signed(), if b == u128::MAX { -3 } else { b.cast_signed() });
        word([a / b, a % b][at as usize / 4 % 2].cast_unsigned(), at)
    }),
    ("u128_shifts", |at| {
        let t = at / 12;
        let a = EDGES_128[8 + t as usize / 32].wrapping_add(u128::from(t));
        let bits = t % 32 * 33 % 128;
        word([a << bits, a >> bits, (a.cast_signed() >> bits).cast_unsigned()][at as usize / 4 % 3], at)
    }),
    ("i128_compare", |t| {
        let (a, b) = pair(t);
        let (c, d) = (a.cast_signed(), b.cast_signed());
        let bits = [a < b, a <= b, a == b, a > b, c < d, c <= d, c > d, c >= d, c < 0];
        bits.iter().rev().fold(0, |all, bit| all << 1 | u32::from(*bit))
    }),
    ("power_modulo", |at| {
        let (base, modulus) = pair_64(at / 2);
        let power = |power: u128, _| power * base % modulus;
        ((0..1000 + at / 2).fold(1 % modulus, power) >> (at % 2 * 32)) as u32
    }),
    ("divide_64", |at| {
        let (a, b) = pair_64(at / 8);
        let (c, d) = (a as i64, if b as u64 == u64::MAX { -7 } else { b as i64 });
        let signed = u128::from((c / d).cast_unsigned()) << 64 | u128::from((c % d).cast_unsigned());
        word([((a / b) << 64) | (a % b), signed][at as usize / 4 % 2], at)
    }),
    ("multiply_high_64", |at| {
        let (a, b) = pair_64(at / 4);
        let signed = ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
        word(((a * b) >> 64) << 64 | u128::from(signed), at)
    }),
];

const HIGHEST: u128 = 1 << 127;

/// The numbers of the kernels on 128 bits.
const EDGES_128: [u128; 16] = [
    1,
    2,
    10,
    0xffff_ffff,
    0x1_0000_0000,
    u64::MAX as u128,
    1 << 64,
    (1 << 64) + 1,
    0x0123_4567_89ab_cdef_fedc_ba98_7654_3210,
    (1 << 95) - 1,
    1 << 96,
    HIGHEST - 1,
    HIGHEST,
    HIGHEST + 1,
    u128::MAX - 1,
    u128::MAX,
];

/// The numbers of the kernels on 64 bits.
const EDGES_64: [u64; 12] = [
    1,
    2,
    3,
    10,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x1234_5678_9abc_def0,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

fn pair(thread: u32) -> (u128, u128) {
    (
        EDGES_128[thread as usize / 16],
        EDGES_128[thread as usize % 16],
    )
}

fn pair_64(thread: u32) -> (u128, u128) {
    let [a, b] = [thread / 12, thread % 12].map(|at| u128::from(EDGES_64[at as usize]));
    (a, b)
}

/// The word of a number of four words that stands at this place of the result.
fn word(number: u128, at: u32) -> u32 {
    (number >> (at % 4 * 32)) as u32
}
