//! Tests copies between the host and device memory.

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
fn any_part_of_an_allocation_is_filled() {
    let mut memory = GlobalMemory::default();
    let base = memory.allocate(27).unwrap();
    let word = [1, 2, 3, 4, 5, 6, 7, 8];
    for from in 0..27 {
        for to in from..=27 {
            let allocation = memory.at_mut(base).unwrap();
            allocation.write(0, &[0; 27]);
            allocation.fill(from as u64, (to - from) as u64, word);
            let mut whole = [0; 27];
            allocation.read(0, &mut whole);
            let expected: [u8; 27] = std::array::from_fn(|at| if (from..to).contains(&at) { word[at % 8] } else { 0 });
            assert_eq!(whole, expected, "{from}..{to}");
        }
    }
}

/// Two device memories, and so two threads, may map the same part of physical memory. So the implementation never
/// borrows that memory as plain bytes.
#[test]
fn two_memories_write_the_same_physical_memory_at_once() {
    let mut memories = [GlobalMemory::default(), GlobalMemory::default()];
    let physical = memories[0].physical(64).unwrap();
    std::thread::scope(|scope| {
        for (byte, memory) in (1..).zip(&mut memories) {
            let physical = &physical;
            scope.spawn(move || {
                let base = memory.reserve(64, 256).unwrap();
                assert!(memory.map_physical(base, 64, physical, 0));
                let allocation = memory.at_mut(base).unwrap();
                allocation.write(3, &[byte; 50]);
                allocation.fill(5, 40, [byte; 8]);
                assert_eq!(physical.bytes(), 64);
            });
        }
    });
    let mut seen = [0; 64];
    memories[0].at(memories[0].nearest(0).unwrap().base).unwrap().read(0, &mut seen);
    assert!(seen[3..53].iter().all(|byte| [1, 2].contains(byte)), "{seen:?}");
}

#[test]
fn empty_allocations_contain_no_address() {
    let mut memory = GlobalMemory::default();
    let empty = memory.allocate(0).unwrap();
    let base = memory.allocate(8).unwrap();
    assert!(memory.find(empty).is_none());
    assert_ne!(empty, base);
    assert_eq!(memory.find(base + 7).map(|found| found.base), Some(base));
    assert!(memory.find(base + 8).is_none());
    assert!(memory.free(base));
    assert!(!memory.free(base));
    assert!(memory.find(base).is_none());
    assert!(memory.allocate(8).unwrap() > base);
}

#[test]
fn physical_memory_is_mapped_at_chosen_addresses() {
    let mut memory = GlobalMemory::with_limit(64);
    let base = memory.reserve(32, 4096).unwrap();
    assert!(base.is_multiple_of(4096) && memory.is_device_address(base + 31));
    let [first, second] = [24, 16].map(|bytes| memory.physical(bytes).unwrap());
    assert_eq!(memory.used(), 40);
    assert!(memory.physical(32).is_err());
    assert!(memory.find(base).is_none());
    for (at, bytes, offset, is_possible) in [
        (0, 24, 8, false),
        (4, 8, 0, false),
        (0, 0, 0, false),
        (0, 16, 8, true),
        (8, 8, 0, false),
        (1 << 40, 8, 0, false),
    ] {
        assert_eq!(memory.map_physical(base + at, bytes, &first, offset), is_possible, "{bytes} bytes at {at}");
    }
    assert!(memory.map_physical(base + 16, 16, &second, 0));
    // Two adjacent mappings remain separate allocations.
    memory.at_mut(base).unwrap().write(8, &[7]);
    assert_eq!(memory.span(base + 8, 8).map(|(_, at)| at), Some(8));
    assert!(memory.span(base + 8, 16).is_none());
    assert!(memory.free(base) && memory.find(base).is_none());
    // The bytes that were written stay in physical memory, which now has another address.
    assert!(memory.map_physical(base, 8, &first, 16));
    let mut byte = [0];
    memory.at(base).unwrap().read(0, &mut byte);
    assert_eq!((byte, memory.used()), ([7], 40));
    memory.release(&first);
    assert_eq!(memory.used(), 16);
    assert!(memory.allocate(8).unwrap() >= base + 32);
}

/// Programs allocate much of a GPU's memory and use little of it.
#[cfg(target_os = "linux")]
#[test]
fn memory_for_both_is_resident_when_touched() {
    let resident_bytes = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let mut memory = GlobalMemory::default();
    let before = resident_bytes();
    let base = memory.allocate_host_visible(4 << 30).unwrap();
    assert_eq!(base % 4096, 0);
    let additional = resident_bytes().saturating_sub(before);
    assert!(additional < 1 << 30, "{additional} additional bytes are resident");
    assert!(memory.free(base));
}
