//! Truncated images. The driver never trusts offsets and sizes in a file, which could lead to any address.

use std::ffi::CString;

use super::support::{Handle, OK, context, cuModuleLoadData, functions};

const INVALID_IMAGE: u32 = 200;
const NO_BINARY_FOR_GPU: u32 = 209;
/// `CU_JIT_INPUT_FATBINARY`.
const FATBINARY: u32 = 2;

functions! {
    fn cuModuleLoad(module: *mut Handle, path: *const u8);
    fn cuLibraryLoadFromFile(
        library: *mut Handle, path: *const u8, options: *const u32, values: *mut usize, count: u32,
        library_options: *const u32, library_values: *mut usize, library_count: u32,
    );
    fn cuLibraryGetModule(module: *mut Handle, library: Handle);
    fn cuLinkCreate_v2(count: u32, names: *const u32, values: *mut usize, linker: *mut Handle);
    fn cuLinkAddData_v2(
        linker: Handle, kind: u32, data: *const u8, bytes: usize, name: *const u8, count: u32, names: *const u32,
        values: *mut usize,
    );
    fn cuLinkDestroy(linker: Handle);
}

/// Returns the header of a fatbin, which gives the number of bytes that follow the header.
fn header(payload_bytes: u64) -> Vec<u8> {
    [&0xba55_ed50_u32.to_le_bytes()[..], &[1, 0, 16, 0], &payload_bytes.to_le_bytes()].concat()
}

/// Returns the error codes of loading these bytes as a module file and as a library file, and of linking them.
fn load_codes(bytes: &[u8]) -> [u32; 3] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, bytes).unwrap();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    let path = path.as_ptr().cast();
    let (mut module, mut library, mut linker) = (0, 0, 0);
    let none = std::ptr::null();
    let no_values = std::ptr::null_mut();
    let by_module = cuModuleLoad(&mut module, path);
    // An error in the code of a library is reported when the program requests the module.
    let by_library = match cuLibraryLoadFromFile(&mut library, path, none, no_values, 0, none, no_values, 0) {
        OK => cuLibraryGetModule(&mut module, library),
        code => code,
    };
    assert_eq!(cuLinkCreate_v2(0, none, no_values, &mut linker), OK);
    let by_linker = cuLinkAddData_v2(linker, FATBINARY, bytes.as_ptr(), bytes.len(), none.cast(), 0, none, no_values);
    assert_eq!(cuLinkDestroy(linker), OK);
    [by_module, by_library, by_linker]
}

#[test]
fn truncated_images_are_refused() {
    context(0);
    assert_eq!(load_codes(&header(0)), [NO_BINARY_FOR_GPU; 3], "an empty fatbin");
    for payload_bytes in [1, 64, 1 << 20, 1 << 47, u64::MAX] {
        assert_eq!(load_codes(&header(payload_bytes)), [INVALID_IMAGE; 3], "{payload_bytes} missing bytes");
    }
    for len in 1..16 {
        assert_eq!(load_codes(&header(0)[..len]), [INVALID_IMAGE; 3], "{len} bytes of a header");
    }
    // The wrapper that nvcc adds around a fatbin contains the fatbin's address.
    let wrapper: Vec<u8> = [0x4662_43b1_u32, 1, 64, 0, 64, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    for len in [4, 12, 24] {
        assert_eq!(load_codes(&wrapper[..len]), [INVALID_IMAGE; 3], "{len} bytes of a wrapper");
    }
}

#[test]
fn sizes_beyond_the_address_space_are_refused() {
    context(0);
    let mut module = 0;
    for payload_bytes in [1 << 63, u64::MAX - 16, u64::MAX] {
        assert_eq!(cuModuleLoadData(&mut module, header(payload_bytes).as_ptr()), INVALID_IMAGE, "{payload_bytes}");
    }
}
