use super::*;

pub fn value(i: u32) -> u64 {
    core::hint::spin_loop();
    let x = core::hint::black_box(i);
    let y = if x > 5_000 { unsafe { core::hint::unreachable_unchecked() } } else { x / 2 };
    let z = core::hint::select_unpredictable(x % 2 == 0, 3, y);
    unsafe { core::hint::assert_unchecked(y < 5_000) };
    u64::from(y + z)
}
