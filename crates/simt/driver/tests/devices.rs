//! Devices: names, PCI bus IDs, attributes and limits, several devices at once, and invalid device settings.

use std::ffi::{CStr, CString};
use std::fs;

use crate::support::{
    INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, OK, attribute, context, cuCtxSetCurrent,
    cuCtxSynchronize, cuDeviceGetAttribute, cuInit, cuMemAlloc_v2, cuMemFree_v2, cuMemcpyDtoH_v2, cuMemsetD8_v2, file,
    functions, in_child_process, kernel, load,
};

functions! {
    fn cuDriverGetVersion(version: *mut i32);
    fn cuDeviceGetCount(count: *mut i32);
    fn cuDeviceGetName(name: *mut u8, capacity: i32, device: i32);
    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: i32);
    fn cuDeviceGetLuid(luid: *mut [u8; 8], nodes: *mut u32, device: i32);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32);
    fn cuDeviceGetProperties(properties: *mut [i32; 14], device: i32);
    fn cuDeviceGetPCIBusId(text: *mut u8, capacity: i32, device: i32);
    fn cuDeviceGetByPCIBusId(device: *mut i32, text: *const u8);
    fn cuDeviceGetTexture1DLinearMaxWidth(texels: *mut usize, format: u32, channels: u32, device: i32);
    fn cuDeviceGetExecAffinitySupport(is_supported: *mut i32, kind: u32, device: i32);
    fn cuDeviceCanAccessPeer(is_possible: *mut i32, device: i32, peer: i32);
    fn cuDeviceGetP2PAttribute(value: *mut i32, attribute: u32, device: i32, peer: i32);
    fn cuDeviceGetHostAtomicCapabilities(capabilities: *mut u32, operations: *const u32, count: u32, device: i32);
    fn cuDeviceGetP2PAtomicCapabilities(
        capabilities: *mut u32, operations: *const u32, count: u32, device: i32, peer: i32,
    );
    fn cuCtxEnablePeerAccess(context: usize, flags: u32);
    fn cuCtxDisablePeerAccess(context: usize);
    fn cuModuleLoadDataEx(
        module: *mut usize, image: *const u8, count: u32, names: *const u32, values: *mut usize,
    );
    fn cuFlushGPUDirectRDMAWrites(target: u32, scope: u32);
    fn cuCtxGetLimit(value: *mut usize, limit: u32);
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxGetDevice(device: *mut i32);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuLaunchKernel(
        function: usize, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: usize, params: *const *const u64, extra: *const usize,
    );
}

/// Error codes of the driver.
const PEER_ACCESS_UNSUPPORTED: u32 = 217;
const INVALID_PTX: u32 = 218;
const UNSUPPORTED_PTX_VERSION: u32 = 222;
const UNSUPPORTED_LIMIT: u32 = 215;
const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
const PEER_ACCESS_NOT_ENABLED: u32 = 705;
const NOT_PERMITTED: u32 = 800;
const NOT_SUPPORTED: u32 = 801;
const OUT_OF_MEMORY: u32 = 2;

/// Returns the text that a function writes into a buffer.
fn text(write: impl FnOnce(*mut u8, i32) -> u32) -> String {
    let mut buffer = [0xff; 64];
    assert_eq!(write(buffer.as_mut_ptr(), 64), OK);
    let end = buffer.iter().position(|byte| *byte == 0).expect("the text ends in a NUL");
    String::from_utf8(buffer[..end].to_vec()).expect("the text is UTF-8")
}

