//! Reserved address ranges and memory mapped to them. The error codes match an H200.

use super::structs::{Access, Location, Props};
use super::support::{
    Handle, INVALID_DEVICE, INVALID_VALUE, OK, context, cuMemFree_v2, cuMemcpyDtoH_v2, cuMemsetD8_v2, functions,
};

const NOT_SUPPORTED: u32 = 801;
const SIZE: usize = 2 << 20;

functions! {
    fn cuMemGetAllocationGranularity(bytes: *mut usize, props: *const Props, option: u32);
    fn cuMemAddressReserve(address: *mut u64, bytes: usize, align: usize, wanted: u64, flags: u64);
    fn cuMemAddressFree(address: u64, bytes: usize);
    fn cuMemCreate(handle: *mut Handle, bytes: usize, props: *const Props, flags: u64);
    fn cuMemRelease(handle: Handle);
    fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: Handle, flags: u64);
    fn cuMemUnmap(address: u64, bytes: usize);
    fn cuMemSetAccess(address: u64, bytes: usize, access: *const Access, count: usize);
    fn cuMemGetAccess(flags: *mut u64, location: *const Location, address: u64);
    fn cuMemRetainAllocationHandle(handle: *mut Handle, address: u64);
    fn cuMemGetAllocationPropertiesFromHandle(props: *mut [u64; 4], handle: Handle);
    fn cuPointerGetAttribute(value: *mut u64, attribute: u32, address: u64);
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize);
    fn cuMemcpy(to: u64, from: u64, bytes: usize);
}

fn props(kind: u32, handle_types: u32, location: [i32; 2]) -> Props {
    Props { kind, handle_types, location, ..Props::default() }
}

const PINNED: (u32, u32, [i32; 2]) = (1, 0, [1, 0]);

fn reserve(bytes: usize, align: usize, requested_address: u64, flags: u64) -> Result<u64, u32> {
    let mut address = 0;
    match cuMemAddressReserve(&mut address, bytes, align, requested_address, flags) {
        OK => Ok(address),
        code => Err(code),
    }
}

fn create(bytes: usize, (kind, types, location): (u32, u32, [i32; 2]), flags: u64) -> Result<Handle, u32> {
    let mut handle = 0;
    match cuMemCreate(&mut handle, bytes, &props(kind, types, location), flags) {
        OK => Ok(handle),
        code => Err(code),
    }
}

fn access(address: u64, bytes: usize, flags: u32) -> u32 {
    cuMemSetAccess(address, bytes, &Access { location: Location { kind: 1, id: 0 }, flags }, 1)
}

fn accessible(address: u64) -> Result<u64, u32> {
    let mut flags = 0;
    match cuMemGetAccess(&mut flags, &Location { kind: 1, id: 0 }, address) {
        OK => Ok(flags),
        code => Err(code),
    }
}

#[test]
fn reservations_and_memory() {
    context(0);
    let mut bytes = 0;
    for (option, expected) in [(0, OK), (1, OK), (2, INVALID_VALUE)] {
        let (kind, types, location) = PINNED;
        assert_eq!(cuMemGetAllocationGranularity(&mut bytes, &props(kind, types, location), option), expected);
    }
    assert_eq!(bytes, SIZE);
    let base = reserve(4 * SIZE, 0, 0, 0).unwrap();
    assert_eq!(base % SIZE as u64, 0);
    for (bytes, align, requested_address, flags) in
        [(5, 0, 0, 0), (0, 0, 0, 0), (SIZE, 3, 0, 0), (SIZE, 0, 0, 1), (4096, 0, 0, 0), (SIZE, 0, 5, 0)]
    {
        assert_eq!(reserve(bytes, align, requested_address, flags), Err(INVALID_VALUE));
    }
    assert_ne!(reserve(SIZE, 0, base, 0).unwrap(), base);
    assert_eq!(reserve(SIZE, 1 << 30, 0, 0).unwrap() % (1 << 30), 0);
    for (bytes, given, flags, expected) in [
        (5, PINNED, 0, INVALID_VALUE),
        (0, PINNED, 0, INVALID_VALUE),
        (SIZE, PINNED, 1, INVALID_VALUE),
        (1 << 47, PINNED, 0, 2),
        (SIZE, (0, 0, [1, 0]), 0, INVALID_VALUE),
        (SIZE, (1, 0, [1, 9]), 0, INVALID_DEVICE),
        (SIZE, (1, 2, [1, 0]), 0, NOT_SUPPORTED),
        (SIZE, (1, 0, [0, 0]), 0, INVALID_VALUE),
        (SIZE, (2, 0, [1, 0]), 0, INVALID_VALUE),
        (SIZE, (1, 0, [2, 0]), 0, NOT_SUPPORTED),
    ] {
        assert_eq!(create(bytes, given, flags), Err(expected), "{bytes} {given:?} {flags}");
    }
    assert_eq!(cuMemAddressFree(base, SIZE), INVALID_VALUE);
    assert_eq!((cuMemAddressFree(base, 4 * SIZE), cuMemAddressFree(base, 4 * SIZE)), (OK, INVALID_VALUE));
}

