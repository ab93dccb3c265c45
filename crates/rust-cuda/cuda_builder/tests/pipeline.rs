//! The PTX that a build generates for kernels, and the code that it rejects.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common::{assert_has, build_error, cuda_std, entry, krate, ptx, read_checked, write_crate};
use cuda_builder::{CudaBuilder, CudaBuilderError, EmitOption, LintLevel, NvvmArch};
use simt::{Config, Launch, Module, Simulator};

/// Returns the loads and stores that name no address space.
fn generic_accesses(text: &str) -> Vec<&str> {
    let spaces = ["shared", "global", "local", "param", "const"];
    text.lines()
        .map(str::trim)
        .filter(|line| line.starts_with("ld.") || line.starts_with("st."))
        .filter(|line| {
            let opcode = line.split_whitespace().next().unwrap();
            !opcode.split('.').any(|part| spaces.contains(&part))
        })
        .collect()
}

const SHARED: &str = r#"
#[inline(always)]
unsafe fn reverse(tile: *mut f32, data: *mut f32) {
    let i = thread::thread_idx_x() as usize;
    unsafe {
        *tile.add(i) = *data.add(i);
        thread::sync_threads();
        *data.add(i) = *tile.add(63 - i);
    }
}

#[address_space(shared)]
static mut BOTH: [MaybeUninit<f32>; 64] = [const { MaybeUninit::uninit() }; 64];

#[kernel]
pub unsafe fn reverse_a(data: *mut f32) {
    unsafe { reverse((&raw mut BOTH).cast(), data) }
}

#[kernel]
pub unsafe fn reverse_b(data: *mut f32) {
    unsafe { reverse((&raw mut BOTH).cast(), data.add(64)) }
}

#[kernel]
pub unsafe fn reverse_dynamic(data: *mut f32) {
    unsafe { reverse(shared::dynamic_shared_mem(), data) }
}

/// One thread writes and all threads read. An ordinary static would hold one thread's value.
#[kernel]
pub unsafe fn broadcast(input: *const u32, out: *mut u32) {
    #[address_space(shared)]
    static mut TOTAL: MaybeUninit<u32> = MaybeUninit::uninit();
    let i = thread::thread_idx_x();
    unsafe {
        if i == 7 {
            (&raw mut TOTAL).cast::<u32>().write(*input);
        }
        thread::sync_threads();
        *out.add(i as usize) = (&raw const TOTAL).cast::<u32>().read();
    }
}

#[kernel]
pub unsafe fn bounded(out: *mut u32) {
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        core::arch::asm!("// launch_bounds {} {}", const 128, const 2, options(nomem, nostack, preserves_flags));
    }
    unsafe { *out = thread::block_dim_x() }
}
"#;

/// The PTX of [`SHARED`], built once.
static SHARED_PTX: LazyLock<String> = LazyLock::new(|| ptx("shared_kernels", NvvmArch::default(), SHARED));

#[test]
fn shared_statics_are_accessed_as_shared_memory() {
    let ptx = &*SHARED_PTX;

    for kernel in ["reverse_a", "reverse_b", "reverse_dynamic", "broadcast"] {
        let text = entry(ptx, kernel);
        assert_has(text, &["st.shared.b32", "ld.shared.b32"]);
    }
    let dynamic = ".extern .shared .align 16 .b8 _Zcuda_std_dyn_shared[]";
    assert_has(ptx, &[".shared .align 4 .b8", "4BOTH[256]", dynamic]);
    assert_eq!(generic_accesses(ptx), [""; 0]);
}

