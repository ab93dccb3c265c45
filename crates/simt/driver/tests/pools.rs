//! Memory pools and stream-ordered allocation. The error codes and values match an H200.

use super::structs::{Access, Location, Props};
use super::support::{Handle, INVALID_DEVICE, INVALID_VALUE, OK, context, cuMemAlloc_v2, cuMemFree_v2, functions};

const OUT_OF_MEMORY: u32 = 2;
const NOT_SUPPORTED: u32 = 801;
const PIECE: u64 = 32 << 20;

functions! {
    fn cuStreamCreate(stream: *mut Handle, flags: u32);
    fn cuStreamSynchronize(stream: Handle);
    fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32);
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle);
    fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: Handle, stream: Handle);
    fn cuMemFreeAsync(address: u64, stream: Handle);
    fn cuMemPoolCreate(pool: *mut Handle, props: *const Props);
    fn cuMemPoolDestroy(pool: Handle);
    fn cuMemPoolTrimTo(pool: Handle, bytes: usize);
    fn cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut u64);
    fn cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *const u64);
    fn cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const Location);
    fn cuMemPoolSetAccess(pool: Handle, access: *const Access, count: usize);
    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32);
    fn cuDeviceGetMemPool(pool: *mut Handle, device: i32);
    fn cuDeviceSetMemPool(device: i32, pool: Handle);
    fn cuMemGetDefaultMemPool(pool: *mut Handle, location: *const Location, kind: u32);
    fn cuPointerGetAttribute(value: *mut u64, attribute: u32, address: u64);
}

fn stream() -> Handle {
    let mut stream = 0;
    assert_eq!(cuStreamCreate(&mut stream, 1), OK);
    stream
}

fn props(kind: u32, handle_types: u32, location: [i32; 2], max_bytes: usize) -> Props {
    Props { kind, handle_types, location, max_bytes, ..Props::default() }
}

fn pool(max_bytes: usize) -> Handle {
    let mut pool = 0;
    assert_eq!(cuMemPoolCreate(&mut pool, &props(1, 0, [1, 0], max_bytes)), OK);
    pool
}

fn allocated(bytes: usize, pool: Handle, stream: Handle) -> Result<u64, u32> {
    let mut address = 0;
    match cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream) {
        OK => Ok(address),
        code => Err(code),
    }
}

/// Returns the attributes of a pool, starting with the release threshold.
fn state(pool: Handle) -> [u64; 5] {
    [4, 5, 6, 7, 8].map(|attribute| {
        let mut value = 0;
        assert_eq!(cuMemPoolGetAttribute(pool, attribute, &mut value), OK);
        value
    })
}

#[test]
fn water_marks() {
    context(0);
    let (stream, pool) = (stream(), pool(0));
    assert_eq!(state(pool), [0; 5]);
    allocated(100, pool, stream).unwrap();
    assert_eq!(state(pool), [0, PIECE, PIECE, 100, 100]);
    let large = allocated(50 << 20, pool, stream).unwrap();
    let used = (50 << 20) + 100;
    assert_eq!(state(pool), [0, 2 * PIECE, 2 * PIECE, used, used]);
    assert_eq!(cuMemFreeAsync(large, stream), OK);
    assert_eq!(cuStreamSynchronize(stream), OK);
    assert_eq!(state(pool), [0, PIECE, 2 * PIECE, 100, used]);
    for (attribute, value, expected) in [
        (4, 1 << 30, OK),
        (5, 0, 1),
        (6, 1, 1),
        (6, 0, OK),
        (7, 0, 1),
        (8, 5, 1),
        (8, 0, OK),
        (1, 0, OK),
        (9, 0, 1),
        (0, 0, 1),
    ] {
        assert_eq!(cuMemPoolSetAttribute(pool, attribute, &value), expected, "{attribute} {value}");
    }
    assert_eq!(state(pool), [1 << 30, PIECE, PIECE, 100, 100]);
    let large = allocated(50 << 20, pool, stream).unwrap();
    assert_eq!((cuMemFreeAsync(large, stream), cuStreamSynchronize(stream)), (OK, OK));
    assert_eq!(state(pool), [1 << 30, 2 * PIECE, 2 * PIECE, 100, used]);
    assert_eq!(cuMemPoolTrimTo(pool, 0), OK);
    assert_eq!(state(pool), [1 << 30, PIECE, 2 * PIECE, 100, used]);
    let mut reuse = 7;
    assert_eq!((cuMemPoolGetAttribute(pool, 1, &mut reuse), reuse), (OK, 0));
    assert_eq!(cuMemPoolGetAttribute(pool, 9, &mut reuse), INVALID_VALUE);
}

