//! Allocations and attributes of addresses. The error codes and values match an H200.

use std::ffi::c_void;

use super::structs::Location;
use super::support::{
    Handle, INVALID_DEVICE, INVALID_VALUE, OK, context, cuMemAlloc_v2, cuMemFree_v2, functions, in_child_process,
};

const OUT_OF_MEMORY: u32 = 2;
const NOT_FOUND: u32 = 500;
const ALREADY_REGISTERED: u32 = 712;
const NOT_REGISTERED: u32 = 713;

functions! {
    fn cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32);
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    fn cuMemAllocHost_v2(address: *mut u64, bytes: usize);
    fn cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32);
    fn cuMemFreeHost(address: u64);
    fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32);
    fn cuMemHostUnregister(address: u64);
    fn cuMemHostGetDevicePointer_v2(address: *mut u64, memory: u64, flags: u32);
    fn cuMemHostGetFlags(flags: *mut u32, memory: u64);
    fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64);
    fn cuPointerGetAttribute(value: *mut u64, attribute: u32, address: u64);
    fn cuPointerGetAttributes(count: u32, attributes: *const u32, values: *const *mut u64, address: u64);
    fn cuPointerSetAttribute(value: *const u32, attribute: u32, address: u64);
    fn cuMemAdvise(address: u64, bytes: usize, advice: u32, device: i32);
    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: u32, location: Location);
    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Handle);
    fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: u32, stream: Handle);
    fn cuMemPrefetchBatchAsync(
        addresses: *const u64, sizes: *const usize, count: usize, locations: *const Location, indices: *const usize,
        location_count: usize, flags: u64, stream: Handle,
    );
    fn cuMemDiscardBatchAsync(addresses: *const u64, sizes: *const usize, count: usize, flags: u64, stream: Handle);
    fn cuMemRangeGetAttribute(value: *mut c_void, capacity: usize, attribute: u32, address: u64, bytes: usize);
    fn cuMemRangeGetAttributes(
        values: *const *mut c_void, capacities: *const usize, attributes: *const u32, count: usize, address: u64, bytes: usize,
    );
    fn cuStreamCreate(stream: *mut Handle, flags: u32);
}

/// Allocates memory with one of these functions and returns its address.
fn allocate(make: impl FnOnce(*mut u64) -> u32) -> u64 {
    let mut address = 0;
    assert_eq!(make(&mut address), OK);
    address
}

fn device(bytes: usize) -> u64 {
    allocate(|to| cuMemAlloc_v2(to, bytes))
}

/// Returns the error code of an allocation function, and whether the function returned an address.
fn code(make: impl FnOnce(*mut u64) -> u32) -> (u32, bool) {
    let mut address = 0;
    let code = make(&mut address);
    (code, address != 0)
}

#[test]
fn sizes_and_flags() {
    context(0);
    for (bytes, expected) in
        [(0, INVALID_VALUE), (150 << 30, OUT_OF_MEMORY), (1 << 47, OUT_OF_MEMORY), (1 << 63, OUT_OF_MEMORY)]
    {
        assert_eq!(code(|to| cuMemAlloc_v2(to, bytes)), (expected, false), "{bytes}");
    }
    assert_eq!(cuMemAlloc_v2(std::ptr::null_mut(), 1), INVALID_VALUE);
    for bytes in [1, 1000, 3 << 20] {
        assert_eq!(device(bytes) % 512, 0);
    }
    assert_eq!(code(|to| cuMemHostAlloc(to, 8, 8)), (INVALID_VALUE, false));
    assert_eq!(code(|to| cuMemHostAlloc(to, 0, 0)), (OK, false));
    assert_eq!(code(|to| cuMemAllocHost_v2(to, 1 << 60)), (OUT_OF_MEMORY, false));
    for (bytes, flags, expected) in
        [(0, 1, 1), (8, 0, 1), (8, 3, 1), (8, 4, 1), (8, 1, OK), (8, 2, OK), (1 << 60, 1, 2)]
    {
        assert_eq!(code(|to| cuMemAllocManaged(to, bytes, flags)), (expected, expected == OK), "{bytes} {flags}");
    }
    for (width, height, element, expected) in [
        (1, 1, 4, Ok(512)),
        (513, 2, 16, Ok(1024)),
        (100, 2, 3, Err(INVALID_VALUE)),
        (0, 2, 4, Err(INVALID_VALUE)),
        (100, 0, 4, Err(INVALID_VALUE)),
        (1 << 62, 2, 4, Err(OUT_OF_MEMORY)),
        (usize::MAX, 2, 4, Err(OUT_OF_MEMORY)),
    ] {
        let (mut address, mut pitch) = (0, 0);
        let found = cuMemAllocPitch_v2(&mut address, &mut pitch, width, height, element);
        assert_eq!(if found == OK { Ok(pitch) } else { Err(found) }, expected, "{width} {height} {element}");
    }
}