/// As upstream: a slice is two parameters, and every other type is one parameter with its bytes in memory. A type of
/// size 0 is not passed.
#[test]
fn parameters_match_upstream() {
    let source = r#"
#[derive(Clone, Copy)]
pub struct Mixed { a: u8, b: u32, c: u16 }
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Floats { a: f32, b: f64 }
#[derive(Clone, Copy)]
pub struct Large([u64; 1000], Mixed);
#[derive(Clone, Copy)]
#[repr(u16)]
pub enum Mode { First, Second = 700 }

#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn takes(
    a: &[f32], nothing: (), m: Mixed, f: Floats, t: (u8, u64), r: [u16; 3], w: u128, o: Option<&u32>, e: Mode,
    b: &'static mut [[u8; 2]], c: char, i: i8, yes: bool, large: Large,
) {
    let sum = a[1] as u64 + (m.a as u64 + m.b as u64 + m.c as u64) + (f.a as f64 + f.b) as u64 + t.0 as u64 + t.1;
    let sum = sum + r[2] as u64 + w as u64 + *o.unwrap_or(&3) as u64 + e as u64 + c as u64 + i as u64 + yes as u64;
    b[b.len() - 1] = [(sum + large.0[a.len()] + large.1.b as u64) as u8; 2];
    let () = nothing;
}
"#;
    let ptx = ptx("parameter_kernels", NvvmArch::default(), source);
    let list = entry(&ptx, "takes").split_once("\n)").unwrap().0;
    let declarations = list.lines().skip(1).map(|line| line.split(" //").next().unwrap_or_default());
    let found: Vec<_> = declarations.map(|line| line.trim().replace(" takes_param_", " ")).collect();
    let expected = [
        ".param .u64 .ptr .align 4 0,",
        ".param .u64 1,",
        ".param .align 4 .b8 2[8],",
        ".param .align 8 .b8 3[16],",
        ".param .align 8 .b8 4[16],",
        ".param .align 2 .b8 5[6],",
        ".param .align 16 .b8 6[16],",
        ".param .u64 .ptr .align 4 7,",
        ".param .u16 8,",
        ".param .u64 .ptr .align 1 9,",
        ".param .u64 10,",
        ".param .u32 11,",
        ".param .u8 12,",
        ".param .u8 13,",
        ".param .align 8 .b8 14[8008]",
    ];
    assert_eq!(found, expected);
    // The first version in which a kernel can have this many bytes of parameters.
    assert!(ptx.contains(".version 8.1\n.target sm_75\n"), "{ptx}");
}

#[test]
fn ptx_has_bounds_lines_and_the_lowest_version() {
    let ptx = &*SHARED_PTX;

    let text = entry(ptx, "bounded");
    assert_has(text, &[".maxntid 128", ".minnctapersm 2"]);
    assert!(!text.contains("launch_bounds"), "{text}");
    assert!(!entry(ptx, "broadcast").contains(".maxntid"), "{ptx}");

    assert!(ptx.contains("shared_kernels/src/lib.rs\""), "{ptx}");
    assert!(text.contains("\t.loc\t"), "{text}");
    assert!(!ptx.contains(".section"), "line tables only: {ptx}");

    assert!(ptx.contains(".version 6.3\n.target sm_75\n"), "{ptx}");
    assert!(ptx.starts_with("// cuda_builder "), "{ptx}");
}

#[test]
fn collective_asm_is_convergent_and_cuda_builder_keeps_the_ir() {
    let folder = krate(
        "asm_kernels",
        r#"
#[kernel]
pub unsafe fn count(out: *mut u32) {
    #[cfg(target_arch = "nvptx64")]
    unsafe {
        let votes: u32;
        core::arch::asm!("vote.sync.ballot.b32 {}, 1, -1;", out(reg32) votes);
        if thread::thread_idx_x() == 0 { *out = votes; }
    }
    let _ = MaybeUninit::new(out);
}
"#,
    );
    let ir_path = folder.join("final.ll");
    let ptx = CudaBuilder::new(&folder)
        .final_module_path(&ir_path)
        .emit(EmitOption::Bitcode)
        .copy_to(folder.join("copied.ptx"))
        .build()
        .unwrap();
    assert_eq!(ptx, folder.join("copied.ptx"));
    assert_eq!(&std::fs::read(ptx.with_extension("bc")).unwrap()[..2], b"BC");

    let ir = std::fs::read_to_string(ir_path).unwrap();
    let line = |with: &str| ir.lines().find(|line| line.contains(with)).unwrap();
    let call = line("vote.sync.ballot");
    let group = call.split('#').nth(1).unwrap().split([',', ' ']).next();
    let attributes = line(&format!("attributes #{} ", group.unwrap()));
    assert!(attributes.contains("convergent"), "{call}\n{attributes}");
}

