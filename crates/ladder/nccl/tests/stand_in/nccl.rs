//! A stand-in for NCCL that works on host memory, between threads of one process. Only for tests.
//!
//! A call waits until all ranks have made the same call, or until its communicator is aborted. NCCL's calls wait only
//! for connections, because the device does the work.

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SUCCESS: c_uint = 0;
const REMOTE_ERROR: c_uint = 6;
const INVALID_ARGUMENT: c_uint = 4;

/// The ranks of a communicator: the calls of each rank so far, and the number of finished calls.
struct Group {
    calls: Vec<Vec<Call>>,
    done: usize,
    aborted: Vec<bool>,
}

/// The source address, the destination address, the number of elements, their type, the operation, the root, and the
/// number of the function.
#[derive(Clone, Copy)]
struct Call(usize, usize, usize, c_uint, c_uint, c_int, u8);

#[derive(Clone)]
struct Comm {
    group: Arc<Mutex<Group>>,
    rank: usize,
}

thread_local! {
    /// The number of open groups of calls.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The calls of open groups, which the end of a group waits for.
    static COLLECTED: RefCell<Vec<(Comm, usize)>> = const { RefCell::new(Vec::new()) };
}

static GROUPS: Mutex<Option<HashMap<u64, Arc<Mutex<Group>>>>> = Mutex::new(None);
static NEXT: AtomicU64 = AtomicU64::new(1);
static ABORTED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of aborted communicators.
#[unsafe(no_mangle)]
pub extern "C" fn standInAborted() -> u64 {
    ABORTED.load(Ordering::SeqCst)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> c_uint {
    unsafe { *version = if cfg!(too_old) { 2804 } else { 22_803 } };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclGetUniqueId(id: *mut [u8; 128]) -> c_uint {
    let number = NEXT.fetch_add(1, Ordering::SeqCst).to_ne_bytes();
    unsafe { (&mut *id)[..8].copy_from_slice(&number) };
    SUCCESS
}

#[repr(C)]
pub struct Id([u8; 128]);

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommInitRank(comm: *mut *mut c_void, ranks: c_int, id: Id, rank: c_int) -> c_uint {
    if rank >= ranks {
        return INVALID_ARGUMENT;
    }
    let number = u64::from_ne_bytes(id.0[..8].try_into().unwrap());
    let (ranks, rank) = (ranks as usize, rank as usize);
    let new = || Arc::new(Mutex::new(Group { calls: vec![Vec::new(); ranks], done: 0, aborted: vec![false; ranks] }));
    let group = GROUPS.lock().unwrap().get_or_insert_default().entry(number).or_insert_with(new).clone();
    let new = Comm { group, rank };
    // Joining is a call that does nothing.
    new.call(Call(0, 0, 0, 0, 0, 0, 0));
    unsafe { *comm = Box::into_raw(Box::new(new)).cast() };
    SUCCESS
}

impl Comm {
    fn call(&self, call: Call) -> c_uint {
        let mut group = self.group.lock().unwrap();
        group.calls[self.rank].push(call);
        let place = group.calls[self.rank].len();
        while group.calls.iter().all(|calls| calls.len() > group.done) {
            let of_all: Vec<Call> = group.calls.iter().map(|calls| calls[group.done]).collect();
            unsafe { perform(&of_all) };
            group.done += 1;
        }
        drop(group);
        if DEPTH.get() > 0 {
            COLLECTED.with_borrow_mut(|collected| collected.push((self.clone(), place)));
            return SUCCESS;
        }
        self.wait(place)
    }

    fn wait(&self, place: usize) -> c_uint {
        loop {
            let group = self.group.lock().unwrap();
            match () {
                () if group.done >= place => return SUCCESS,
                () if group.aborted[self.rank] => return REMOTE_ERROR,
                () => drop(group),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Performs a call of all ranks.
unsafe fn perform(all: &[Call]) {
    let Call(_, _, count, element, op, root, which) = all[0];
    let bytes = count * size(element);
    let parts = if which == 4 { all.len() } else { 1 };
    let input = |rank: usize, bytes: usize| unsafe { std::slice::from_raw_parts(all[rank].0 as *const u8, bytes) };
    let output = |rank: usize| unsafe { std::slice::from_raw_parts_mut(all[rank].1 as *mut u8, bytes) };
    match which {
        // All-reduce, reduce and reduce-scatter.
        1 | 3 | 4 => {
            let mut sum = input(0, bytes * parts).to_vec();
            (1..all.len()).for_each(|rank| combine(element, op, &mut sum, input(rank, bytes * parts)));
            for rank in 0..all.len() {
                match which {
                    1 => output(rank).copy_from_slice(&sum),
                    4 => output(rank).copy_from_slice(&sum[rank * bytes..][..bytes]),
                    _ if rank == root as usize => output(rank).copy_from_slice(&sum),
                    _ => {}
                }
            }
        }
        // Broadcast.
        2 => {
            let from = input(root as usize, bytes).to_vec();
            (0..all.len()).for_each(|rank| output(rank).copy_from_slice(&from));
        }
        // All-gather.
        5 => {
            let from: Vec<Vec<u8>> = (0..all.len()).map(|rank| input(rank, bytes).to_vec()).collect();
            for call in all {
                let to = unsafe { std::slice::from_raw_parts_mut(call.1 as *mut u8, bytes * all.len()) };
                to.copy_from_slice(&from.concat());
            }
        }
        _ => {}
    }
}

fn size(element: c_uint) -> usize {
    match element {
        0 | 1 => 1,
        4 | 5 | 8 => 8,
        _ => 4,
    }
}

fn combine(element: c_uint, op: c_uint, all: &mut [u8], other: &[u8]) {
    for (all, other) in all.chunks_exact_mut(4).zip(other.chunks_exact(4)) {
        let bytes = [<[u8; 4]>::try_from(&*all).unwrap(), other.try_into().unwrap()];
        let combined = match (element, op) {
            (2, 0) => bytes.map(i32::from_ne_bytes).into_iter().fold(0, i32::wrapping_add).to_ne_bytes(),
            (2, 2) => bytes.map(i32::from_ne_bytes).into_iter().max().unwrap().to_ne_bytes(),
            (7, 0) => bytes.map(f32::from_ne_bytes).into_iter().sum::<f32>().to_ne_bytes(),
            _ => panic!("the stand-in does not support this operation on these elements"),
        };
        all.copy_from_slice(&combined);
    }
}

unsafe fn called(comm: *mut c_void, call: Call) -> c_uint {
    unsafe { &mut *comm.cast::<Comm>() }.call(call)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAllReduce(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    element: c_uint,
    op: c_uint,
    comm: *mut c_void,
    _: *mut c_void,
) -> c_uint {
    unsafe { called(comm, Call(from as usize, to as usize, count, element, op, 0, 1)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclBroadcast(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    element: c_uint,
    root: c_int,
    comm: *mut c_void,
    _: *mut c_void,
) -> c_uint {
    unsafe { called(comm, Call(from as usize, to as usize, count, element, 0, root, 2)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclReduce(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    element: c_uint,
    op: c_uint,
    root: c_int,
    comm: *mut c_void,
    _: *mut c_void,
) -> c_uint {
    unsafe { called(comm, Call(from as usize, to as usize, count, element, op, root, 3)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclReduceScatter(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    element: c_uint,
    op: c_uint,
    comm: *mut c_void,
    _: *mut c_void,
) -> c_uint {
    unsafe { called(comm, Call(from as usize, to as usize, count, element, op, 0, 4)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclAllGather(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    element: c_uint,
    comm: *mut c_void,
    _: *mut c_void,
) -> c_uint {
    unsafe { called(comm, Call(from as usize, to as usize, count, element, 0, 0, 5)) }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupStart() -> c_uint {
    DEPTH.set(DEPTH.get() + 1);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGroupEnd() -> c_uint {
    DEPTH.set(DEPTH.get() - 1);
    COLLECTED.take().into_iter().map(|(comm, place)| comm.wait(place)).max().unwrap_or(SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommGetAsyncError(comm: *mut c_void, state: *mut c_uint) -> c_uint {
    let comm = unsafe { &*comm.cast::<Comm>() };
    let is_aborted = comm.group.lock().unwrap().aborted[comm.rank];
    unsafe { *state = if is_aborted { REMOTE_ERROR } else { SUCCESS } };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommDestroy(comm: *mut c_void) -> c_uint {
    drop(unsafe { Box::from_raw(comm.cast::<Comm>()) });
    SUCCESS
}

/// Aborts a communicator. The handle stays valid, because a waiting call in another thread may use it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncclCommAbort(comm: *mut c_void) -> c_uint {
    let comm = unsafe { &*comm.cast::<Comm>() };
    comm.group.lock().unwrap().aborted[comm.rank] = true;
    ABORTED.fetch_add(1, Ordering::SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetErrorString(code: c_uint) -> *const c_char {
    if code == INVALID_ARGUMENT { c"invalid argument".as_ptr() } else { c"another error".as_ptr() }
}

#[unsafe(no_mangle)]
pub extern "C" fn ncclGetLastError(_: *mut c_void) -> *const c_char {
    std::ptr::null()
}