/// Compares all attributes with those of a GPU. The PCI bus and device IDs (33 and 34) must differ from that GPU's.
#[test]
fn the_h200_has_the_recorded_attributes() {
    assert_eq!(cuInit(0), OK);
    let recorded = include_str!("../src/gpu/attributes.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in recorded {
        let (number, value) = line.split_once(' ').expect("a number and a value");
        let (number, value): (u32, i32) = (number.parse().expect("a number"), value.parse().expect("a number"));
        match number {
            33 | 34 => assert_ne!(attribute(number, 0), value, "attribute {number}"),
            _ => assert_eq!(attribute(number, 0), value, "attribute {number}"),
        }
        count += 1;
    }
    assert_eq!(count, 147);
    let mut value = 7;
    for unknown in [0, 148, 160, u32::MAX] {
        assert_eq!(cuDeviceGetAttribute(&mut value, unknown, 0), INVALID_VALUE, "attribute {unknown}");
    }
    assert_eq!(cuDeviceGetAttribute(std::ptr::null_mut(), 1, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGetAttribute(&mut value, 1, 1), INVALID_DEVICE);
    assert_eq!(value, 7);
    let mut bytes = 0;
    assert_eq!((cuDeviceTotalMem_v2(&mut bytes, 0), bytes), (OK, 150_109_880_320));
    let mut properties = [0; 14];
    assert_eq!(cuDeviceGetProperties(&mut properties, 0), OK);
    let expected =
        [1024, 1024, 1024, 64, i32::MAX, 65_535, 65_535, 49_152, 65_536, 32, i32::MAX, 65_536, 1_980_000, 512];
    assert_eq!(properties, expected);
}

/// Unusual queries return what the driver of a GPU returns.
#[test]
fn device_queries() {
    assert_eq!(cuInit(0), OK);
    assert_eq!(text(|name, capacity| cuDeviceGetName(name, capacity, 0)), "NVIDIA H200 (simulated)");
    let mut short = [0xff; 5];
    assert_eq!((cuDeviceGetName(short.as_mut_ptr(), 5, 0), &short), (OK, b"NVID\0"));
    assert_eq!(cuDeviceGetName(short.as_mut_ptr(), 0, 0), INVALID_VALUE);
    assert_eq!((cuDeviceGetPCIBusId(short.as_mut_ptr(), 5, 0), &short), (INVALID_VALUE, b"0000\0"));
    let (mut luid, mut nodes) = ([0; 8], 0);
    assert_eq!(cuDeviceGetLuid(&mut luid, &mut nodes, 0), NOT_SUPPORTED);
    assert_eq!(cuDeviceGetLuid(&mut luid, &mut nodes, 1), INVALID_DEVICE);

    let texels = |format, channels| {
        let mut texels = 0;
        match cuDeviceGetTexture1DLinearMaxWidth(&mut texels, format, channels, 0) {
            OK => Ok(texels),
            code => Err(code),
        }
    };
    for (format, channels) in [(1, 1), (8, 1), (0x20, 1), (0x10, 2)] {
        assert_eq!(texels(format, channels), Ok(1 << 30), "{format:#x}, {channels}");
    }
    assert_eq!(texels(0x20, 4), Ok(1 << 28));
    for (format, channels) in [(0x20, 3), (0x20, 0), (99, 1), (0xb0, 1)] {
        assert_eq!(texels(format, channels), Err(INVALID_VALUE), "{format:#x}, {channels}");
    }
    let mut is_supported = 7;
    assert_eq!((cuDeviceGetExecAffinitySupport(&mut is_supported, 0, 0), is_supported), (OK, 0));

    let (mut capabilities, operations) = ([7; 14], std::array::from_fn::<u32, 14, _>(|number| number as u32));
    let (output, codes) = (capabilities.as_mut_ptr(), operations.as_ptr());
    assert_eq!(cuDeviceGetHostAtomicCapabilities(output, codes, 13, 0), OK);
    assert_eq!(cuDeviceGetHostAtomicCapabilities(output, codes, 14, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGetHostAtomicCapabilities(output, codes, 0, 0), INVALID_VALUE);
    assert_eq!(cuDeviceGetP2PAtomicCapabilities(output, codes, 13, 0, 0), INVALID_DEVICE);
    assert_eq!(cuDeviceGetP2PAtomicCapabilities(output, codes, 0, 0, 0), INVALID_VALUE);
    assert_eq!(capabilities, std::array::from_fn(|number| if number < 13 { 0 } else { 7 }));

    let mut value = 7;
    assert_eq!(cuDeviceGetP2PAttribute(&mut value, 2, 0, 0), INVALID_DEVICE);
    assert_eq!((cuDeviceCanAccessPeer(&mut value, 0, 0), value), (OK, 0));
    assert_eq!(cuDeviceCanAccessPeer(&mut value, 0, 7), INVALID_DEVICE);
}

/// Each of three devices has a unique name, PCI bus ID and UUID, and all of them are consistent.
#[test]
fn several_devices() {
    if !in_child_process("devices::several_devices", &[("LADDER_SIM_DEVICES", "3")]) {
        return;
    }
    assert_eq!(cuInit(0), OK);
    let mut count = 0;
    assert_eq!((cuDeviceGetCount(&mut count), count), (OK, 3));
    let mut seen = std::collections::HashSet::new();
    for device in 0..3 {
        let mut uuid = [0; 16];
        assert_eq!(cuDeviceGetUuid(&mut uuid, device), OK);
        let bus_id = text(|bus_id, capacity| cuDeviceGetPCIBusId(bus_id, capacity, device));
        let [domain, bus, slot] = [50, 33, 34].map(|number| attribute(number, device));
        assert_eq!(bus_id, format!("{domain:04X}:{bus:02X}:{slot:02X}.0"));
        assert!(seen.insert(uuid.to_vec()) && seen.insert(bus_id.clone().into_bytes()));
        let device_at = |id_text: &str| {
            let mut found = 7;
            let code = cuDeviceGetByPCIBusId(&mut found, format!("{id_text}\0").as_ptr());
            if code == OK { Ok(found) } else { Err(code) }
        };
        let tail = &bus_id[5..];
        for spelling in
            [&bus_id, tail, &bus_id[..10], &format!("0000{bus_id}"), &bus_id.to_lowercase(), &format!("{bus_id}x")]
        {
            assert_eq!(device_at(spelling), Ok(device), "{spelling}");
        }
        for wrong in ["", "zz", "06", &tail[..5], "0:0:0:0.0"] {
            assert_eq!(device_at(wrong), Err(INVALID_VALUE), "{wrong}");
        }
        assert_eq!(device_at("0000:77:00.0"), Err(INVALID_DEVICE));
    }
}

/// Contexts of two devices: peer access and memory usage.
#[test]
fn peers() {
    if !in_child_process("devices::peers", &[("LADDER_SIM_DEVICES", "2"), ("LADDER_SIM_DEVICE", "t4")]) {
        return;
    }
    assert_eq!(cuInit(0), OK);
    assert_eq!(cuFlushGPUDirectRDMAWrites(0, 100), INVALID_CONTEXT);
    let mut value = 7;
    assert_eq!((cuDeviceCanAccessPeer(&mut value, 0, 1), value), (OK, 1));
    for (number, expected) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 0)] {
        assert_eq!((cuDeviceGetP2PAttribute(&mut value, number, 1, 0), value), (OK, expected), "attribute {number}");
    }
    assert_eq!(cuDeviceGetP2PAttribute(&mut value, 0, 1, 0), INVALID_VALUE);
    let [first, second, third] = [0, 1, 1].map(context);
    assert_eq!((cuCtxGetDevice(&mut value), value), (OK, 1));
    let results = [third, second, 0, 0x33].map(|peer| cuCtxEnablePeerAccess(peer, 0));
    assert_eq!(results, [PEER_ACCESS_UNSUPPORTED, PEER_ACCESS_UNSUPPORTED, INVALID_CONTEXT, INVALID_CONTEXT]);
    assert_eq!(cuCtxEnablePeerAccess(first, 1), INVALID_VALUE);
    assert_eq!(cuCtxDisablePeerAccess(first), PEER_ACCESS_NOT_ENABLED);
    assert_eq!([0, 1].map(|_| cuCtxEnablePeerAccess(first, 0)), [OK, PEER_ACCESS_ALREADY_ENABLED]);
    assert_eq!([0, 1].map(|_| cuCtxDisablePeerAccess(first)), [OK, PEER_ACCESS_NOT_ENABLED]);
    assert_eq!([100, 200, 1].map(|scope| cuFlushGPUDirectRDMAWrites(0, scope)), [OK, OK, INVALID_VALUE]);
    assert_eq!(cuFlushGPUDirectRDMAWrites(1, 100), INVALID_VALUE);

    let used_bytes = |context| {
        assert_eq!(cuCtxSetCurrent(context), OK);
        let (mut free, mut total) = (0, 0);
        assert_eq!(cuMemGetInfo_v2(&mut free, &mut total), OK);
        assert_eq!(total, 15_843_721_216);
        total - free
    };
    let before = [used_bytes(first), used_bytes(second)];
    let bytes = 64 << 20;
    assert_eq!(cuCtxSetCurrent(first), OK);
    let mut address = 0;
    assert_eq!(cuMemAlloc_v2(&mut address, bytes), OK);
    assert_eq!(used_bytes(first), before[0] + bytes);
    // No memory of the second device is in use, unless the host has less memory than the device.
    assert!(before[1] > 0 || used_bytes(second) == 0, "{before:?}");
    assert_eq!(cuCtxSetCurrent(first), OK);
    assert_eq!(cuMemsetD8_v2(address, 1, bytes), OK);
    // The size exceeds the free memory of this device but not that of both devices together.
    let mut second_address = 0;
    assert_eq!(cuMemAlloc_v2(&mut second_address, 15_843_721_216), OUT_OF_MEMORY);

    // A kernel on the second device writes memory of the first device.
    assert_eq!(cuCtxSetCurrent(second), OK);
    let ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .u64 a;\n\
               ld.param.u64 a, [p];\nst.global.u32 [a], 42;\nret;\n}\n";
    let function = kernel(ptx);
    let param: *const u64 = &address;
    assert_eq!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, &param, std::ptr::null()), OK);
    assert_eq!(cuCtxSynchronize(), OK);
    let mut word = 0u32;
    assert_eq!(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4), OK);
    assert_eq!(word, 42);
    assert_eq!(cuMemFree_v2(address), OK);
}