#[test]
fn an_access_that_stays_generic_is_a_warning_or_an_error() {
    let folder = krate(
        "escaping_kernels",
        r#"
#[kernel]
pub unsafe fn escapes(out: *mut *mut u32) {
    #[address_space(shared)]
    static mut HIDDEN: [MaybeUninit<u32>; 32] = [const { MaybeUninit::uninit() }; 32];
    unsafe { *out = (&raw mut HIDDEN).cast::<u32>().add(thread::thread_idx_x() as usize) }
}
"#,
    );
    let expected = [
        "shared static `escaping_kernels::escapes::HIDDEN` in `escapes` stays generic",
        "escaping_kernels/src/lib.rs:11\n",
        "help: index the static itself",
    ];
    let build = |level| CudaBuilder::new(&folder).generic_accesses(level).build();
    // The second iteration uses the cached parts.
    for _ in 0..2 {
        read_checked(&build(LintLevel::Allow).unwrap());
        assert_has(&build(LintLevel::Deny).unwrap_err().to_string(), &expected);
        let output = Command::new(example()).arg(&folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_has(&String::from_utf8(output.stderr).unwrap(), &expected);
    }
}

/// Returns the path of the program `examples/build.rs`.
fn example() -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let example = deps.ancestors().nth(2).unwrap().join("examples/build");
    assert!(example.is_file(), "{} is missing: `cargo test -p cuda_builder-tests` builds it", example.display());
    example
}

#[test]
fn missing_broken_and_kernel_free_crates_have_different_errors() {
    let error = CudaBuilder::new("no/such/crate").build().unwrap_err();
    assert!(matches!(error, CudaBuilderError::CratePathDoesntExist(_)), "{error}");

    let error = build_error("broken_kernels", "fn broken( {");
    assert!(matches!(error, CudaBuilderError::BuildFailed { .. }), "{error}");

    let source = "pub fn f(x: u32) -> MaybeUninit<u32> { MaybeUninit::new(x) }";
    let error = build_error("no_kernels", source);
    assert!(matches!(error, CudaBuilderError::NoKernels { .. }), "{error}");
}

/// Returns a crate with two Rust modules, which rustc compiles in separate units. Both use the same function and
/// static.
fn two_modules(factor: u32) -> String {
    format!(
        "#[address_space(shared)]\nstatic mut BOTH: [MaybeUninit<u32>; 64] = [const {{ MaybeUninit::uninit() }}; 64];\n\
         const TABLE: &[&(dyn Fn(u32) -> u32 + Sync)] = &[&|x| x + 1, &|x| x * 5];\n\
         #[inline(never)]\nfn turned(x: u32) -> u32 {{ x.rotate_left(thread::thread_idx_x()) }}\n\
         mod one {{\n use super::*;\n #[kernel]\n pub unsafe fn first(out: *mut u32) {{\n  unsafe {{\n   \
         let slot = (&raw mut BOTH).cast::<u32>().add(thread::thread_idx_x() as usize);\n   \
         *slot = turned({factor});\n   *out.add(thread::thread_idx_x() as usize) = *slot;\n  }}\n }}\n}}\n\
         mod two {{\n use super::*;\n #[kernel]\n pub unsafe fn second(out: *mut u32) {{\n  unsafe {{\n   \
         let i = thread::thread_idx_x();\n   \
         *out.add(i as usize) = turned(TABLE[i as usize % 2](i)) + out.add(i as usize).read_volatile().rem_euclid(7);\n  }}\n }}\n}}\n"
    )
}

