//! Copies in two and three dimensions, array copies and batches. The error codes match an H200.

use super::structs::{ARRAY, DEVICE, Descriptor, HOST, Location, Memcpy3d, Side, UNIFIED};
use super::support::{Handle, INVALID_VALUE, OK, context, cuMemAlloc_v2, cuMemcpyDtoH_v2, functions};

functions! {
    fn cuStreamCreate(stream: *mut Handle, flags: u32);
    fn cuStreamSynchronize(stream: Handle);
    fn cuMemcpy(to: u64, from: u64, bytes: usize);
    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize);
    fn cuMemcpy2D_v2(params: *const Memcpy2d);
    fn cuMemcpy2DUnaligned_v2(params: *const Memcpy2d);
    fn cuMemcpy2DAsync_v2(params: *const Memcpy2d, stream: Handle);
    fn cuMemcpy3D_v2(params: *const Memcpy3d);
    fn cuMemcpy3DPeer(params: *const Memcpy3d);
    fn cuArray3DCreate_v2(array: *mut Handle, descriptor: *const Descriptor);
    fn cuMemcpyHtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize);
    fn cuMemcpyAtoH_v2(to: u64, array: Handle, offset: usize, bytes: usize);
    fn cuMemcpyAtoD_v2(to: u64, array: Handle, offset: usize, bytes: usize);
    fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize);
    fn cuMemcpyAtoA_v2(to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize);
    fn cuMemcpyBatchAsync_v2(
        to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const Attributes,
        indices: *const usize, attribute_count: usize, stream: Handle,
    );
    fn cuMemcpyBatchAsync(
        to: *const u64, from: *const u64, sizes: *const usize, count: usize, attributes: *const Attributes,
        indices: *const usize, attribute_count: usize, failed: *mut usize, stream: Handle,
    );
    fn cuMemcpy3DBatchAsync_v2(count: usize, operations: *const Operation, flags: u64, stream: Handle);
}

/// One side of a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Side2d {
    x: usize,
    y: usize,
    kind: u32,
    host: u64,
    device: u64,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Memcpy2d {
    from: Side2d,
    to: Side2d,
    extent: [usize; 2],
}

/// `CUmemcpyAttributes`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Attributes {
    pub(crate) order: u32,
    pub(crate) locations: [Location; 2],
    pub(crate) flags: u32,
}

/// `CUDA_MEMCPY3D_BATCH_OP`. Each operand is a word with its kind, followed by four more words.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Operation {
    from: [u64; 5],
    to: [u64; 5],
    extent: [usize; 3],
    order: u32,
    flags: u32,
}

impl Operation {
    /// Returns a copy of `extent` bytes between two addresses.
    pub(crate) fn of_memory(from: u64, to: u64, extent: [usize; 3]) -> Self {
        let [from, to] = [from, to].map(|address| [1, address, 0, 0, 0]);
        Self { from, to, extent, order: 1, flags: 0 }
    }
}

fn device(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(cuMemAlloc_v2(&mut address, bytes), OK);
    address
}

fn array(sides: [usize; 3], format: u32, channels: u32) -> Handle {
    let mut array = 0;
    assert_eq!(cuArray3DCreate_v2(&mut array, &Descriptor { sides, format, channels, flags: 0 }), OK);
    array
}

/// Returns bytes that all differ from their neighbors.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|index| (index * 7 + index / 256) as u8).collect()
}

fn download(address: u64, count: usize) -> Vec<u8> {
    let mut found = vec![0; count];
    assert_eq!(cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), address, count), OK);
    found
}