/// Runs in a child process, because freed host memory may be reused by another test.
#[test]
fn frees() {
    if !in_child_process("memory::frees", &[]) {
        return;
    }
    context(0);
    let (device_address, host, managed) =
        (device(1000), allocate(|to| cuMemAllocHost_v2(to, 1000)), allocate(|to| cuMemAllocManaged(to, 8, 1)));
    for (free, address) in [
        (cuMemFree_v2 as fn(u64) -> u32, device_address + 256),
        (cuMemFree_v2, host),
        (cuMemFreeHost, device_address),
        (cuMemFreeHost, managed),
        (cuMemFreeHost, host + 8),
        (cuMemFree_v2, 4096),
    ] {
        assert_eq!(free(address), INVALID_VALUE, "{address:#x}");
    }
    assert_eq!((cuMemFree_v2(0), cuMemFreeHost(0)), (OK, OK));
    assert_eq!((cuMemFree_v2(device_address), cuMemFree_v2(device_address)), (OK, INVALID_VALUE));
    assert_eq!((cuMemFree_v2(managed), cuMemFreeHost(host), cuMemFreeHost(host)), (OK, OK, INVALID_VALUE));
}

/// Returns the address, a multiple of 4096, of `bytes` bytes of ordinary host memory.
fn pages(bytes: usize) -> u64 {
    let memory = vec![0_u8; bytes + 4096].leak();
    (memory.as_ptr() as u64).next_multiple_of(4096)
}