/// Returns a kernel's lines without comments, labels and places.
fn code(ptx: &str, kernel: &str) -> Vec<String> {
    let lines = entry(ptx, kernel).lines().map(|line| line.split("//").next().unwrap_or_default().trim().to_owned());
    lines.filter(|line| !line.is_empty() && !line.starts_with(".loc") && !line.starts_with("$L__")).collect()
}

#[test]
fn an_incremental_build_equals_a_first_build() {
    let build = |path: &str, source: &str| {
        let ptx = CudaBuilder::new(krate(path, source)).build().unwrap();
        read_checked(&ptx)
    };
    let before = build("edited/edited_kernels", &two_modules(3));
    let after = build("edited/edited_kernels", &two_modules(11));
    let first = build("new/edited_kernels", &two_modules(11));
    assert_ne!(code(&before, "first"), code(&after, "first"));
    for kernel in ["first", "second"] {
        let hash_of_crate = |line: &String| line.contains("edited_kernels");
        let [after, first] = [&after, &first].map(|ptx| code(ptx, kernel));
        let pairs = after.iter().zip(&first).filter(|(line, _)| !hash_of_crate(line));
        assert_eq!(after.len(), first.len(), "{after:#?}");
        pairs.for_each(|(after, first)| assert_eq!(after, first));
    }
    let module = Module::from_ptx(after).unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let buffer = simulator.upload(&[9u32; 64]).unwrap();
    for (kernel, value) in [
        ("first", (|i| 11u32.rotate_left(i)) as fn(u32) -> u32),
        ("second", |i| (if i % 2 == 0 { i + 1 } else { i * 5 }).rotate_left(i) + 11u32.rotate_left(i) % 7),
    ] {
        let kernel = module.function(kernel).unwrap();
        simulator.launch(&Launch::new(&kernel, [1, 1, 1], [64, 1, 1], &[buffer.into()])).unwrap();
        assert_eq!(simulator.read(buffer).unwrap(), (0..64).map(value).collect::<Vec<_>>());
    }
}

/// cargo sees no changes, so it does not recreate the missing files that this crate's builds keep.
#[test]
fn a_build_recreates_missing_files() {
    let folder = krate("removed_kernels", &two_modules(3));
    let build = || CudaBuilder::new(&folder).build().unwrap();
    let ptx = build();
    let text = read_checked(&ptx);
    let units = ptx.with_file_name("removed_kernels.units");
    let is_unit = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("removed"));
    let mut files = std::fs::read_dir(&units).unwrap().map(|entry| entry.unwrap().path());
    std::fs::remove_file(files.find(is_unit).unwrap()).unwrap();
    for is_removed in [false, true] {
        if is_removed {
            std::fs::remove_dir_all(&units).unwrap();
        }
        let rebuilt = read_checked(&build());
        for kernel in ["first", "second"] {
            assert_eq!(code(&rebuilt, kernel), code(&text, kernel));
        }
    }
}

/// `#[used]` creates a list for linkers.
#[test]
fn used_statics_are_linked_by_rustc() {
    let source = two_modules(3) + "#[used]\npub static KEPT: u32 = 7;\n";
    let ptx = ptx("used_kernels", NvvmArch::default(), &source);
    assert_has(&ptx, &[".entry first(", ".entry second(", "KEPT"]);
}

/// The crate has no dependencies, because they would be compiled in this profile only for this test.
#[test]
fn a_debug_build_checks_arithmetic() {
    let source = "#![no_std]\n#![feature(asm_experimental_arch)]\n#[panic_handler]\n\
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {\n    loop { unsafe { core::arch::asm!(\"trap;\") } }\n}\n\
        #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn add(a: *mut u32, b: u32) {\n    unsafe { *a += b }\n}\n";
    let folder = write_crate("debug_kernels", "", source);
    for release in [false, true] {
        let ptx = CudaBuilder::new(&folder).release(release).build().unwrap();
        let text = read_checked(&ptx);
        assert_eq!(text.contains("trap"), !release, "{text}");
    }
}

