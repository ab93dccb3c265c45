//! The errors of the harness when a test or its kernel is wrong.

use simt_test::{Counter, Device, Grid, Kernels, Plain, Result, Test, args};

/// `triple(data, n)` multiplies each of `n` words by three. The last thread of a block accesses memory past the end if
/// `n` does.
const TRIPLE: &str = "
    .version 8.0 .target sm_80 .address_size 64
    .visible .entry triple(.param .u64 data, .param .u32 n) {
        .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %rd<3>;
        mov.u32 %r1, %tid.x;
        ld.param.u32 %r2, [n];
        setp.ge.u32 %p, %r1, %r2;
        @%p ret;
        ld.param.u64 %rd1, [data];
        mad.wide.u32 %rd2, %r1, 4, %rd1;
        ld.global.u32 %r3, [%rd2];
        mul.lo.u32 %r4, %r3, 3;
        st.global.u32 [%rd2], %r4;
        ret;
    }";

/// Runs a body with the kernels above on the simulator, for sizes 3 and 5.
#[track_caller]
fn run<R>(body: impl FnMut(&mut Device) -> Result<R>) -> Result {
    Test::new(Kernels::from_ptx(TRIPLE)?).sizes([3, 5]).schedules(1).run(body)
}

/// Checks that a body fails with these words, and that the error begins with a line of this file.
#[track_caller]
fn fails<R>(body: impl FnMut(&mut Device) -> Result<R>, words: &[&str]) {
    let error = run(body).expect_err("the body is wrong").to_string();
    assert!(error.starts_with(&format!("{}:", file!())), "{error}");
    for words in words {
        assert!(error.contains(words), "`{words}` is not in: {error}");
    }
}

#[test]
fn a_correct_kernel_passes_for_every_size_and_schedule() -> Result {
    let mut seen = Vec::new();
    run(|device| {
        seen.push(device.to_string());
        let n = device.size() as u32;
        let data = device.upload(&(0..n).collect::<Vec<_>>())?;
        device.launch("triple", Grid::covering(data.len(), 32), args![data, n])?;
        assert_eq!(device.read(data)?[1], 3);
        device.expect(data, &(0..n).map(|i| 3 * i).collect::<Vec<_>>())
    })?;
    let on_sim: Vec<&str> = seen.iter().map(String::as_str).filter(|on| on.starts_with("sim")).collect();
    let expected = ["sim, size 3", "sim, schedule random:1, size 3", "sim, size 5", "sim, schedule random:1, size 5"];
    assert_eq!(on_sim, expected);
    Ok(())
}

#[test]
fn wrong_results_name_the_first_and_the_device() {
    fails(
        |device| {
            let data = device.upload(&[1u32, 2, 3])?;
            device.launch("triple", Grid::new([1; 3], [32, 1, 1]), args![data, 2u32])?;
            device.expect(data, &[3, 7, 9])
        },
        &["sim, size 3: element 1 is 6, expected 7; 2 of 3 differ"],
    );
    fails(
        |device| {
            let data = device.zeroed::<u32>(2)?;
            device.expect(data, &[0])
        },
        &["the buffer has 2 elements, expected 1"],
    );
}

#[test]
fn floats_are_compared_with_a_tolerance() -> Result {
    let close = |device: &mut Device| {
        let found = device.upload(&[1000.5f32, 0.0005, f32::NAN, f32::INFINITY])?;
        device.expect(found, &[1000.0, 0.0, f32::NAN, f32::INFINITY])
    };
    Test::new(Kernels::from_ptx(TRIPLE)?).tolerance(1e-3).run(close)?;
    fails(close, &["element 0 is 1000.5, expected 1000.0; 2 of 4 differ"]);
    Ok(())
}

