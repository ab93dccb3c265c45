//! Peers from end to end: a library of them that is compiled here, on a driver that is.

#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../../host/tests/stand_in/mod.rs"]
mod stand_in;

use std::path::{Path, PathBuf};
use std::process::Command;

use host::device::{BufferId, Device, Gpu, Sim};
use host::peer::{Call, Peer};
use host::problem::{POISON, Problem, Role, Verdict};
use host::{Error, Options, ladder};

/// In the process that has the stand-in for a driver, the library of peers.
const LIBRARY: &str = "LADDER_TEST_PEERS";

/// Runs a test of this file again, in a process whose CUDA driver is the stand-in: `libcuda` looks for one only
/// once in a process.
fn on_the_stand_in(test: &str, run: impl FnOnce(&Path)) {
    if let Some(library) = std::env::var_os(LIBRARY) {
        run(&PathBuf::from(library));
        return;
    }
    let (driver, peers) = (stand_in::built("driver"), stand_in::built("peers"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(libcuda::OVERRIDE, &driver.1)
        .env(LIBRARY, &peers.1)
        .output()
        .unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("1 passed"), "{out}");
    // What the driver complains of is left behind.
    assert!(!err.contains("left behind"), "{err}");
    assert_eq!(out.matches("peers are closed").count(), 1, "{out}");
}

fn problem(name: &str, options: &[(&'static str, &str)]) -> Box<dyn Problem> {
    let mut all = Options::default();
    for (option, value) in options {
        all = all.with(option, value);
    }
    ladder(name).unwrap().problem(&all).unwrap()
}

/// A problem's buffers, as they are before a launch.
fn buffers(gpu: &mut Gpu, problem: &dyn Problem) -> Vec<BufferId> {
    let mut ids = Vec::new();
    for (index, buffer) in problem.buffers().iter().enumerate() {
        let id = gpu.alloc(buffer.bytes as usize).unwrap();
        match buffer.role {
            Role::Input => gpu.upload(id, problem.input(index)).unwrap(),
            Role::Output => gpu.fill(id, POISON).unwrap(),
            Role::Sum | Role::Workspace => gpu.fill(id, 0).unwrap(),
        }
        ids.push(id);
    }
    ids
}

fn verdict(gpu: &mut Gpu, problem: &dyn Problem, peer: &Peer) -> Result<Verdict, Error> {
    let bound = buffers(gpu, problem);
    let ran = gpu.call(&peer.call, &bound)?;
    assert_eq!(ran.time_ns, Some(250_000.0), "the events");
    let outputs: Vec<_> = problem
        .wanted_of_peer(peer)
        .iter()
        .map(|wanted| {
            let mut bytes = vec![0; wanted.bytes];
            gpu.download(bound[wanted.buffer], &mut bytes).unwrap();
            bytes
        })
        .collect();
    Ok(problem.check_peer(peer, &outputs))
}

#[test]
fn peers_compute_what_the_rungs_do() {
    on_the_stand_in("peers_compute_what_the_rungs_do", |library| {
        let mut gpu = Gpu::open().unwrap();
        let call = Call::Copy {
            from: 0,
            to: 1,
            bytes: 0,
        };
        let early = gpu.call(&call, &[]).unwrap_err().to_string();
        assert!(early.ends_with("no library of peers is open"), "{early}");
        let versions = gpu.open_peers(library).unwrap();
        assert_eq!(versions, "CUB 1.2.3, cuBLAS 4.5.6");

        let mut names = Vec::new();
        for (ladder, options) in [
            ("reduce", &[("n", "1000")][..]),
            ("reduce", &[("n", "0")]),
            ("reduce", &[("n", "1003"), ("op", "min"), ("type", "f32")]),
            (
                "reduce",
                &[("n", "1003"), ("op", "product"), ("type", "f64")],
            ),
            ("transpose", &[("rows", "31"), ("cols", "33")]),
            ("matmul", &[("m", "7"), ("n", "5"), ("k", "9")]),
            ("histogram", &[("n", "1000"), ("data", "skewed")]),
            ("shuffle", &[]),
        ] {
            let problem = problem(ladder, options);
            for peer in problem.peers() {
                let found = verdict(&mut gpu, &*problem, &peer).unwrap();
                assert_eq!(found, Verdict::Right, "{}", peer.name);
                names.push(peer.name);
            }
        }
        let expected = [
            "CUB DeviceReduce",
            "CUB DeviceReduce",
            "CUB DeviceReduce",
            "CUB DeviceReduce",
            "memcpy",
            "cuBLAS geam",
            "cuBLAS SGEMM",
            "CUB DeviceHistogram",
        ];
        assert_eq!(names, expected);
    });
}

#[test]
fn a_peers_mistakes_are_told() {
    on_the_stand_in("a_peers_mistakes_are_told", |library| {
        let mut gpu = Gpu::open().unwrap();
        gpu.open_peers(library).unwrap();

        let refused = problem("reduce", &[("n", "10"), ("op", "max"), ("type", "u32")]);
        let error = verdict(&mut gpu, &*refused, &refused.peers()[0]).unwrap_err();
        let text = "the peer's reduce(max of u32, n = 10) failed: not in the stand-in";
        assert_eq!((error.to_string().as_str(), error.exit_code()), (text, 1));

        let greedy = problem("reduce", &[("n", "10"), ("op", "max"), ("type", "i64")]);
        let found = verdict(&mut gpu, &*greedy, &greedy.peers()[0]).unwrap();
        assert!(
            matches!(&found, Verdict::Wrong(why) if why.starts_with("word 1 was written")),
            "{found:?}"
        );

        // A copy is no transpose, and the other way round.
        let transpose = problem("transpose", &[("rows", "4"), ("cols", "8")]);
        let [copy, geam] = <[Peer; 2]>::try_from(transpose.peers()).unwrap();
        for (peer, done) in [(&copy, &geam), (&geam, &copy)] {
            let mixed = Peer {
                call: done.call.clone(),
                ..peer.clone()
            };
            let found = verdict(&mut gpu, &*transpose, &mixed).unwrap();
            assert!(!found.is_right(), "{}", peer.name);
        }

        // Buffers that are not there or too small never reach the library.
        let buffers = [gpu.alloc(64).unwrap(), gpu.alloc(4).unwrap()];
        let reduce = |element, input, output, n| Call::Reduce {
            op: "sum",
            element,
            input,
            output,
            n,
        };
        for (call, why) in [
            (reduce("i32", 0, 2, 16), "buffer 2 of 2 is an argument"),
            (reduce("i32", 0, 1, 17), "buffer 0 has only 64 bytes"),
            (reduce("i64", 0, 1, 8), "buffer 1 has only 4 bytes"),
            (reduce("i64", 0, 1, u64::MAX), "buffer 0 has only 64 bytes"),
            (reduce("u8", 0, 1, 8), "no such operation or type"),
        ] {
            let error = gpu.call(&call, &buffers).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    });
}

#[test]
fn what_is_no_library_of_peers_is_told() {
    on_the_stand_in("what_is_no_library_of_peers_is_told", |library| {
        let mut gpu = Gpu::open().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text.so");
        std::fs::write(&text, "no library").unwrap();
        let driver = PathBuf::from(std::env::var_os(libcuda::OVERRIDE).unwrap());
        for (path, why) in [
            (folder.path().join("none.so"), "there is no such file"),
            (text, "file too short"),
            (driver, "it has no ladder_peers_open"),
        ] {
            let error = gpu.open_peers(&path).unwrap_err();
            let words = error.to_string();
            assert!(words.contains(why), "{words}");
            assert!(words.contains(&path.display().to_string()), "{words}");
            assert_eq!((error.exit_code(), words.lines().count()), (2, 1));
        }
        gpu.open_peers(library).unwrap();
    });
}

#[test]
fn the_simt_machine_has_no_peers() {
    let mut sim = Sim::open(1).unwrap();
    let error = sim.open_peers(Path::new("peers.so")).unwrap_err();
    assert!(error.to_string().contains("a sim has none"), "{error}");
    let call = Call::Histogram {
        input: 0,
        bins: 1,
        n: 1,
    };
    let error = sim.call(&call, &[]).unwrap_err().to_string();
    assert!(error.contains("histogram(n = 1) failed"), "{error}");
}