#[test]
fn registration() {
    context(0);
    let page = pages(1 << 16);
    let (device_address, host) = (device(1000), allocate(|to| cuMemAllocHost_v2(to, 1000)));
    for (address, bytes, flags, expected) in [
        (page, 0, 0, INVALID_VALUE),
        (0, 8, 0, INVALID_VALUE),
        (page, 8, 16, INVALID_VALUE),
        (page, usize::MAX, 0, INVALID_VALUE),
        (page, 8192, 0, OK),
        (page, 8192, 0, ALREADY_REGISTERED),
        (page + 100, 8, 0, ALREADY_REGISTERED),
        (page + 8000, 4096, 0, ALREADY_REGISTERED),
        (page + 8192, 104, 0, OK),
        (page - 4096, 4196, 0, ALREADY_REGISTERED),
        (page - 4096, 1 << 16, 0, ALREADY_REGISTERED),
        (device_address, 100, 0, INVALID_VALUE),
        (host, 100, 0, INVALID_VALUE),
        (page + 20480, 100, 8, OK),
        (page + 28672, 100, 4, INVALID_VALUE),
    ] {
        assert_eq!(cuMemHostRegister_v2(address, bytes, flags), expected, "{:#x} {bytes} {flags}", address - page);
    }
    assert_eq!((cuMemFree_v2(page), cuMemFreeHost(page)), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!((cuMemHostUnregister(page + 40), cuMemHostUnregister(host)), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!(cuMemHostUnregister(page + 40960), NOT_REGISTERED);
    assert_eq!((cuMemHostUnregister(page), cuMemHostUnregister(page)), (OK, NOT_REGISTERED));
}

/// Returns the value of `cuPointerGetAttribute`, extended with zeros to 64 bits.
fn attribute(attribute: u32, address: u64) -> Result<u64, u32> {
    let mut value = [0; 2];
    match cuPointerGetAttribute(value.as_mut_ptr(), attribute, address) {
        OK => Ok(value[0]),
        code => Err(code),
    }
}

#[test]
fn pointers() {
    let context_handle = context(0) as u64;
    let page = pages(8192);
    assert_eq!(cuMemHostRegister_v2(page, 4000, 8), OK);
    let device_address = device(1000);
    let host = allocate(|to| cuMemHostAlloc(to, 1000, 0));
    let managed = allocate(|to| cuMemAllocManaged(to, 1000, 1));
    let bad = Err(INVALID_VALUE);
    for (address, bytes, kind, host_pointer, tokens, sync, is_managed, access) in [
        (device_address, 1000, 2, bad, Ok(0), 1, 0, 3),
        (host, 1000, 1, Ok(host + 5), bad, 0, 0, 3),
        (managed, 1000, 2, Ok(managed + 5), Ok(0), 1, 1, 3),
        (page, 4000, 1, Ok(page + 5), bad, 0, 0, 1),
    ] {
        let expected = [
            (0, bad),
            (1, Ok(context_handle)),
            (2, Ok(kind)),
            (3, Ok(address + 5)),
            (4, host_pointer),
            (5, tokens),
            (6, Ok(sync)),
            (8, Ok(is_managed)),
            (9, Ok(0)),
            (11, Ok(address)),
            (12, Ok(bytes)),
            (13, Ok(1)),
            (14, Ok(0)),
            (16, Ok(access)),
            (17, Ok(0)),
            (22, bad),
        ];
        for (number, expected) in expected {
            assert_eq!(attribute(number, address + 5), expected, "attribute {number} of {address:#x}");
        }
        let (base, size) = (attribute(19, address).unwrap(), attribute(18, address).unwrap());
        assert!(base <= address && address + bytes <= base + size);
        assert_ne!(attribute(7, address), attribute(7, address + 1000 * 1000));
        let (mut base, mut size) = (0, 0);
        assert_eq!(cuMemGetAddressRange_v2(&mut base, &mut size, address + 5), OK);
        assert_eq!((base, size), (address, bytes as usize));
        assert_eq!((cuPointerSetAttribute(&1, 6, address), attribute(6, address)), (OK, Ok(1)));
        assert_eq!(cuPointerSetAttribute(&1, 1, address), INVALID_VALUE);
    }
    for (address, pointer, flags) in [
        (device_address, bad, bad),
        (host + 5, Ok(host + 5), Ok(2)),
        (page + 5, Ok(page + 5), Ok(2)),
        (managed, bad, Ok(2)),
        (64, bad, bad),
    ] {
        let (mut found, mut found_flags) = (0, 0);
        let code = cuMemHostGetDevicePointer_v2(&mut found, address, 0);
        assert_eq!(if code == OK { Ok(found) } else { Err(code) }, pointer);
        assert_eq!(cuMemHostGetDevicePointer_v2(&mut found, address, 1), INVALID_VALUE);
        let code = cuMemHostGetFlags(&mut found_flags, address);
        assert_eq!(if code == OK { Ok(u64::from(found_flags)) } else { Err(code) }, flags);
    }
    let (base, size) = (std::ptr::null_mut(), std::ptr::null_mut());
    assert_eq!(cuMemGetAddressRange_v2(base, size, device_address + 1000), NOT_FOUND);
    assert_eq!((attribute(2, device_address + 1000), attribute(2, 0)), (bad, bad));
}

#[test]
fn unknown_pointers() {
    context(0);
    let numbers: [u32; 8] = [1, 2, 3, 4, 8, 9, 11, 17];
    let attributes = |address: u64| {
        let mut values = [0xeeee_eeee_eeee_eeee_u64; 8];
        let pointers = values.each_mut().map(|value| value as *mut u64);
        assert_eq!(cuPointerGetAttributes(8, numbers.as_ptr(), pointers.as_ptr(), address), OK);
        values
    };
    let untouched = 0xeeee_eeee_eeee_eeee;
    let word = 0xeeee_eeee_0000_0000;
    assert_eq!(attributes(4096), [0, word, 0, 4096, word, 0xeeee_eeee_ffff_fffe, untouched, 0]);
    let device_address = device(1000);
    // Attributes that a known address does not have are zero.
    assert_eq!(attributes(device_address)[1..4], [word | 2, device_address, 0]);
    let bad: [u32; 1] = [99];
    let mut value = 0;
    assert_eq!(cuPointerGetAttributes(1, bad.as_ptr(), &(&raw mut value), device_address), INVALID_VALUE);
}

/// Returns an attribute of a range of managed memory.
fn range(attribute: u32, address: u64, bytes: usize) -> Result<i32, u32> {
    let mut value = 0_i32;
    match cuMemRangeGetAttribute((&raw mut value).cast(), 4, attribute, address, bytes) {
        OK => Ok(value),
        code => Err(code),
    }
}

#[test]
fn advice() {
    context(0);
    let (device_address, managed) = (device(8192), allocate(|to| cuMemAllocManaged(to, 3 << 20, 1)));
    let location_of = |kind, id| Location { kind, id };
    let bad = INVALID_VALUE;
    for (advice, device, first, second) in [
        (1, 0, OK, OK),
        (3, 0, OK, OK),
        (3, -1, OK, OK),
        (3, 7, INVALID_DEVICE, bad),
        (5, 0, OK, OK),
        (5, -1, OK, OK),
        (9, 0, bad, bad),
        (6, 0, OK, OK),
    ] {
        let location = location_of(if device < 0 { 2 } else { 1 }, device);
        assert_eq!(cuMemAdvise(managed, 4096, advice, device), first, "{advice} {device}");
        assert_eq!(cuMemAdvise_v2(managed, 4096, advice, location), second, "{advice} {device}");
        assert_eq!(cuMemAdvise(device_address, 4096, advice, device), if device == 7 { INVALID_DEVICE } else { bad });
    }
    assert_eq!((cuMemAdvise(managed, 0, 1, 0), cuMemAdvise(managed, 1 << 30, 1, 0)), (bad, bad));
    for (bytes, device, expected) in
        [(4096, 0, OK), (4096, -1, OK), (4096, 7, INVALID_DEVICE), (0, 0, bad), (1 << 30, 0, bad)]
    {
        assert_eq!(cuMemPrefetchAsync(managed, bytes, device, 0), expected, "{bytes} {device}");
    }
    for (kind, flags, expected) in [(1, 0, OK), (2, 0, OK), (3, 0, OK), (0, 0, bad), (1, 1, bad)] {
        assert_eq!(cuMemPrefetchAsync_v2(managed, 4096, location_of(kind, 0), flags, 0), expected, "{kind} {flags}");
    }
    let found: Vec<_> = (0..10).map(|number| range(number, managed, 4096)).collect();
    let expected = [Err(bad), Ok(1), Ok(-1), Ok(-1), Ok(-1), Ok(2), Ok(-1), Ok(3), Ok(0), Err(bad)];
    assert_eq!(found, expected);
    // The larger range also includes pages without advice, so no attribute holds for all of it.
    let found: Vec<_> = [1, 2, 3, 4, 5, 7].map(|number| range(number, managed, 1 << 20)).into();
    assert_eq!(found, [Ok(0), Ok(-2), Ok(-2), Ok(-2), Ok(0), Ok(0)]);
    assert_eq!(range(1, device_address, 4096), Err(bad));
    let mut devices = [0_i32; 2];
    assert_eq!(cuMemRangeGetAttribute(devices.as_mut_ptr().cast(), 8, 3, managed, 4096), OK);
    assert_eq!(devices, [-1, -2]);
    assert_eq!(cuMemRangeGetAttribute(devices.as_mut_ptr().cast(), 3, 3, managed, 4096), bad);
    let (mut read_mostly, mut preferred) = (7, 7);
    let pointers = [(&raw mut read_mostly).cast(), (&raw mut preferred).cast()];
    assert_eq!(cuMemRangeGetAttributes(pointers.as_ptr(), [4, 4].as_ptr(), [1, 2].as_ptr(), 2, managed, 4096), OK);
    assert_eq!((read_mostly, preferred), (1, -1));
}

#[test]
fn batches_of_prefetches() {
    context(0);
    let (device_address, managed) = (device(8192), allocate(|to| cuMemAllocManaged(to, 3 << 20, 1)));
    let mut stream = 0;
    assert_eq!(cuStreamCreate(&mut stream, 1), OK);
    let locations = [Location { kind: 1, id: 0 }];
    for (address, count, locations_given, flags, expected) in [
        (managed, 1, 1, 0, OK),
        (device_address, 1, 1, 0, 1),
        (managed, 0, 1, 0, 1),
        (managed, 1, 0, 0, 1),
        (managed, 1, 1, 1, 1),
    ] {
        let (addresses, sizes, indices) = ([address], [4096], [0]);
        let (addresses, sizes, indices) = (addresses.as_ptr(), sizes.as_ptr(), indices.as_ptr());
        let locations = locations.as_ptr();
        let found =
            cuMemPrefetchBatchAsync(addresses, sizes, count, locations, indices, locations_given, flags, stream);
        assert_eq!(found, expected);
        assert_eq!(cuMemPrefetchBatchAsync(addresses, sizes, count, locations, indices, 1, flags, 0), INVALID_VALUE);
    }
    assert_eq!(range(4, managed, 4096), Ok(0));
    for (address, bytes, flags, expected) in
        [(managed, 4096, 0, OK), (device_address, 4096, 0, 1), (managed, 2 << 20, 1, 1)]
    {
        assert_eq!(cuMemDiscardBatchAsync(&address, &bytes, 1, flags, stream), expected);
    }
}