#[test]
fn mismatched_arguments_are_errors() {
    let grid = Grid::new([1; 3], [32, 1, 1]);
    fails(
        |device| {
            let data = device.zeroed::<u32>(4)?;
            device.launch("triple", grid, args![data.slice(), 4u32])
        },
        &["triple", "3 arguments"],
    );
    fails(
        |device| {
            let data = device.zeroed::<u32>(4)?;
            device.launch("triple", grid, args![data, 4u64])
        },
        &["triple", "8 bytes"],
    );
    fails(|device| device.launch("triple", grid, args![Plain([1u32, 2, 3]), 1u32]), &["triple", "12 bytes"]);
    fails(|device| device.launch("tripel", grid, args![]), &["there is no kernel `tripel`", "triple"]);
    fails(|device| device.launch("triple", Grid::new([1; 3], [2048, 1, 1]), args![0u64, 0u32]), &["triple", "1024"]);
}

#[test]
fn a_kernel_that_fails_names_the_thread() {
    fails(
        |device| {
            let data = device.upload(&[1u32, 2, 3])?;
            device.launch("triple", Grid::new([1; 3], [32, 1, 1]), args![data, 4u32])
        },
        &["out of bounds read of 4 bytes", "argument 0's buffer of 12 bytes", "thread 3 of block 0"],
    );
}

#[test]
fn shared_memory_beyond_the_default_limit() -> Result {
    let ptx = "
    .version 8.0 .target sm_80 .address_size 64
    .extern .shared .align 4 .b8 more[];
    .visible .entry both(.param .u64 to) {
        .shared .align 4 .b8 fixed[16384];
        .reg .b32 %r<3>; .reg .b64 %to;
        st.shared.u32 [fixed+16380], 5;
        ld.param.u64 %to, [to];
        mov.u32 %r1, more;
        st.shared.u32 [%r1+40956], 7;
        ld.shared.u32 %r1, [%r1+40956];
        ld.shared.u32 %r2, [fixed+16380];
        mad.lo.u32 %r1, %r1, 10, %r2;
        st.global.u32 [%to], %r1;
        ret;
    }";
    Test::new(Kernels::from_ptx(ptx)?).run(|device| {
        let to = device.zeroed::<u32>(1)?;
        device.launch("both", Grid::new([1; 3], [1; 3]).shared(40 << 10), args![to])?;
        device.expect(to, &[75])?;
        let error = device.launch("both", Grid::new([1; 3], [1; 3]).shared(1 << 20), args![to]);
        let error = error.expect_err("too much shared memory for any device").to_string();
        assert!(!device.to_string().starts_with("sim") || error.contains("kernel `both`: 1048576 bytes"), "{error}");
        Ok(())
    })
}

#[test]
fn missing_or_invalid_kernels_are_errors() {
    let error = Kernels::from_ptx(".version 8.0 .target sm_80 .address_size 64 nonsense").expect_err("invalid PTX");
    assert!(error.to_string().contains("--> PTX:1:45"), "{error:?}");
    let error = Kernels::of_crate("/nowhere").expect_err("there is no such folder").to_string();
    assert!(error.contains("/nowhere is not the folder of a crate"), "{error}");
}

/// `fill(data: &mut [f32], by: f32, more: &[u32])`, with the comments that `cuda_builder` writes.
const FILL: &str = "
    .version 8.0 .target sm_80 .address_size 64
    .visible .entry fill(
        .param .u64 data, // rust: data: &mut [f32]
        .param .u64 data_len, // rust: data.len()
        .param .f32 by, // rust: by: f32
        .param .u64 more, // rust: more: &[u32]
        .param .u64 more_len // rust: more.len()
    ) {
        .reg .f32 %f; .reg .b64 %to;
        ld.param.u64 %to, [data];
        ld.param.f32 %f, [by];
        st.global.f32 [%to], %f;
        ret;
    }";

