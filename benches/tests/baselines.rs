//! Tests baselines end to end: compiles a library of baselines and a stand-in driver.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use crate::common::LIBRARY;
use crate::common::stand_in::DRIVER;
use benches::baseline::{self, Baseline};
use benches::contestant::Contestant;
use benches::library::Library;
use host::device::{Gpu, Sim};
use host::problem::Verdict;
use host::{Device, DeviceProperties, Error, KERNELS, Options, Problem, Session, ladder};

/// The variable with the path of the library of baselines, in the process with the stand-in driver.
const PATH: &str = "LADDER_TEST_BASELINES";

/// Runs a test of this file again, in a process whose CUDA driver is the stand-in, because `libcuda` searches for a
/// driver only once per process.
fn on_the_stand_in(test: &str, run: impl FnOnce(&Path)) {
    if let Some(library) = std::env::var_os(PATH) {
        run(&PathBuf::from(library));
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("baselines::{test}"), "--nocapture"])
        .env(libcuda::OVERRIDE, &*DRIVER)
        .env_remove(libcuda::CHOICE)
        .env("LADDER_STAND_IN_TELLS", "1")
        .env(PATH, &*LIBRARY)
        .output()
        .unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("1 passed"), "{out}");
    // The driver reports resources that were not freed.
    assert!(!err.contains("left behind"), "{err}");
    assert_eq!(out.matches("the library is closed").count(), 1, "{out}");
}