/// The limits match those of an H200's driver.
#[test]
fn limits_of_a_context() {
    context(0);
    let get = |limit| {
        let mut value = 0;
        match cuCtxGetLimit(&mut value, limit) {
            OK => Ok(value),
            code => Err(code),
        }
    };
    let defaults = [1024, 8_650_752, 8 << 20, 0, 2048, 64, 11_796_480, 232_448, 0];
    for (limit, value) in (0..).zip(defaults) {
        assert_eq!(get(limit), if limit == 3 { Err(UNSUPPORTED_LIMIT) } else { Ok(value) }, "limit {limit}");
    }
    assert_eq!([9, 10, 11].map(get), [UNSUPPORTED_LIMIT, INVALID_VALUE, INVALID_VALUE].map(Err));
    for (limit, request, code, effective) in [
        (0, 1000, OK, 1008),
        (0, 1_000_000_000, INVALID_VALUE, 1008),
        (1, 1000, OK, 524_288),
        (1, 1_000_000_000, OK, 1_000_000_000),
        (1, 1 << 40, OK, 1 << 31),
        (2, 1000, OK, 4 << 20),
        (2, 1_000_000_000, OK, 1_000_013_824),
        (4, 1_000_000_000, OK, 599_186),
        (5, 1000, INVALID_VALUE, 64),
        (6, 1000, OK, 3_932_160),
        (6, 1_000_000_000, INVALID_VALUE, 3_932_160),
        (7, 1000, NOT_PERMITTED, 232_448),
        (8, 1, NOT_PERMITTED, 0),
    ] {
        assert_eq!((cuCtxSetLimit(limit, request), get(limit)), (code, Ok(effective)), "limit {limit} of {request}");
    }
    assert_eq!([3, 9, 10].map(|limit| cuCtxSetLimit(limit, 1)), [UNSUPPORTED_LIMIT, UNSUPPORTED_LIMIT, INVALID_VALUE]);
}