#[test]
fn frees() {
    context(0);
    let (stream, pool) = (stream(), pool(1 << 20));
    let (mut device_address, mut managed) = (0, 0);
    assert_eq!((cuMemAlloc_v2(&mut device_address, 100), cuMemAllocManaged(&mut managed, 100, 1)), (OK, OK));
    let address = allocated(1000, pool, stream).unwrap();
    assert_eq!(cuMemFreeAsync(address + 8, stream), INVALID_VALUE);
    assert_eq!(cuMemFreeAsync(managed, stream), NOT_SUPPORTED);
    assert_eq!(cuMemFreeAsync(64, stream), INVALID_VALUE);
    assert_eq!((cuMemFreeAsync(0, stream), cuMemFreeAsync(device_address, stream)), (OK, OK));
    assert_eq!((cuMemFreeAsync(address, stream), cuMemFreeAsync(address, stream)), (OK, INVALID_VALUE));
    let address = allocated(1000, pool, stream).unwrap();
    assert_eq!((cuMemFree_v2(address), cuMemFree_v2(address)), (OK, INVALID_VALUE));
    assert_eq!(allocated(0, pool, stream), Ok(0));
    // The maximum size of a pool is rounded up.
    assert_eq!(allocated(33 << 20, pool, stream), Err(OUT_OF_MEMORY));
    assert!(allocated(1 << 20, pool, stream).is_ok());
    assert_eq!(allocated(1, 0x1234, stream), Err(INVALID_VALUE));
}

#[test]
fn pool_creation_and_selection() {
    context(0);
    let stream = stream();
    for (kind, types, location, expected) in [
        (0, 0, [1, 0], INVALID_VALUE),
        (1, 0, [1, 9], INVALID_VALUE),
        (1, 0, [0, 0], INVALID_VALUE),
        (1, 0, [2, 0], OK),
        (2, 0, [1, 0], OK),
        (1, 99, [1, 0], INVALID_VALUE),
        (1, 1, [1, 0], OK),
        (1, 2, [1, 0], NOT_SUPPORTED),
    ] {
        let mut handle = 0;
        assert_eq!(
            cuMemPoolCreate(&mut handle, &props(kind, types, location, 0)),
            expected,
            "{kind} {types} {location:?}"
        );
    }
    let (mut default, mut current) = (0, 0);
    assert_eq!(cuDeviceGetDefaultMemPool(&mut default, 0), OK);
    assert_eq!(cuDeviceGetDefaultMemPool(&mut current, 9), INVALID_DEVICE);
    let new_pool = pool(0);
    assert_eq!(cuDeviceSetMemPool(0, new_pool), OK);
    assert_eq!((cuDeviceGetMemPool(&mut current, 0), current), (OK, new_pool));
    let (mut address, mut value) = (0, 0);
    assert_eq!((cuMemAllocAsync(&mut address, 1000, stream), address % 512), (OK, 0));
    assert_eq!((cuPointerGetAttribute(&mut value, 17, address), value as usize), (OK, new_pool));
    assert_eq!((cuPointerGetAttribute(&mut value, 1, address), value), (OK, 0));
    assert_eq!((cuMemPoolDestroy(default), cuMemPoolDestroy(new_pool)), (INVALID_VALUE, OK));
    assert_eq!((cuDeviceGetMemPool(&mut current, 0), current), (OK, default));
    assert_eq!((cuMemFreeAsync(address, stream), cuStreamSynchronize(stream)), (OK, OK));
    assert_eq!(cuMemPoolDestroy(new_pool), INVALID_VALUE);
    for (location_kind, id, kind, expected) in
        [(1, 0, 0, 1), (1, 0, 1, OK), (1, 0, 2, OK), (2, 0, 1, OK), (0, 0, 1, 1), (1, 7, 1, 1)]
    {
        current = 0;
        assert_eq!(cuMemGetDefaultMemPool(&mut current, &Location { kind: location_kind, id }, kind), expected);
        assert_eq!((current != 0, current == default), (expected == OK, (location_kind, id, kind) == (1, 0, 1)));
    }
}

#[test]
fn access() {
    context(0);
    let pool = pool(0);
    for (kind, id, expected) in [(1, 0, Ok(3)), (1, 9, Err(INVALID_VALUE)), (0, 0, Err(INVALID_VALUE)), (2, 0, Ok(0))] {
        let mut flags = 7;
        let code = cuMemPoolGetAccess(&mut flags, pool, &Location { kind, id });
        assert_eq!(if code == OK { Ok(flags) } else { Err(code) }, expected);
    }
    for (kind, id, flags, expected) in [
        (1, 0, 3, OK),
        (1, 0, 0, INVALID_DEVICE),
        (1, 9, 3, INVALID_DEVICE),
        (2, 0, 3, NOT_SUPPORTED),
        (1, 0, 5, INVALID_VALUE),
    ] {
        let access = Access { location: Location { kind, id }, flags };
        assert_eq!(cuMemPoolSetAccess(pool, &access, 1), expected, "{kind} {id} {flags}");
    }
}
