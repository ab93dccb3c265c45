//! Tests of allocations that fail, and of buffers that cannot be used.

use proptest::prelude::*;

#[allow(dead_code, reason = "the tests do not query this system")]
#[path = "../src/run/available.rs"]
mod available;

use available::{address_space_limit, address_space_used, from_meminfo};

use simt::memory::GlobalMemory;
use simt::{Config, Launch, LaunchError, MemoryError, Module, Schedule, Simulator};

fn simulator(max_memory_bytes: u64) -> Simulator {
    let config = Config { threads: 1, max_memory_bytes, ..Config::default() };
    Simulator::new(config).unwrap()
}

#[test]
fn an_allocation_whose_size_overflows() {
    let error = simulator(u64::MAX).zeroed::<u64>(usize::MAX).unwrap_err();
    let (len, element_bytes) = (usize::MAX, 8);
    assert_eq!(error, MemoryError::TooLarge { len, element_bytes });
    assert_eq!(
        error.to_string(),
        "the size of 18446744073709551615 elements of 8 bytes does not fit into 64 bits; request fewer elements"
    );
}

#[test]
fn an_allocation_beyond_the_limit() {
    let mut simulator = simulator(1000);
    let large = simulator.zeroed::<u8>(990).unwrap();
    let error = simulator.zeroed::<u32>(3).unwrap_err();
    let (bytes, used, limit) = (12, 990, 1000);
    assert_eq!(error, MemoryError::Limit { bytes, used, limit });
    assert_eq!(
        error.to_string(),
        "requested 12 bytes of device memory, but 990 of the 1000 bytes that the device may have \
         (Config::max_memory_bytes) are in use; request less, free buffers or raise the limit"
    );
    assert!(simulator.upload(&[0u32; 3]).is_err());
    assert!(simulator.zeroed::<u8>(10).is_ok());
    simulator.free(large).unwrap();
    assert!(simulator.zeroed::<u32>(3).is_ok());
    // The counting of used bytes does not overflow.
    assert!(matches!(simulator.zeroed::<u8>(usize::MAX), Err(MemoryError::Limit { .. })));
}

#[test]
fn an_allocation_beyond_the_address_space() {
    let mut simulator = simulator(u64::MAX);
    for len in [usize::MAX, usize::MAX / 8, 1 << 47] {
        let error = simulator.zeroed::<u8>(len).unwrap_err();
        assert!(
            matches!(error, MemoryError::Addresses { bytes, left } if bytes == len as u64 && left < bytes),
            "{error}"
        );
        assert!(error.to_string().contains("create a new simulator"), "{error}");
    }
    assert!(simulator.zeroed::<u8>(1).is_ok());
}

#[test]
fn used_addresses_are_not_reused() {
    let mut memory = GlobalMemory::default();
    let mut last = memory.allocate_aligned(1, 1).unwrap();
    // Each allocation takes no bytes, but skips 2^45 addresses; there are 3.5 times 2^45 addresses.
    let refused = (0..4)
        .find_map(|_| match memory.allocate_aligned(0, 1 << 45) {
            Ok(base) => {
                assert!(base > last);
                last = base;
                None
            }
            Err(error) => Some(error),
        })
        .unwrap();
    assert!(matches!(refused, MemoryError::Addresses { .. }));
}

#[test]
fn an_allocation_beyond_host_memory() {
    // 112 TiB of addresses are free; no host of these tests has that much memory.
    let error = simulator(u64::MAX).zeroed::<u8>(100 << 40).unwrap_err();
    let bytes = 100 << 40;
    assert_eq!(error, MemoryError::Host { bytes });
    assert!(error.to_string().contains("109951162777600 bytes"));
}

#[test]
fn data_that_is_too_long() {
    let mut simulator = simulator(1000);
    let buffer = simulator.upload(&[1u16, 2]).unwrap();
    let error = simulator.write(buffer, &[3, 4, 5]).unwrap_err();
    assert_eq!(error, MemoryError::TooLong { data: 3, buffer: 2 });
    assert!(error.to_string().contains("3 elements do not fit"));
    assert_eq!(simulator.read(buffer).unwrap(), [1, 2]);
}

#[test]
fn freed_buffers() {
    let mut simulator = simulator(1000);
    for len in [0, 7] {
        let buffer = simulator.zeroed::<u8>(len).unwrap();
        simulator.free(buffer).unwrap();
        let address = buffer.address();
        let freed = MemoryError::Freed { address };
        assert_eq!(simulator.read(buffer), Err(freed.clone()));
        assert_eq!(simulator.write(buffer, &[]), Err(freed.clone()));
        assert_eq!(simulator.free(buffer), Err(freed.clone()));
        assert!(freed.to_string().contains("was freed"));
    }
}

#[test]
fn buffers_of_another_simulator() {
    let (mut one, mut other) = (simulator(1000), simulator(1000));
    let buffer = one.upload(&[1u8]).unwrap();
    let twin = other.upload(&[2u8]).unwrap();
    // Only the handle distinguishes the two buffers.
    let address = buffer.address();
    assert_eq!(twin.address(), address);
    let foreign = MemoryError::Foreign { address };
    assert_eq!(other.read(buffer), Err(foreign.clone()));
    assert_eq!(other.write(buffer, &[3]), Err(foreign.clone()));
    assert_eq!(other.free(buffer), Err(foreign.clone()));
    assert!(foreign.to_string().contains("another simulator"));
    assert_eq!(other.read(twin).unwrap(), [2]);
}