#[test]
fn errors_of_mismatched_types_name_the_parameter() -> Result {
    let one = Grid::new([1; 3], [1; 3]);
    Test::new(Kernels::from_ptx(FILL)?).run(|device| {
        let (floats, more) = (device.zeroed::<f32>(4)?, device.upload(&[1u32, 2])?);
        let (doubles, signed) = (device.zeroed::<f64>(4)?, device.upload(&[-1i32])?);
        device.launch("fill", one, args![floats.slice(), 2.5f32, more.slice()])?;
        device.launch("fill", one, args![floats.slice(), 2.5f32, signed.slice()])?;
        device.expect(floats, &[2.5, 0.0, 0.0, 0.0])?;
        for (arguments, words) in [
            (
                args![doubles.slice(), 2.5f32, more.slice()],
                "a buffer of `f64`, but the parameter is `data: &mut [f32]`",
            ),
            (args![more.slice(), 2.5f32, floats.slice()], "a buffer of `u32`, but the parameter is `data: &mut [f32]`"),
            (args![floats.slice(), 2u32, more.slice()], "argument 2 is `u32`, but the parameter is `by: f32`"),
            (
                args![floats.slice(), 2.5f64, more.slice()],
                "argument 2 has 8 bytes (`f64`), but the parameter `by: f32` has 4",
            ),
            (
                args![floats, 2.5f32, more],
                "3 arguments for 5 parameters; `data: &mut [f32]` and `more: &[u32]` count twice each",
            ),
            (
                args![floats, 2.5f32, more, 4u64, 2u64],
                "argument 1 has 4 bytes (`f32`), but the parameter `data.len(): usize`",
            ),
            // The length belongs to another buffer.
            (args![floats, 5usize, 2.5f32, more.slice()], "argument 1, the length of `data: &mut [f32]`, is 5"),
        ] {
            let error = device.launch("fill", one, arguments).expect_err(words).to_string();
            assert!(error.contains("kernel `fill`: ") && error.contains(words), "`{words}` is not in: {error}");
        }
        Ok(())
    })
}

/// `gather(data, n)` doubles every 32nd word. Line 9 of the text is the load.
const GATHER: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry gather(.param .u64 data) {
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [data];
    mad.wide.u32 %rd2, %r1, 128, %rd1;
    ld.global.u32 %r2, [%rd2];
    shl.b32 %r2, %r2, 1;
    st.global.u32 [%rd2], %r2;
    ret;
}";

#[test]
fn a_counter_outside_its_range_names_the_costliest_line() -> Result {
    if std::env::var(simt_test::DEVICE).is_ok_and(|chosen| chosen == "gpu") {
        return Ok(());
    }
    let held = |counter, most: f64| {
        Test::new(Kernels::from_ptx(GATHER)?).run(|device| {
            let data = device.zeroed::<u32>(32 * 32)?;
            let done = device.launch("gather", Grid::new([1; 3], [32, 1, 1]), args![data])?;
            done.expect(counter, ..=most)?.expect(Counter::BankConflicts, ..=0)?.expect(Counter::Instructions, 1..100)
        })
    };
    held(Counter::SectorsPerRequest, 32.0)?;
    let error = held(Counter::SectorsPerRequest, 4.0).expect_err("each lane has a sector").to_string();
    assert!(error.starts_with(&format!("{}:", file!())), "{error}");
    for words in ["kernel `gather`", "sectors per request are 32, expected at most 4", "of the PTX: 32"] {
        assert!(error.contains(words), "`{words}` is not in: {error}");
    }
    let none = held(Counter::LocalRequests, -1.0).expect_err("there are 0").to_string();
    assert!(
        none.contains("requests to local memory are 0, expected at most -1") && !none.contains("most at"),
        "{none}"
    );
    Ok(())
}

#[test]
fn the_kernels_of_tests_are_explained_on_request() {
    let path = std::env::temp_dir().join(format!("simt-test-report-{}.html", std::process::id()));
    let this = std::env::current_exe().expect("the path of this program");
    let one = "a_counter_outside_its_range_names_the_costliest_line";
    // Removes `CARGO`, so that this run of cargo does not number the file.
    let done = std::process::Command::new(this)
        .args(["--exact", one])
        .env(simt_test::REPORT, &path)
        .env(simt_test::DEVICE, "sim")
        .env_remove("CARGO")
        .output()
        .expect("the test runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("SIMT_TEST_REPORT: 1 kernel, 3 launches: "), "{said}");
    let page = std::fs::read_to_string(&path).expect("the report");
    std::fs::remove_file(&path).expect("the report can be removed");
    for words in ["<h1>errors</h1>", "gather", "ld.global.u32 %r2, [%rd2];"] {
        assert!(page.contains(words), "`{words}` is not in: {page}");
    }
}