#[test]
fn mappings() {
    context(0);
    let size = SIZE as u64;
    let base = reserve(4 * SIZE, 0, 0, 0).unwrap();
    let memory = create(SIZE, PINNED, 0).unwrap();
    for (address, bytes, offset, flags, expected) in [
        (base, SIZE, 4096, 0, NOT_SUPPORTED),
        (base, 2 * SIZE, 0, 0, NOT_SUPPORTED),
        (base, SIZE, 0, 1, INVALID_VALUE),
        (base + size, SIZE, 0, 0, OK),
        (base + size, SIZE, 0, 0, INVALID_VALUE),
        (base + 3 * size, SIZE, 0, 0, OK),
        (base, SIZE / 2, 0, 0, NOT_SUPPORTED),
        (base + 4 * size, SIZE, 0, 0, INVALID_VALUE),
        (4096 * size, SIZE, 0, 0, INVALID_VALUE),
    ] {
        assert_eq!(cuMemMap(address, bytes, offset, memory, flags), expected, "{:#x} {bytes}", address - base);
    }
    let mapped = base + size;
    assert_eq!(cuMemsetD8_v2(mapped, 1, 8), INVALID_VALUE);
    assert_eq!((accessible(base), accessible(mapped)), (Err(INVALID_VALUE), Ok(0)));
    for (address, bytes, flags, expected) in [
        (mapped, SIZE, 3, OK),
        (base, SIZE, 3, INVALID_VALUE),
        (mapped, 4096, 3, INVALID_VALUE),
        (mapped, SIZE, 5, INVALID_VALUE),
        (mapped, SIZE, 0, OK),
    ] {
        assert_eq!(access(address, bytes, flags), expected, "{bytes} {flags}");
    }
    assert_eq!((accessible(mapped), cuMemsetD8_v2(mapped, 1, 8)), (Ok(0), INVALID_VALUE));
    assert_eq!((access(mapped, SIZE, 3), accessible(mapped), cuMemsetD8_v2(mapped, 7, 8)), (OK, Ok(3), OK));
    // The same memory is mapped at another address.
    assert_eq!(access(base + 3 * size, SIZE, 3), OK);
    let mut word = 0_u64;
    assert_eq!(cuMemcpyDtoH_v2((&raw mut word).cast(), base + 3 * size, 8), OK);
    assert_eq!(word, 0x0707_0707_0707_0707);
    let mut value = 0;
    for (attribute, expected) in [(2, 2), (11, base), (12, 4 * size), (18, size), (19, mapped)] {
        assert_eq!((cuPointerGetAttribute(&mut value, attribute, mapped + 5), value), (OK, expected));
        value = 0;
    }
    let mut retained = 0;
    assert_eq!((cuMemRetainAllocationHandle(&mut retained, mapped + 5), retained), (OK, memory));
    assert_eq!(cuMemRetainAllocationHandle(&mut retained, base), INVALID_VALUE);
    let mut found = [7; 4];
    assert_eq!(cuMemGetAllocationPropertiesFromHandle(&mut found, memory), OK);
    assert_eq!(found, [1, 1, 0, 0]);
    assert_eq!([(); 3].map(|()| cuMemRelease(memory)), [OK, OK, INVALID_VALUE]);
    assert_eq!(cuMemAddressFree(base, 4 * SIZE), INVALID_VALUE);
    for (address, bytes, expected) in
        [(mapped, 4096, INVALID_VALUE), (base, SIZE, OK), (mapped, SIZE, OK), (mapped, SIZE, OK)]
    {
        assert_eq!(cuMemUnmap(address, bytes), expected);
    }
    assert_eq!(
        (cuMemFree_v2(base + 3 * size), cuMemUnmap(base, 4 * SIZE), cuMemAddressFree(base, 4 * SIZE)),
        (1, OK, OK)
    );
    // The range is free and does not become host memory.
    assert_eq!(cuMemcpy(mapped, base, 8), INVALID_VALUE);
}

#[test]
fn copies_across_mappings() {
    context(0);
    let base = reserve(4 * SIZE, 0, 0, 0).unwrap();
    for index in 0..2 {
        let memory = create(SIZE, PINNED, 0).unwrap();
        assert_eq!(cuMemMap(base + (index * SIZE) as u64, SIZE, 0, memory, 0), OK);
        assert_eq!(cuMemRelease(memory), OK);
    }
    assert_eq!(access(base, 2 * SIZE, 3), OK);
    assert_eq!(cuMemsetD8_v2(base, 5, 2 * SIZE), OK);
    let edge = base + SIZE as u64;
    assert_eq!(cuMemsetD8_v2(edge - 16, 9, 32), OK);
    assert_eq!(cuMemcpyDtoD_v2(edge - 100, edge - 16, 32), OK);
    let mut bytes = [0_u8; 200];
    assert_eq!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), edge - 100, 200), OK);
    let expected: Vec<u8> = (0..200).map(|at| if at < 32 || (84..116).contains(&at) { 9 } else { 5 }).collect();
    assert_eq!(bytes[..], expected);
    assert_eq!(cuMemsetD8_v2(base, 5, 2 * SIZE + 1), INVALID_VALUE);
    assert_eq!((cuMemUnmap(base, 2 * SIZE), cuMemAddressFree(base, 4 * SIZE)), (OK, OK));
}
