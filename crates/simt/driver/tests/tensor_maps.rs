//! Tensor maps: parameters that the driver refuses, and how simt decodes the maps that the driver creates.

use simt::{Swizzle, TensorElement, TensorMap};

use super::support::{INVALID_VALUE, OK, context, cuMemAlloc_v2, functions};

const NOT_SUPPORTED: u32 = 801;

/// `CUtensorMap`.
#[repr(C, align(128))]
pub(crate) struct Map([u8; 128]);

functions! {
    fn cuTensorMapEncodeTiled(
        map: *mut Map, element: u32, rank: u32, address: u64, sizes: *const u64, strides: *const u64, tile: *const u32,
        steps: *const u32, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    );
    fn cuTensorMapEncodeIm2col(
        map: *mut Map, element: u32, rank: u32, address: u64, sizes: *const u64, strides: *const u64, lower: *const i32,
        upper: *const i32, channels: u32, pixels: u32, steps: *const u32, interleave: u32, swizzle: u32, promotion: u32,
        fill: u32,
    );
    fn cuTensorMapReplaceAddress(map: *mut Map, address: u64);
}

/// The parameters of a tensor map. The test starts with a tensor of 64 × 100 floats.
#[derive(Clone)]
struct Params {
    element: u32,
    rank: u32,
    address: u64,
    sizes: [u64; 2],
    strides: [u64; 1],
    tile: [u32; 2],
    steps: [u32; 2],
    modes: [u32; 4],
}

impl Params {
    fn encode(&self, map: *mut Map) -> u32 {
        let Self { element, rank, address, sizes, strides, tile, steps, modes: [interleave, swizzle, promotion, fill] } =
            self;
        let (sizes, strides, tile, steps) = (sizes.as_ptr(), strides.as_ptr(), tile.as_ptr(), steps.as_ptr());
        cuTensorMapEncodeTiled(
            map,
            *element,
            *rank,
            *address,
            sizes,
            strides,
            tile,
            steps,
            *interleave,
            *swizzle,
            *promotion,
            *fill,
        )
    }
}

#[test]
fn tiles() {
    context(0);
    let mut memory = 0;
    assert_eq!(cuMemAlloc_v2(&mut memory, 1 << 16), OK);
    let base = Params {
        element: 7,
        rank: 2,
        address: memory,
        sizes: [64, 100],
        strides: [256],
        tile: [32, 8],
        steps: [1, 1],
        modes: [0, 3, 2, 0],
    };
    let mut map = Map([0; 128]);
    assert_eq!(base.encode(&mut map), OK);
    let expected = TensorMap {
        element: TensorElement::F32,
        address: memory,
        sizes: vec![64, 100],
        strides: vec![256],
        tile: vec![32, 8],
        steps: vec![1, 1],
        swizzle: Swizzle::B128,
        nan: false,
    };
    assert_eq!(TensorMap::decode(&map.0), Some(expected.clone()));
    assert_eq!(cuTensorMapReplaceAddress(&mut map, memory + 4096), OK);
    assert_eq!(TensorMap::decode(&map.0), Some(TensorMap { address: memory + 4096, ..expected }));
    for address in [0, memory + 8] {
        assert_eq!(cuTensorMapReplaceAddress(&mut map, address), INVALID_VALUE);
    }
    assert_eq!(cuTensorMapReplaceAddress(&mut Map([7; 128]), memory), INVALID_VALUE);
    type Change<'a> = &'a dyn Fn(&mut Params);
    let cases: [(&str, Change<'_>, u32); 19] = [
        ("rank", &|params| params.rank = 0, 1),
        ("rank", &|params| params.rank = 6, 1),
        ("type", &|params| params.element = 16, 1),
        ("address", &|params| params.address += 8, 1),
        ("null", &|params| params.address = 0, 1),
        ("stride", &|params| params.strides = [260], 1),
        ("stride", &|params| params.strides = [1 << 40], 1),
        ("zero size", &|params| params.sizes = [64, 0], 1),
        ("size", &|params| params.sizes = [64, (1 << 32) + 1], 1),
        ("zero tile", &|params| params.tile = [32, 0], 1),
        ("tile", &|params| params.tile = [32, 257], 1),
        ("a row that is not a multiple of 16 bytes", &|params| params.tile = [30, 8], 1),
        ("a row that is longer than the swizzle", &|params| params.tile = [64, 8], 1),
        ("steps", &|params| params.steps = [1, 9], 1),
        ("promotion", &|params| params.modes[2] = 4, 1),
        ("fill", &|params| params.modes[3] = 2, 1),
        ("integers filled with NaN", &|params| (params.element, params.modes[3]) = (2, 1), 1),
        ("interleave", &|params| params.modes[0] = 1, NOT_SUPPORTED),
        ("swizzle", &|params| params.modes[1] = 4, NOT_SUPPORTED),
    ];
    for (name, change, expected) in cases {
        let mut params = base.clone();
        change(&mut params);
        assert_eq!(params.encode(&mut map), expected, "{name}");
    }
    assert_eq!(base.encode(std::ptr::null_mut()), INVALID_VALUE);
    assert_eq!(base.encode(std::ptr::from_mut(&mut map).wrapping_byte_add(16)), INVALID_VALUE);
}

#[test]
fn im2col() {
    context(0);
    let mut memory = 0;
    assert_eq!(cuMemAlloc_v2(&mut memory, 1 << 20), OK);
    let (sizes, strides, steps) = ([16_u64, 10, 10, 4], [64_u64, 640, 6400], [1_u32; 4]);
    let encode = |lower: [i32; 2], channels: u32, pixels: u32| {
        let (mut map, upper) = (Map([0; 128]), [0; 2]);
        let (sizes, strides, steps) = (sizes.as_ptr(), strides.as_ptr(), steps.as_ptr());
        let (lower, upper) = (lower.as_ptr(), upper.as_ptr());
        let code = cuTensorMapEncodeIm2col(
            &mut map, 7, 4, memory, sizes, strides, lower, upper, channels, pixels, steps, 0, 0, 0, 0,
        );
        (code, code == OK && cuTensorMapReplaceAddress(&mut map, memory + 16) == OK)
    };
    assert_eq!(encode([-1, -1], 16, 64), (OK, true));
    for (lower, channels, pixels) in [([-200, 0], 16, 64), ([0, 0], 257, 64), ([0, 0], 16, 1025), ([0, 0], 3, 64)] {
        assert_eq!(encode(lower, channels, pixels), (INVALID_VALUE, false), "{lower:?} {channels} {pixels}");
    }
}