/// Values that the driver reports for these boards, as published: compute capability, multiprocessors, memory clock and
/// bus width, L2 size, threads and blocks per multiprocessor, shared memory per multiprocessor and per block, cluster
/// support, and persisting L2 size.
#[test]
fn other_devices() {
    let expected = [
        ("h100", [9, 0, 132, 2_619_000, 5120, 52_428_800, 2048, 32, 233_472, 232_448, 1, 32_768_000]),
        ("a100", [8, 0, 108, 1_593_000, 5120, 41_943_040, 2048, 32, 167_936, 166_912, 0, 31_457_280]),
        ("l4", [8, 9, 58, 6_251_000, 192, 50_331_648, 1536, 24, 102_400, 101_376, 0, 34_603_008]),
        ("rtx4090", [8, 9, 128, 10_501_000, 384, 75_497_472, 1536, 24, 102_400, 101_376, 0, 51_904_512]),
        ("rtx3080", [8, 6, 68, 9_501_000, 320, 5_242_880, 1536, 16, 102_400, 101_376, 0, 3_604_480]),
        ("t4", [7, 5, 40, 5_001_000, 256, 4_194_304, 1024, 16, 65_536, 65_536, 0, 0]),
    ];
    let selected = std::env::var("LADDER_SIM_DEVICE").unwrap_or_default();
    for (name, values) in expected {
        // Each child process checks only its device.
        if !selected.is_empty() && selected != name {
            continue;
        }
        if !in_child_process("devices::other_devices", &[("LADDER_SIM_DEVICE", name)]) {
            continue;
        }
        assert_eq!(cuInit(0), OK);
        let numbers = [75, 76, 16, 36, 37, 38, 39, 106, 81, 97, 120, 108];
        assert_eq!(numbers.map(|number| attribute(number, 0)), values, "{name}");
        let is_new = values[0] >= 9;
        assert_eq!([127, 128].map(|number| attribute(number, 0)), [i32::from(is_new); 2], "{name}");
        assert_eq!(attribute(126, 0), if is_new { 4 } else { 1 }, "{name}");
        assert_eq!(attribute(111, 0), if values[0] < 8 { 0 } else { 1024 }, "{name}");
        assert!(text(|text, capacity| cuDeviceGetName(text, capacity, 0)).ends_with(" (simulated)"));
        context(0);
        let mut value = 0;
        let code = if values[11] > 0 { OK } else { UNSUPPORTED_LIMIT };
        assert_eq!(cuCtxGetLimit(&mut value, 6), code, "{name}");
    }
}

