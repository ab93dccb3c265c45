//! Copies between the host and device memory.

use super::bytes;
use simt::memory::GlobalMemory;

#[test]
fn any_part_of_an_allocation_is_read_and_written() {
    let mut memory = GlobalMemory::default();
    let base = memory.allocate(61).unwrap();
    let mut expected = bytes(61);
    memory.at_mut(base).unwrap().write(0, &expected);
    for from in 0..61 {
        for to in from..=61 {
            let allocation = memory.at_mut(base).unwrap();
            let mut part = vec![0; to - from];
            allocation.read(from as u64, &mut part);
            assert_eq!(part, expected[from..to]);
            for byte in &mut part {
                *byte = byte.wrapping_add(1);
            }
            allocation.write(from as u64, &part);
            expected[from..to].copy_from_slice(&part);
            let mut whole = vec![0; 61];
            allocation.read(0, &mut whole);
            assert_eq!(whole, expected, "{from}..{to}");
        }
    }
}

#[test]
fn nothing_lies_in_an_allocation_of_nothing() {
    let mut memory = GlobalMemory::default();
    let empty = memory.allocate(0).unwrap();
    let next = memory.allocate(8).unwrap();
    assert!(memory.find(empty).is_none());
    assert_ne!(empty, next);
    assert_eq!(memory.find(next + 7).map(|found| found.base), Some(next));
    assert!(memory.find(next + 8).is_none());
    assert!(memory.free(next));
    assert!(!memory.free(next));
    assert!(memory.find(next).is_none());
    assert!(memory.allocate(8).unwrap() > next);
}
