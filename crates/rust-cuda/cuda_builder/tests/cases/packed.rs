use super::*;

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Record {
    kind: u8,
    count: u32,
    size: u64,
    half: u16,
}
pub fn value(i: u32) -> u64 {
    let mut records = [Record { kind: 1, count: i, size: u64::from(i) << 33, half: 7 }; 3];
    records[1].count += 5;
    records[i as usize % 3].size ^= 0xffff_0000_ffff;
    let bytes: [u8; 45] = unsafe { core::mem::transmute(records) };
    let record = unsafe { bytes.as_ptr().add(15 * (i as usize % 3)).cast::<Record>().read_unaligned() };
    mix(u64::from(record.count), record.size) + u64::from(record.kind) + u64::from(record.half)
}
