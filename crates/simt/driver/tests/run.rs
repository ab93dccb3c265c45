//! Runs programs on the simulated GPU.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::nvcc::Built;

/// The longest that a program may run. Each takes seconds; one that takes so long waits for ever, however busy this machine is.
const LIMIT: Duration = Duration::from_secs(600);

/// What a program has done.
pub(crate) struct Done {
    pub(crate) success: bool,
    pub(crate) output: String,
    pub(crate) errors: String,
    /// How it ended, in words.
    pub(crate) end: String,
}

/// Runs a program.
pub(crate) fn run(program: &Built) -> Done {
    run_with(program, &[])
}

/// Runs a program with these variables, and without the others that the driver reads.
pub(crate) fn run_with(program: &Built, variables: &[(&str, &Path)]) -> Done {
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).env("LD_LIBRARY_PATH", library());
    for variable in [
        "LADDER_SIM_DEVICE",
        "LADDER_SIM_DEVICES",
        "LADDER_DRIVER_LOG",
        "LADDER_PROFILE",
        "LADDER_SANITIZE",
        "LADDER_SANITIZE_EXIT",
        "LADDER_SCHEDULES",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_VISIBLE_DEVICES",
    ] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied());
    // Files, because a pipe that is full would hold the program up.
    let folder = program.path.parent().expect("programs lie in a folder");
    let file = |what: &str| folder.join(format!("{}.{what}", program.name));
    let create = |what: &str| File::create(file(what)).expect("the folder takes files");
    command.stdin(Stdio::null()).stdout(create("stdout")).stderr(create("stderr"));
    let start = Instant::now();
    let mut process = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.path.display()));
    let status = loop {
        match process.try_wait().expect("a child can be waited for") {
            Some(status) => break Some(status),
            None if start.elapsed() > LIMIT => {
                let _ = process.kill();
                let _ = process.wait();
                break None;
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    let read = |what: &str| {
        let mut text = Vec::new();
        File::open(file(what)).and_then(|mut file| file.read_to_end(&mut text)).expect("the file that was written");
        String::from_utf8_lossy(&text).into_owned()
    };
    Done {
        success: status.is_some_and(|status| status.success()),
        output: read("stdout"),
        errors: read("stderr"),
        end: status.map_or_else(|| format!("not over after {LIMIT:?}"), |status| status.to_string()),
    }
}

/// Does something with each item, as many at a time as there are processors. The results are in the items' order.
pub(crate) fn side_by_side<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let results: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, Into::into) {
            scope.spawn(|| {
                let take = || next.fetch_add(1, Ordering::Relaxed);
                for (item, result) in std::iter::repeat_with(take).map_while(|at| items.get(at).zip(results.get(at))) {
                    let _ = result.set(work(item));
                }
            });
        }
    });
    results.into_iter().map(|result| result.into_inner().expect("each item was done")).collect()
}

/// The folder with `libcuda.so.1`: a link to the library that cargo has built beside this program.
pub(crate) fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let program = std::env::current_exe().expect("a program knows where it lies");
        let built = program.with_file_name("libcuda_sim.so");
        assert!(built.is_file(), "there is no {}", built.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda");
        let link = folder.join("libcuda.so.1");
        if fs::read_link(&link).ok().as_ref() != Some(&built) {
            fs::create_dir_all(&folder).expect("cargo's folder for tests can be written to");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, &link).expect("the folder takes links");
        }
        folder
    })
}