#[test]
fn two_dimensions() {
    context(0);
    let host = bytes(1 << 16);
    let (h, d) = (host.as_ptr() as u64, device(1000));
    let base = Memcpy2d {
        from: Side2d { kind: HOST, host: h, ..Side2d::default() },
        to: Side2d { kind: DEVICE, device: d, ..Side2d::default() },
        extent: [16, 4],
    };
    type Change<'a> = &'a dyn Fn(&mut Memcpy2d);
    let cases: [(&str, Change<'_>, u32); 18] = [
        ("unchanged", &|_| {}, OK),
        ("from.pitch < width", &|params| params.from.pitch = 8, 1),
        ("to.pitch < width", &|params| params.to.pitch = 8, 1),
        ("no width", &|params| (params.from.pitch, params.extent[0]) = (8, 0), OK),
        ("no height", &|params| params.extent[1] = 0, OK),
        ("from.kind", &|params| params.from.kind = 0, 1),
        ("to.kind", &|params| params.to.kind = 5, 1),
        ("from null", &|params| params.from.host = 0, 1),
        ("to null", &|params| params.to.device = 0, 1),
        ("beyond the allocation", &|params| params.to.pitch = 512, 1),
        ("up to the end of the allocation", &|params| (params.to.pitch, params.extent[1]) = (490, 3), OK),
        ("x beyond the pitch", &|params| (params.from.x, params.from.pitch) = (10, 16), 1),
        ("pitch overflows", &|params| params.to.pitch = usize::MAX, 1),
        ("y overflows", &|params| params.to.y = usize::MAX / 2, 1),
        ("host address in device memory", &|params| params.from.host = d, OK),
        ("device address in host memory", &|params| params.to.device = h, 1),
        ("unified", &|params| (params.from.kind, params.from.device, params.to.kind) = (UNIFIED, h, UNIFIED), OK),
        ("unified without an address", &|params| params.from.kind = UNIFIED, 1),
    ];
    for (name, change, expected) in cases {
        let mut params = base;
        change(&mut params);
        assert_eq!(cuMemcpy2D_v2(&params), expected, "{name}");
        assert_eq!(cuMemcpy2DUnaligned_v2(&params), expected, "{name}");
        assert_eq!(cuMemcpy2DAsync_v2(&params, 0), expected, "{name}");
    }
    assert_eq!(cuMemcpy2D_v2(std::ptr::null()), INVALID_VALUE);
    assert_eq!((cuMemcpyHtoD_v2(d, d + 512, 8), cuMemcpyHtoD_v2(h, h, 8)), (OK, 1));
    assert_eq!((cuMemcpyHtoD_v2(d, h, 1001), cuMemcpyHtoD_v2(0, 0, 0), cuMemcpy(h, h + 64, 0)), (1, OK, OK));
    // Without a pitch, the distance between rows is x plus the width.
    let mut params = base;
    (params.from.x, params.extent) = (2, [4, 2]);
    assert_eq!(cuMemcpy2D_v2(&params), OK);
    assert_eq!(download(d, 8), [&host[2..6], &host[8..12]].concat());
}

#[test]
fn three_dimensions() {
    context(0);
    let host = bytes(1 << 12);
    let (h, d, a) = (host.as_ptr() as u64, device(1000), array([16, 4, 0], 0x20, 1));
    let from = Side { kind: HOST, host: h, ..Side::default() };
    let base = Memcpy3d { from, to: Side { kind: DEVICE, device: d, ..Side::default() }, extent: [16, 2, 2] };
    let to_array = Memcpy3d { to: Side { kind: ARRAY, array: a, ..Side::default() }, ..base };
    type Change<'a> = &'a dyn Fn(&mut Memcpy3d);
    let cases: [(&str, Memcpy3d, Change<'_>, u32); 14] = [
        ("unchanged", base, &|_| {}, OK),
        ("a level of memory", base, &|params| params.from.level = 1, OK),
        ("reserved", base, &|params| params.from.reserved = 1, OK),
        ("height too small", base, &|params| (params.from.pitch, params.from.height) = (16, 1), 1),
        ("no depth", base, &|params| params.extent[2] = 0, OK),
        ("pitch too small", base, &|params| (params.from.pitch, params.from.height) = (8, 2), 1),
        ("beyond the allocation", base, &|params| (params.to.pitch, params.to.height) = (400, 2), 1),
        ("slices far apart", base, &|params| (params.to.pitch, params.to.height) = (16, 40), OK),
        ("a level of an array", to_array, &|params| (params.to.level, params.extent[2]) = (1, 1), 1),
        ("too deep for the array", to_array, &|_| {}, 1),
        ("a slice", to_array, &|params| params.extent[2] = 1, OK),
        ("a slice beyond the array", to_array, &|params| (params.to.z, params.extent[2]) = (1, 1), 1),
        ("x within a texel", to_array, &|params| (params.to.x, params.extent) = (2, [6, 1, 1]), OK),
        ("no array", to_array, &|params| (params.to.array, params.extent[2]) = (0, 1), 1),
    ];
    for (name, mut params, change, expected) in cases {
        change(&mut params);
        assert_eq!(cuMemcpy3D_v2(&params), expected, "{name}");
        assert_eq!(
            cuMemcpy3DPeer(&Memcpy3d { from: Side { reserved: 0, ..params.from }, ..params }),
            expected,
            "{name}"
        );
    }
    let mut peer = base;
    peer.to.reserved = 0x1234;
    assert_eq!(cuMemcpy3DPeer(&peer), super::support::INVALID_CONTEXT);
}

#[test]
fn boxes_through_an_array() {
    context(0);
    let host = bytes(4096);
    let (h, d, a) = (host.as_ptr() as u64, device(4096), array([10, 6, 5], 2, 2));
    // A box of 7 × 3 × 2 texels of 4 bytes is copied from a larger box to the middle of the array, and back out of it.
    let in_host = Side { kind: HOST, host: h, x: 4, y: 1, z: 1, pitch: 64, height: 8, ..Side::default() };
    let in_array = Side { kind: ARRAY, array: a, x: 12, y: 3, z: 2, ..Side::default() };
    let in_device = Side { kind: DEVICE, device: d, x: 8, y: 2, z: 0, pitch: 40, height: 7, ..Side::default() };
    let extent = [28, 3, 2];
    assert_eq!(cuMemcpy3D_v2(&Memcpy3d { from: in_host, to: in_array, extent }), OK);
    assert_eq!(cuMemcpy3D_v2(&Memcpy3d { from: in_array, to: in_device, extent }), OK);
    let found = download(d, 1000);
    for (slice, row) in [(0, 0), (0, 2), (1, 0), (1, 2)] {
        let from = ((1 + slice) * 8 + 1 + row) * 64 + 4;
        let to = (slice * 7 + 2 + row) * 40 + 8;
        assert_eq!(found[to..to + 28], host[from..from + 28], "slice {slice}, row {row}");
    }
}

#[test]
fn rows_of_arrays() {
    context(0);
    let host = bytes(256);
    let (h, d) = (host.as_ptr() as u64, device(256));
    let (one, other) = (array([16, 4, 0], 0x20, 1), array([16, 0, 0], 0x20, 1));
    for (offset, count, expected) in [(0, 64, OK), (0, 128, 1), (32, 64, 1), (2, 4, OK), (usize::MAX, 4, 1), (0, 0, OK)]
    {
        assert_eq!(cuMemcpyHtoA_v2(one, offset, h, count), expected, "{offset} {count}");
    }
    assert_eq!(cuMemcpyHtoA_v2(one, 0, h, 64), OK);
    assert_eq!(cuMemcpyAtoA_v2(other, 8, one, 4, 32), OK);
    assert_eq!(cuMemcpyAtoD_v2(d, other, 8, 32), OK);
    assert_eq!(download(d, 32), host[4..36]);
    assert_eq!(cuMemcpyDtoA_v2(other, 40, d, 16), OK);
    let mut found = [0_u8; 16];
    assert_eq!(cuMemcpyAtoH_v2(found.as_mut_ptr() as u64, other, 40, 16), OK);
    assert_eq!(found, host[4..20]);
    assert_eq!(cuMemcpyHtoA_v2(0, 0, h, 4), INVALID_VALUE);
}

#[test]
fn batches() {
    context(0);
    let host = bytes(256);
    let (h, d) = (host.as_ptr() as u64, device(1000));
    let mut stream = 0;
    assert_eq!(cuStreamCreate(&mut stream, 1), OK);
    let attributes = |order| [Attributes { order, ..Attributes::default() }; 3];
    let copy = |to: u64, count, order, index: usize, attribute_count, stream| {
        let (to, from, sizes, attribute_list) = ([d, to], [h, h + 64], [64_usize, 64], attributes(order));
        let indices = [index, 1, 2];
        let mut failed = 7;
        let (to, from, sizes) = (to.as_ptr(), from.as_ptr(), sizes.as_ptr());
        let (attribute_list, indices) = (attribute_list.as_ptr(), indices.as_ptr());
        let old =
            cuMemcpyBatchAsync(to, from, sizes, count, attribute_list, indices, attribute_count, &mut failed, stream);
        let new = cuMemcpyBatchAsync_v2(to, from, sizes, count, attribute_list, indices, attribute_count, stream);
        assert_eq!(old, new);
        (new, failed)
    };
    let no_failure = usize::MAX;
    for (name, found, expected) in [
        ("unchanged", copy(d + 512, 2, 1, 0, 1, stream), (OK, no_failure)),
        ("two attributes", copy(d + 512, 2, 3, 0, 2, stream), (OK, no_failure)),
        ("no copies", copy(d, 0, 1, 0, 1, stream), (1, no_failure)),
        ("no attributes", copy(d, 2, 1, 0, 0, stream), (1, no_failure)),
        ("a first index other than 0", copy(d, 2, 1, 1, 1, stream), (1, no_failure)),
        ("no order", copy(d, 2, 0, 0, 1, stream), (1, no_failure)),
        ("unknown order", copy(d, 2, 9, 0, 1, stream), (1, no_failure)),
        ("too many attributes", copy(d, 2, 1, 0, 3, stream), (1, no_failure)),
        ("the default stream", copy(d, 2, 1, 0, 1, 0), (1, no_failure)),
        ("beyond the allocation", copy(d + 990, 2, 1, 0, 1, stream), (1, 1)),
    ] {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(cuStreamSynchronize(stream), OK);
    assert_eq!((download(d, 64), download(d + 512, 64)), (host[..64].to_vec(), host[64..128].to_vec()));
}

#[test]
fn batches_of_boxes() {
    context(0);
    let host = bytes(1024);
    let (h, d, a) = (host.as_ptr() as u64, device(1024), array([10, 6, 0], 2, 2));
    let mut stream = 0;
    assert_eq!(cuStreamCreate(&mut stream, 1), OK);
    // Each row has 8 texels of 4 bytes, and 5 of them are copied. Lengths are in texels.
    let memory = |address: u64| [1, address, 8, 4, 0];
    let in_array = [2, a as u64, 3, 2, 0];
    let into = Operation { from: memory(h), to: in_array, extent: [5, 3, 1], order: 1, flags: 0 };
    let out = Operation { from: in_array, to: memory(d), ..into };
    for operation in [into, out] {
        assert_eq!((cuMemcpy3DBatchAsync_v2(1, &operation, 0, stream), cuStreamSynchronize(stream)), (OK, OK));
    }
    let found = download(d, 96);
    for row in 0..3 {
        assert_eq!(found[row * 32..][..20], host[row * 32..][..20]);
    }
    let wrong = [
        Operation { extent: [5, 5, 1], ..into },
        Operation { extent: [0, 3, 1], ..into },
        Operation { order: 0, ..into },
        Operation { from: [3, 0, 0, 0, 0], ..into },
        Operation { flags: 2, ..into },
        Operation { to: [2, 0, 0, 0, 0], ..into },
    ];
    for operation in wrong {
        assert_eq!(cuMemcpy3DBatchAsync_v2(1, &operation, 0, stream), INVALID_VALUE);
    }
    for (count, flags, stream) in [(0, 0, stream), (1, 1, stream), (1, 0, 0)] {
        assert_eq!(cuMemcpy3DBatchAsync_v2(count, &into, flags, stream), INVALID_VALUE);
    }
}