#[test]
fn empty_buffers() {
    let mut simulator = simulator(0);
    let empty = simulator.upload::<u32>(&[]).unwrap();
    assert!(empty.is_empty());
    assert!(simulator.read(empty).unwrap().is_empty());
    // Elements of size zero take no memory, regardless of their number.
    let units = simulator.zeroed::<[u64; 0]>(usize::MAX).unwrap();
    simulator.write(units, &[[]; 3]).unwrap();
    assert_eq!(simulator.read(units).unwrap().len(), usize::MAX);
}

#[test]
fn variables_that_do_not_fit() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.global .b8 small[600];\n\
               .global .b8 large[500];\n.entry k()\n{\n.reg .b32 %r<3>;\n\
               ld.global.u8 %r1, [small];\nld.global.u8 %r2, [large];\nret;\n}\n";
    let kernel = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let launch = |simulator: &mut Simulator| simulator.launch(&Launch::new(&kernel, [1, 1, 1], [1, 1, 1], &[]));
    let mut simulator = simulator(1000);
    let error = launch(&mut simulator).unwrap_err();
    assert!(matches!(
        &error,
        LaunchError::Variable { kernel, variable, source: MemoryError::Limit { bytes: 500, used: 600, .. } }
            if kernel == "k" && variable == "large"
    ));
    let text = error.to_string();
    assert!(
        text.starts_with("kernel `k`: its module's variable `large`: requested 500 bytes of device memory"),
        "{text}"
    );
    // The memory of the first variable is free again, now and after a launch that ran.
    assert!(simulator.zeroed::<u8>(1000).is_ok());
    let mut simulator = self::simulator(1100);
    launch(&mut simulator).unwrap();
    assert!(simulator.zeroed::<u8>(1100).is_ok());
}

#[test]
fn variables_lie_at_multiples_of_their_alignment() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4096 .b8 page[8];\n\
               .entry k(.param .u64 out)\n{\n.reg .b64 %rd<3>;\n\
               ld.param.u64 %rd1, [out];\nmov.u64 %rd2, page;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n";
    let kernel = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = simulator(1000);
    let out = simulator.zeroed::<u64>(1).unwrap();
    simulator.launch(&Launch::new(&kernel, [1, 1, 1], [1, 1, 1], &[out.into()])).unwrap();
    let address = simulator.read(out).unwrap()[0];
    assert!(address != 0 && address.is_multiple_of(4096), "{address:#x}");
}

#[test]
fn sizes_whose_product_overflows() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\nret;\n}\n";
    let kernel = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = simulator(1000);
    for sides in [[u32::MAX; 3], [1 << 31, 1 << 31, 4], [1 << 22, 1 << 21, 1 << 21]] {
        let error = simulator.launch(&Launch::new(&kernel, [1, 1, 1], sides, &[]));
        assert!(matches!(error, Err(LaunchError::Geometry { .. })), "{error:?}");
        let error = simulator.launch(&Launch::new(&kernel, sides, [1, 1, 1], &[]).with_shared_bytes(u32::MAX));
        assert!(matches!(error, Err(LaunchError::Geometry { .. })), "{error:?}");
    }
}

proptest! {
    #[test]
    fn any_launch_of_a_trap_fails(
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        bytes in proptest::collection::vec(any::<u8>(), 0..12),
        args in 0usize..3,
    ) {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\ntrap;\n}\n";
        let kernel = Module::from_ptx(ptx).unwrap().function("k").unwrap();
        let args = vec![simt::Arg::Bytes(bytes); args];
        prop_assert!(simulator(0).launch(&Launch::new(&kernel, grid, block, &args).with_shared_bytes(shared)).is_err());
    }
}

#[test]
fn memory_sizes_are_parsed_from_proc() {
    let text = "MemTotal:       16303012 kB\nMemFree:         1\nMemAvailable:   8000000 kB\n";
    assert_eq!(from_meminfo(text), Some(8_192_000_000));
    assert_eq!(from_meminfo("MemAvailable: much kB"), None);
    assert_eq!(from_meminfo(""), None);
    let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space  4096  unlimited  bytes\n";
    assert_eq!(address_space_limit(limits), Some(4096));
    let unlimited = limits.replace("4096", "unlimited");
    assert_eq!(address_space_limit(&unlimited), None);
    assert_eq!(address_space_used("VmPeak:\t 9 kB\nVmSize:\t   2 kB\n"), Some(2048));
}

#[test]
fn clocks_advance_and_are_deterministic() {
    let ptx = ".version 8.0 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 to) {
            .reg .b32 %r<3>; .reg .b64 %rd<6>;
            mov.u64 %rd1, %clock64;
            bar.sync 0;
            mov.u64 %rd2, %globaltimer;
            ld.param.u64 %rd3, [to];
            mov.u32 %r1, %tid.x;
            mul.wide.u32 %rd4, %r1, 16;
            add.s64 %rd5, %rd3, %rd4;
            st.global.v2.u64 [%rd5], {%rd1, %rd2};
            ret;
        }";
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    for schedule in [Schedule::Fixed, Schedule::RoundRobin, Schedule::Random(7)] {
        let run = || {
            let mut simulator = Simulator::new(Config { schedule, ..Config::default() }).unwrap();
            let to = simulator.zeroed::<[u64; 2]>(64).unwrap();
            [0, 1].map(|_| {
                simulator.launch(&Launch::new(&function, [1; 3], [64, 1, 1], &[to.into()])).unwrap();
                simulator.read(to).unwrap()
            })
        };
        let [first, second] = run();
        assert!(first.iter().all(|[before, after]| before < after));
        assert!(first[63][1] < second[0][0], "{schedule}");
        assert_eq!(run(), [first, second], "{schedule}");
    }
}