/// Without optimization, most accesses to shared memory are generic but correct.
#[test]
fn a_debug_build_may_have_generic_accesses() {
    let folder = krate("shared_debug_kernels", SHARED);
    let ptx = CudaBuilder::new(folder).release(false).build().unwrap();
    let module = Module::from_ptx(read_checked(&ptx)).unwrap();
    let data: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    for (kernel, bytes) in [("reverse_a", 0), ("reverse_dynamic", 256)] {
        let kernel = module.function(kernel).unwrap();
        let buffer = simulator.upload(&data).unwrap();
        let args = [buffer.into()];
        let launch = Launch::new(&kernel, [1, 1, 1], [64, 1, 1], &args).with_shared_bytes(bytes);
        simulator.launch(&launch).unwrap();
        let reversed: Vec<f32> = data.iter().rev().copied().collect();
        assert_eq!(simulator.read(buffer).unwrap(), reversed);
    }
}

/// Runs like a build script. The files that cargo watches must exist and must not be outputs of the build. The PTX must
/// be ASCII, because drivers require it.
#[test]
fn a_build_script_watches_sources_only() {
    let folder = krate(
        "größe/watched_kernels",
        "#[kernel]\npub unsafe fn k(a: *mut u32) {\n    #[cfg(target_arch = \"nvptx64\")]\n    unsafe {\n        \
         core::arch::asm!(\"// größe\", \"st.global.u32 [{}], 1;\", in(reg64) a);\n    }\n    \
         let _ = MaybeUninit::new(a);\n}\n",
    );
    // The path is like that of a package of this workspace, so that the build shares the workspace's compiled `core`.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let out = target.join("debug/build/watched/out");
    std::fs::create_dir_all(&out).unwrap();
    let output = Command::new(example())
        .arg(&folder)
        .env("OUT_DIR", &out)
        .env("CARGO_MANIFEST_DIR", &folder)
        .env("NUM_JOBS", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let ptx = read_checked(Path::new(stdout.lines().last().unwrap()));
    assert_has(&ptx, &[r#"gr\303\266\303\237e/watched_kernels/src/lib.rs""#, r"// gr\303\266\303\237e"]);
    let watched: Vec<_> =
        stdout.lines().filter_map(|line| line.strip_prefix("cargo::rerun-if-changed=")).map(PathBuf::from).collect();
    assert!(watched.contains(&folder.join("src/lib.rs")), "{stdout}");
    assert!(watched.iter().any(|path| path.ends_with("cuda_std/src/lib.rs")), "{stdout}");
    assert!(watched.iter().all(|path| path.is_file()), "{stdout}");
    assert_has(&stdout, &["cargo::rerun-if-env-changed=CUDA_BUILDER_RUSTC"]);
}

#[test]
fn parameters_are_described_next_to_their_declarations() {
    let source = "#[derive(Clone, Copy)] pub struct Color([f32; 3]);\n\
        #[derive(Clone, Copy)] pub struct Nothing;\n\
        #[kernel] pub unsafe fn add(a: &[f32], none: Nothing, mut out: &'static mut [Color], rows: *const [u8; 4], n: u32) {\n\
        out[n as usize] = Color([a[0], a[1], unsafe { (*rows)[0] } as f32]); }";
    // The crate does not enable the feature for `asm!`.
    let source = format!("#![no_std]\nuse cuda_std::kernel;\n{source}");
    let out =
        CudaBuilder::new(write_crate("described", &cuda_std(), &source)).arch(NvvmArch::Compute80).build().unwrap();
    let ptx = std::fs::read_to_string(out).unwrap();
    let header = entry(&ptx, "add");
    let described: Vec<&str> =
        header.lines().filter_map(|line| line.split_once(" // rust: ")).map(|parts| parts.1).collect();
    let expected =
        ["a: &[f32]", "a.len()", "out: &mut [Color], 12 bytes", "out.len()", "rows: *const [u8; 4]", "n: u32"];
    assert_eq!(described, expected, "{header}");
    assert!(!ptx.contains("// parameters"), "{ptx}");
}