/// Invalid device settings: the error code that the program gets, and the message in the log.
#[test]
fn invalid_device_settings_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, text).expect("the folder is writable");
        path
    };
    let h100 = fs::read_to_string(file("crates/simt/devices/known/h100.toml")).expect("the description of an H100");
    let bare = write("bare.toml", &h100[..h100.find("[board]").expect("a board")]);
    let wrong = write("wrong.toml", &h100.replace("multiprocessors = 132", "multiprocessors = 0"));
    let cases = [
        ("h10", "1", INVALID_DEVICE, "LADDER_SIM_DEVICE=h10: no device is named `h10`; did you mean `h100`, or"),
        ("h10", "1", INVALID_DEVICE, "known devices: h200, h100, a100"),
        ("./no.toml", "1", INVALID_DEVICE, "cannot read ./no.toml"),
        (&*bare, "1", INVALID_DEVICE, "no [board] section"),
        (&*wrong, "1", INVALID_DEVICE, "multiprocessors = 0 is out of range; use a value from 1 to 4096"),
        ("h100", "17", INVALID_VALUE, "LADDER_SIM_DEVICES=17: the number of simulated devices must be 1 to 16"),
        ("h100", "0", INVALID_VALUE, "LADDER_SIM_DEVICES=0"),
        ("h100", "two", INVALID_VALUE, "LADDER_SIM_DEVICES=two"),
        ("h100", "2", NO_DEVICE, "CUDA_VISIBLE_DEVICES=2,1 selects none of the simulated devices"),
    ];
    for (device, count, code, message) in cases {
        let log = folder.path().join("log").display().to_string();
        let variables = [
            ("LADDER_SIM_DEVICE", device),
            ("LADDER_SIM_DEVICES", count),
            // The two devices have the numbers 0 and 1.
            ("CUDA_VISIBLE_DEVICES", "2,1"),
            ("LADDER_DRIVER_LOG", &log),
            ("DRIVER_TEST_CODE", &code.to_string()),
        ];
        if !in_child_process("devices::invalid_device_settings_are_refused", &variables) {
            let log_text = fs::read_to_string(&log).expect("the log");
            assert!(log_text.contains(message), "{log_text}");
            fs::remove_file(&log).expect("the log");
            continue;
        }
        let code: u32 = std::env::var("DRIVER_TEST_CODE").expect("the code").parse().expect("a number");
        assert_eq!([0, 1].map(|_| cuInit(0)), [code; 2]);
        let mut count = 7;
        assert_eq!((cuDeviceGetCount(&mut count), count), (code, 7));
        return;
    }
}

fn ptx(version: &str, target: &str) -> String {
    format!(".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n")
}

