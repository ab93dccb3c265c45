//! Code that panics for 9 but not for 0.

use core::hint::black_box;

traps! {
    index(i) { black_box([1, 2, 3])[i as usize] }
    slice(i) { black_box([1_u8; 8])[..i as usize].len() as u64 }
    slice_order(i) { black_box([1_u8; 20])[i as usize..7].len() as u64 }
    unwrapped(i) { u64::from(5_u32.checked_sub(i).unwrap()) }
    expected(i) { if i < 5 { Ok(1) } else { Err("message") }.expect("a small number") }
    divided(i) { 100 / (9 - u64::from(i)) }
    remainder(i) { 100 % (9 - u64::from(i)) }
    divided_wide(i) { (black_box(100_u128) / u128::from(9 - i)) as u64 }
    divided_overflow(i) { (i32::MIN + i as i32 - black_box(9) * (i == 9) as i32).wrapping_add(0).checked_div(if i == 9 { -1 } else { 1 }).unwrap() as u64 }
    panicked(i) { if i == 9 { panic!("with {i}") } 3 }
    asserted(i) { assert!(i < 5); assert_ne!(i, 9, "nine"); 4 }
    characters(i) { u64::from("grö\u{df}e"[..if i == 9 { 3 } else { 2 }].len() as u32) }
    borrowed(i) { let cell = core::cell::RefCell::new(i); let _one = cell.borrow_mut(); if i == 9 { u64::from(*cell.borrow()) } else { 5 } }
    unreachable(i) { match i { 0 => 1, 1 => 2, _ => unreachable!() } }
    copied(i) { let mut a = [0; 9]; a.copy_from_slice(&black_box([1; 10])[..if i == 9 { 10 } else { 9 }]); a[i as usize % 9] }
    chunked(i) { black_box([1_u8; 4]).chunks(9 - i as usize).count() as u64 }
}