/// Returns a problem and its baselines.
fn of(name: &str, options: &[(&'static str, &str)]) -> (Box<dyn Problem>, Vec<Baseline>) {
    let ladder = ladder(name).unwrap();
    let given = options.iter();
    let options = given.fold(Options::default(), |all, (name, value)| all.with(name, value));
    let problem = ladder.problem(&options).unwrap();
    let options = ladder.complete(&options).unwrap().with_all(&problem.facts().chosen);
    let (baselines, left_out) = baseline::of(ladder, &*problem, &options, DeviceProperties::default());
    assert!(left_out.is_empty(), "{left_out:?}");
    (problem, baselines)
}

fn verdict(gpu: &mut Gpu, problem: &dyn Problem, baseline: &Baseline, library: &Rc<Library>) -> Result<Verdict, Error> {
    let mut session = Session::new(gpu, problem, true)?;
    let contestant = Contestant::baseline(baseline.clone(), library.clone(), problem);
    let verdict = contestant.check(&mut session)?;
    let time = contestant.once(&mut session)?;
    assert_eq!(time, Some(250_000.0), "the events");
    Ok(verdict)
}

#[test]
fn baselines_compute_what_the_rungs_do() {
    on_the_stand_in("baselines_compute_what_the_rungs_do", |library| {
        let mut gpu = Gpu::open(&KERNELS).unwrap();
        let library = Rc::new(Library::open(library, &mut gpu).unwrap());
        assert_eq!(library.versions, "CUB 1.2.3, cuBLAS 4.5.6");

        let mut names = Vec::new();
        for (ladder, options) in [
            ("reduce", &[("n", "1000")][..]),
            ("reduce", &[("n", "0")]),
            ("reduce", &[("n", "1003"), ("op", "min"), ("type", "f32")]),
            ("reduce", &[("n", "1003"), ("op", "product"), ("type", "f64")]),
            ("transpose", &[("rows", "31"), ("cols", "33")]),
            ("matmul", &[("m", "7"), ("n", "5"), ("k", "9")]),
            ("histogram", &[("n", "1000"), ("data", "skewed")]),
            ("scan", &[("n", "1003")]),
            ("scan", &[("n", "1003"), ("kind", "exclusive")]),
            ("sort", &[("n", "1003")]),
            ("sort", &[("n", "1003"), ("values", "yes")]),
            ("softmax", &[("m", "9"), ("n", "101"), ("type", "f16")]),
            ("softmax", &[("m", "9"), ("n", "101"), ("op", "rmsnorm")]),
            ("shuffle", &[]),
        ] {
            let (problem, baselines) = of(ladder, options);
            for baseline in baselines {
                let found = verdict(&mut gpu, &*problem, &baseline, &library).unwrap();
                assert_eq!(found, Verdict::Right, "{}", baseline.name);
                assert_eq!(baseline.is_copy, baseline.name == "memcpy");
                names.push(baseline.name);
            }
        }
        let others = [
            "memcpy",
            "cuBLAS geam",
            "cuBLAS SGEMM",
            "CUB DeviceHistogram",
            "CUB DeviceScan",
            "memcpy",
            "CUB DeviceScan",
            "memcpy",
        ];
        assert_eq!(
            names,
            [&["CUB DeviceReduce"; 4][..], &others, &["CUB DeviceRadixSort"; 2], &["memcpy"; 2]].concat()
        );
        // The library keeps the resources that it uses open.
        drop(gpu);
    });
}

#[test]
fn mistakes_of_baselines_are_reported() {
    on_the_stand_in("mistakes_of_baselines_are_reported", |library| {
        let mut gpu = Gpu::open(&KERNELS).unwrap();
        let library = Rc::new(Library::open(library, &mut gpu).unwrap());

        let (refused, baselines) = of("reduce", &[("n", "10"), ("op", "max"), ("type", "u32")]);
        let error = verdict(&mut gpu, &*refused, &baselines[0], &library).unwrap_err();
        let text = "CUB DeviceReduce failed: not in the stand-in";
        assert_eq!((error.to_string().as_str(), error.is_failure()), (text, true));

        let (greedy, baselines) = of("reduce", &[("n", "10"), ("op", "max"), ("type", "i64")]);
        let found = verdict(&mut gpu, &*greedy, &baselines[0], &library).unwrap();
        assert!(
            matches!(&found, Verdict::Wrong(why) if why.starts_with("byte 8 was written, beyond the 8 bytes")),
            "{found:?}"
        );

        // CUB sorts -0 and 0 as equal keys.
        let sort = ladder("sort").unwrap();
        let options = sort.complete(&Options::default().with("type", "f32")).unwrap();
        let floats = sort.problem(&options).unwrap();
        let (baselines, left_out) = baseline::of(sort, &*floats, &options, DeviceProperties::default());
        assert!(baselines.is_empty());
        assert!(
            left_out[0].starts_with("left out: CUB DeviceRadixSort does not compute this: it sorts -0"),
            "{left_out:?}"
        );

        // A copy is not a transpose, and a transpose is not a copy.
        let (transpose, baselines) = of("transpose", &[("rows", "4"), ("cols", "8")]);
        let [copy, geam] = <[Baseline; 2]>::try_from(baselines).unwrap();
        for (baseline, done) in [(&copy, &geam), (&geam, &copy)] {
            let mixed = Baseline { call: done.call.clone(), ..baseline.clone() };
            let found = verdict(&mut gpu, &*transpose, &mixed, &library).unwrap();
            assert!(!found.is_right(), "{}", baseline.name);
        }

        // A buffer that is too small never reaches the library.
        let mut large = copy.clone();
        large.call.buffers[0].1 = 129;
        let error = verdict(&mut gpu, &*transpose, &large, &library).unwrap_err();
        let why = "memcpy failed: buffer 0 has only 128 bytes";
        assert_eq!(error.to_string(), why);
    });
}

#[test]
fn invalid_libraries_of_baselines_are_reported() {
    on_the_stand_in("invalid_libraries_of_baselines_are_reported", |library| {
        let mut gpu = Gpu::open(&KERNELS).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text.so");
        std::fs::write(&text, "not a library").unwrap();
        let driver = PathBuf::from(std::env::var_os(libcuda::OVERRIDE).unwrap());
        for (path, why) in [
            (folder.path().join("none.so"), "there is no such file"),
            (text, "file too short"),
            (driver, "it has no ladder_baselines"),
        ] {
            let error = Library::open(&path, &mut gpu).err().unwrap();
            let words = error.to_string();
            assert!(words.contains(why), "{words}");
            assert!(words.contains(&path.display().to_string()), "{words}");
            assert_eq!(words.lines().count(), 1);
        }
        Library::open(library, &mut gpu).unwrap();
    });
}

#[test]
fn the_simulator_accepts_no_libraries() {
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let error = Library::open(Path::new("baselines.so"), &mut sim).err().unwrap();
    let why = "baselines.so: the device sim only runs kernels of this program";
    assert!(error.to_string().contains(why), "{error}");
    let error = sim.call("a copy", &[], &mut |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().starts_with("a copy failed: "), "{error}");
}