/// PTX for older, the same and newer architectures, and in known, unknown and future versions. NVIDIA's driver refuses
/// PTX versions newer than its CUDA version. This driver accepts the output of CUDA's newest compiler.
#[test]
fn ptx_for_other_devices() {
    context(0);
    let load_code = |version, target| load(&ptx(version, target)).err().unwrap_or(OK);
    for target in ["sm_52", "sm_80", "sm_89", "sm_90", "sm_90a"] {
        assert_eq!(load_code("8.0", target), OK, "{target}");
    }
    for target in ["sm_100", "sm_100a", "sm_100f", "sm_120", "sm_99", "foo"] {
        assert_eq!(load_code("8.8", target), INVALID_PTX, "{target}");
    }
    for version in ["9.0", "9.1", "9.5"] {
        assert_eq!(load_code(version, "sm_80"), OK, "{version}");
    }
    for version in ["0.9", "8.9", "9.6", "9.9", "10.0"] {
        assert_eq!(load_code(version, "sm_80"), UNSUPPORTED_PTX_VERSION, "{version}");
        assert_eq!(load_code(version, "foo"), UNSUPPORTED_PTX_VERSION, "the version is checked first: {version}");
    }
    let mut log = [0u8; 200];
    let (options, mut values) = ([5u32, 6], [log.as_mut_ptr().addr(), log.len()]);
    let (text, mut module) = (CString::new(ptx("9.9", "sm_80")).expect("no NUL"), 0);
    let loaded = cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_ptr(), values.as_mut_ptr());
    let log = CStr::from_bytes_until_nul(&log).expect("the log ends in a NUL").to_string_lossy();
    assert_eq!((loaded, module, &*log), (UNSUPPORTED_PTX_VERSION, 0, "unsupported .version 9.9; the newest is 9.5"));
}

/// A device of a newer architecture, described in a file, does not run PTX that is specific to sm_90a.
#[test]
fn a_device_from_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("blackwell.toml").display().to_string();
    let h200 = fs::read_to_string(file("crates/simt/devices/known/h200.toml")).expect("the description of an H200");
    fs::write(&path, h200.replace("sm_90", "sm_103").replace("NVIDIA H200", "Mine")).expect("the folder is writable");
    if !in_child_process("devices::a_device_from_a_file", &[("LADDER_SIM_DEVICE", &path)]) {
        return;
    }
    context(0);
    assert_eq!(text(|name, capacity| cuDeviceGetName(name, capacity, 0)), "Mine (simulated)");
    assert_eq!([75, 76].map(|number| attribute(number, 0)), [10, 3]);
    let load_code = |target| load(&ptx("8.8", target)).err().unwrap_or(OK);
    for target in ["sm_90", "sm_100", "sm_103", "sm_103a", "sm_100f"] {
        assert_eq!(load_code(target), OK, "{target}");
    }
    for target in ["sm_90a", "sm_100a", "sm_120", "sm_120f", "sm_110"] {
        assert_eq!(load_code(target), INVALID_PTX, "{target}");
    }
}

#[test]
fn the_future_device_runs_all_ptx() {
    if !in_child_process("devices::the_future_device_runs_all_ptx", &[("LADDER_SIM_DEVICE", "future")]) {
        return;
    }
    context(0);
    assert_eq!([75, 76].map(|number| attribute(number, 0)), [99, 0]);
    for target in ["sm_75", "sm_90", "sm_121"] {
        assert!(load(&ptx("8.8", target)).is_ok(), "{target}");
    }
    // Architecture-specific PTX does not run on a later architecture.
    assert!(load(&ptx("8.8", "sm_90a")).is_err());
}

#[test]
fn the_driver_version_is_configurable() {
    for (given, code, expected) in
        [("", OK, 13000), ("12.8", OK, 12080), ("13.1", OK, 13010), ("12", INVALID_VALUE, 7), ("9.0", INVALID_VALUE, 7)]
    {
        let test = "devices::the_driver_version_is_configurable";
        if in_child_process(
            test,
            &[(driver::DRIVER_VERSION, given), ("DRIVER_TEST_CODE", &format!("{code} {expected}"))],
        ) {
            let expected = std::env::var("DRIVER_TEST_CODE").expect("the code and the version");
            let mut version = 7;
            let found = cuDriverGetVersion(&mut version);
            assert_eq!((format!("{found} {version}"), cuInit(0)), (expected, found));
            return;
        }
    }
}
