//! Runs programs on the simulator.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::nvcc::Built;

/// The time limit of a program. Each program takes seconds, so a program that reaches the limit hangs, even on a busy
/// machine.
const LIMIT: Duration = Duration::from_secs(600);

/// The result of a program.
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) output: String,
    pub(crate) errors: String,
    /// How the program ended, as a message.
    pub(crate) end: String,
}

/// Runs a program.
pub(crate) fn run(program: &Built) -> Outcome {
    run_with(program, &[])
}

/// Runs a program with these variables and without the other variables that the driver reads.
pub(crate) fn run_with(program: &Built, variables: &[(&str, &Path)]) -> Outcome {
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
    // The output goes to files, because a full pipe would block the program.
    let folder = program.path.parent().expect("a program is in a folder");
    let file = |suffix: &str| folder.join(format!("{}.{suffix}", program.name));
    let create = |suffix: &str| File::create(file(suffix)).expect("the folder is writable");
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
    let read = |suffix: &str| {
        let mut text = Vec::new();
        File::open(file(suffix)).and_then(|mut file| file.read_to_end(&mut text)).expect("the output file is readable");
        String::from_utf8_lossy(&text).into_owned()
    };
    Outcome {
        success: status.is_some_and(|status| status.success()),
        output: read("stdout"),
        errors: read("stderr"),
        end: status.map_or_else(|| format!("still running after {LIMIT:?}"), |status| status.to_string()),
    }
}

/// Calls `work` with each item on one thread per processor. The results are in the order of the items.
pub(crate) fn run_in_parallel<T: Sync, R: Send + Sync>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
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
    results.into_iter().map(|result| result.into_inner().expect("each item has a result")).collect()
}

/// Returns the folder with `libcuda.so.1`, a link to the library that cargo builds next to this program.
pub(crate) fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let program = std::env::current_exe().expect("the path of the test program is known");
        let built = program.with_file_name("libcuda_sim.so");
        assert!(built.is_file(), "there is no {}", built.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda");
        let link = folder.join("libcuda.so.1");
        if fs::read_link(&link).ok().as_ref() != Some(&built) {
            fs::create_dir_all(&folder).expect("cargo's folder for tests is writable");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&built, &link).expect("the folder supports symbolic links");
        }
        folder
    })
}
