//! Tests the crate with a stand-in for NCCL that works on host memory: collective calls of several ranks, each in a
//! thread, and the behavior when a rank does not join.

#![allow(clippy::unwrap_used)]

use std::ffi::c_void;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use nccl::{Communicator, Element, Nccl, Op, Work};

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);

/// Compiles the stand-in library, with these extra compiler arguments.
fn compiled(cfg: &[&str], name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ladder-nccl-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in/nccl.rs");
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition=2024", "--crate-type=cdylib", "-o"]).arg(&library).arg(source).args(cfg);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn library() -> &'static Nccl {
    static LIBRARY: OnceLock<Nccl> = OnceLock::new();
    LIBRARY.get_or_init(|| Nccl::open(compiled(&[], "libnccl.so").to_str().unwrap()).unwrap())
}

/// Tests that count aborted communicators hold this lock, so they run one after another.
static ABORT_COUNT: Mutex<()> = Mutex::new(());

fn aborted() -> u64 {
    // SAFETY: the library is already loaded, and it exports this function with this signature.
    unsafe {
        let library = libloading::Library::new(&library().path).unwrap();
        let count = library.get::<extern "C" fn() -> u64>(b"standInAborted\0").unwrap();
        count()
    }
}

/// Runs `job` in one thread for each of the first `joining` ranks, and returns the results.
fn ranks<R: Send>(
    ranks: usize,
    joining: usize,
    limit: Duration,
    job: impl Fn(&mut Communicator, usize) -> Result<R, String> + Sync,
) -> Vec<Result<R, String>> {
    let nccl = library();
    let id = nccl.unique_id().unwrap();
    thread::scope(|scope| {
        let job = &job;
        let start = |rank| {
            scope.spawn(move || {
                let joined = nccl.join(id, [rank, ranks], limit, Box::new(|| None), || Ok(()));
                joined.and_then(|mut communicator| job(&mut communicator, rank))
            })
        };
        let all: Vec<_> = (0..joining).map(start).collect();
        all.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn work<T>(from: &[T], to: &mut [T], count: usize, element: Element) -> Work {
    Work { from: from.as_ptr() as u64, to: to.as_mut_ptr() as u64, count, element, stream: ptr::null_mut::<c_void>() }
}

#[test]
fn collectives_of_one_to_five_ranks() {
    let _lock = ABORT_COUNT.lock();
    for count in [1, 2, 5] {
        let before = aborted();
        let done = ranks(count, count, LONG, |communicator, rank| {
            let from: Vec<i32> = (0..count as i32).map(|at| at + 10 * rank as i32).collect();
            let mut to = vec![-1; count];
            // SAFETY: both arrays outlive the calls, which return only after they have finished.
            unsafe {
                communicator.all_reduce(&work(&from, &mut to, count, Element::I32), Op::Sum)?;
                let sum = |at: i32| count as i32 * at + 10 * (0..count as i32).sum::<i32>();
                assert_eq!(to, (0..count as i32).map(sum).collect::<Vec<_>>());
                communicator.reduce_scatter(&work(&from, &mut to, 1, Element::I32), Op::Sum)?;
                assert_eq!(to[0], sum(rank as i32));
                communicator.all_gather(&work(&from, &mut to, 1, Element::I32))?;
                assert_eq!(to, (0..count as i32).map(|rank| 10 * rank).collect::<Vec<_>>());
                communicator.reduce(&work(&from, &mut to, 1, Element::I32), Op::Max, count - 1)?;
                assert_eq!(to[0], if rank + 1 == count { 10 * rank as i32 } else { 0 });
                let halves: Vec<f32> = vec![rank as f32 + 0.5; 3];
                let mut copied = vec![0.0; 3];
                communicator.group(|group| {
                    group.broadcast(&work(&halves, &mut copied, 3, Element::F32), count - 1)?;
                    group.all_reduce(&work(&from, &mut to, count, Element::I32), Op::Max)
                })?;
                assert_eq!((copied, to[0]), (vec![count as f32 - 0.5; 3], 10 * (count as i32 - 1)));
            }
            communicator.check()
        });
        assert_eq!(done, vec![Ok(()); count]);
        assert_eq!(aborted(), before);
    }
}

#[test]
fn missing_rank_times_out_the_others() {
    let begin = Instant::now();
    let done = ranks(3, 2, SHORT, |_, _| Ok(()));
    let late = "NCCL: creating the communicator did not finish within 200ms: another rank does not respond";
    assert_eq!(done, vec![Err(late.to_owned()); 2]);
    assert!(begin.elapsed() < LONG);
}

#[test]
fn aborting_rank_fails_the_others_calls() {
    let _lock = ABORT_COUNT.lock();
    let before = aborted();
    let done = ranks(3, 3, SHORT, |communicator, rank| {
        if rank == 1 {
            communicator.abort();
            return Err("left".to_owned());
        }
        let (from, mut to) = (vec![1.0f32; 4], vec![0.0; 4]);
        // SAFETY: both arrays outlive the call.
        let failed = unsafe { communicator.all_reduce(&work(&from, &mut to, 4, Element::F32), Op::Sum) };
        assert!(failed.is_err_and(|why| why.contains("an all-reduce did not finish within 200ms")));
        assert_eq!(to, [0.0; 4]);
        communicator.check()
    });
    let later = Err("NCCL: the check for errors failed, because the communicator was aborted".to_owned());
    assert_eq!(done, [later.clone(), Err("left".to_owned()), later]);
    assert_eq!(aborted() - before, 3);
}

#[test]
fn watch_ends_waiting() {
    let _lock = ABORT_COUNT.lock();
    let nccl = library();
    let has_failed = Arc::new(AtomicBool::new(false));
    let watch = || {
        let has_failed = Arc::clone(&has_failed);
        Box::new(move || has_failed.load(Ordering::SeqCst).then(|| "rank 1 has ended".to_owned()))
    };
    has_failed.store(true, Ordering::SeqCst);
    let joined = nccl.join(nccl.unique_id().unwrap(), [0, 2], LONG, watch(), || Ok(())).err();
    assert_eq!(joined.as_deref(), Some("rank 1 has ended"));

    // Later, in a sum that the other rank does not join.
    has_failed.store(false, Ordering::SeqCst);
    let before = aborted();
    let id = nccl.unique_id().unwrap();
    let begin = Instant::now();
    thread::scope(|scope| {
        let other = scope.spawn(|| nccl.join(id, [1, 2], LONG, Box::new(|| None), || Ok(())).map(drop));
        let mut communicator = nccl.join(id, [0, 2], LONG, watch(), || Ok(())).unwrap();
        other.join().unwrap().unwrap();
        has_failed.store(true, Ordering::SeqCst);
        let (from, mut to) = ([1.0f32; 4], [0.0; 4]);
        // SAFETY: both arrays outlive the call.
        let summed = unsafe { communicator.all_reduce(&work(&from, &mut to, 4, Element::F32), Op::Sum) };
        assert_eq!(summed, Err("NCCL: an all-reduce was aborted, because another rank has failed".to_owned()));
    });
    assert!(begin.elapsed() < LONG);
    assert_eq!(aborted() - before, 1);
}

#[test]
fn join_errors_are_reported() {
    let nccl = library();
    let join = |rank, enter: fn() -> Result<(), String>| {
        nccl.join(nccl.unique_id().unwrap(), [rank, 2], LONG, Box::new(|| None), enter).err()
    };
    assert_eq!(join(2, || Ok(())).as_deref(), Some("NCCL: invalid argument"));
    assert_eq!(join(0, || Err("no such device".to_owned())).as_deref(), Some("no such device"));
}

#[test]
fn old_library_is_an_error() {
    let old = Nccl::open(compiled(&["--cfg", "too_old"], "old.so").to_str().unwrap()).err();
    assert_eq!(old.as_deref(), Some("NCCL 2.8.4 is too old; 2.14.0 or newer is needed"));
}
