//! Caches results between builds and distributes work over several cores.
//!
//! An entry of the store is a folder with a part's IR and the results for the part. The first line of the IR file names
//! the tools and their options. An entry is used only if this text matches byte by byte; the hash in the entry's name
//! only locates it. Writing the text of a part takes a while, so the store also maps a 128-bit fingerprint of all
//! inputs of this text to the entry's name. Collisions of such fingerprints are practically impossible.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{io::ErrorKind, iter, process, thread};

use twox_hash::XxHash3_128;

use crate::compile::{hash, io, read, write};
use crate::error::CudaBuilderError;

const INPUT: &str = "input.ll";
const OPTIMIZED: &str = "optimized.ll";
const LOCK: &str = "lock";
/// The folder that maps fingerprints to the names of entries.
const NAMES: &str = "names";

/// A folder of results that several builds may use at the same time.
pub(crate) struct Store {
    folder: PathBuf,
    /// A shared lock that all builds hold while they use the store, so that no build removes entries that another build
    /// needs; see `forget`.
    lock: File,
}

/// One part.
pub(crate) struct Part {
    folder: PathBuf,
    /// The path of its optimized IR.
    pub(crate) optimized: PathBuf,
}

impl Store {
    pub(crate) fn open(folder: PathBuf) -> Result<Self, CudaBuilderError> {
        let names = folder.join(NAMES);
        fs::create_dir_all(&names).map_err(io(&names))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(io(&path))?;
        // If the file system has no locks, no entry is ever removed.
        let _ = lock.lock_shared();
        Ok(Self { folder, lock })
    }

    /// Returns the optimized form of the IR, either cached or written to a file by `optimize`. `tools` names everything
    /// else that the results depend on, and `key` everything that the IR depends on.
    pub(crate) fn part(
        &self,
        tools: &str,
        key: &str,
        ir: impl FnOnce() -> String,
        optimize: impl FnOnce(&str, &Path) -> Result<(), CudaBuilderError>,
    ) -> Result<Part, CudaBuilderError> {
        // Records the time of the last use; see `forget`.
        let use_now = |file: &Path| File::options().append(true).open(file)?.set_modified(SystemTime::now());
        let name = self.folder.join(NAMES).join(format!("{:032x}", fingerprint(&format!("{tools}\n{key}"))));
        if let Ok(entry) = fs::read_to_string(&name) {
            let folder = self.folder.join(entry);
            if use_now(&folder.join(INPUT)).is_ok() && use_now(&name).is_ok() {
                return Ok(Part { optimized: folder.join(OPTIMIZED), folder });
            }
        }
        let ir = ir();
        let input = format!("; {tools}\n{ir}");
        let entry = hash(&input);
        let folder = self.folder.join(&entry);
        let is_kept = || fs::read(folder.join(INPUT)).is_ok_and(|kept| kept == input.as_bytes());
        if is_kept() {
            use_now(&folder.join(INPUT)).map_err(io(&folder))?;
        } else {
            let new = NewFolder::within(&self.folder)?;
            write(&new.0.join(INPUT), &input)?;
            optimize(&ir, &new.0.join(OPTIMIZED))?;
            // Another build can have written the entry first, or another input can have the same hash.
            if fs::rename(&new.0, &folder).is_err() && !is_kept() {
                let _ = fs::remove_dir_all(&folder);
                fs::rename(&new.0, &folder).map_err(io(&folder))?;
            }
        }
        // Another build can read the file before it is complete, but an incomplete text is not the name of an entry.
        write(&name, &entry)?;
        Ok(Part { optimized: folder.join(OPTIMIZED), folder })
    }

    /// Stops using the store. Removes the least recently used entries, so that at most twice the number of entries that
    /// this build used remain. Removes nothing while another build uses the store.
    pub(crate) fn forget(self, used: usize) {
        if self.lock.unlock().and_then(|()| Ok(self.lock.try_lock()?)).is_err() {
            return;
        }
        let unused = |folder: &Path, file: &str| {
            let last_use = |entry: &PathBuf| fs::metadata(entry.join(file)).and_then(|metadata| metadata.modified());
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut entries: Vec<_> = entries.filter(|entry| entry.file_name() != Some(NAMES.as_ref())).collect();
            entries.sort_by_cached_key(|entry| std::cmp::Reverse(last_use(entry).ok()));
            entries.into_iter().skip(2 * used)
        };
        for old in unused(&self.folder, INPUT).filter(|entry| entry.is_dir()) {
            let _ = fs::remove_dir_all(old);
        }
        for old in unused(&self.folder.join(NAMES), "") {
            let _ = fs::remove_file(old);
        }
    }
}

/// Puts the optimized IR of all parts into a folder and removes the folder's previous contents.
pub(crate) fn link_into(folder: &Path, parts: &[Part]) -> Result<(), CudaBuilderError> {
    let removed = fs::remove_dir_all(folder).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    });
    removed.and_then(|()| fs::create_dir_all(folder)).map_err(io(folder))?;
    for (number, part) in parts.iter().enumerate() {
        let to = folder.join(format!("{number}.ll"));
        // Some file systems have no hard links.
        let linked = fs::hard_link(&part.optimized, &to).or_else(|_| fs::copy(&part.optimized, &to).map(drop));
        linked.map_err(io(&to))?;
    }
    Ok(())
}

/// Returns a 128-bit number that is practically unique to a text.
pub(crate) fn fingerprint(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

impl Part {
    /// Returns the cached result of this name, or the result that `generate` writes from the optimized IR to a file of
    /// this name.
    pub(crate) fn cached(
        &self,
        name: &str,
        generate: impl FnOnce(&Path) -> Result<(), CudaBuilderError>,
    ) -> Result<String, CudaBuilderError> {
        let path = self.folder.join(name);
        if !path.is_file() {
            let new = NewFolder::within(&self.folder)?;
            let made = new.0.join(name);
            generate(&made)?;
            fs::rename(made, &path).map_err(io(&path))?;
        }
        read(&path)
    }
}

/// A private folder of this build for unfinished results. It is removed when this value is dropped. (The crate
/// `tempfile` would be compiled twice, because cargo enables different features of its dependencies for build scripts
/// and for programs.)
struct NewFolder(PathBuf);

impl NewFolder {
    fn within(folder: &Path) -> Result<Self, CudaBuilderError> {
        // Numbers are never reused. A thread may have moved its folder but not yet dropped the value. If another thread
        // then reused the number, the drop would remove the other thread's folder.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let new = folder.join(format!("new-{}-{number}", process::id()));
            match fs::create_dir(&new) {
                // An earlier process with the same process ID was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(new)).map_err(io(folder)),
            }
        }
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // The folder was moved, or the build failed and reports an error.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls `f` for each item, with one thread per core, and returns the results in order.
pub(crate) fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let items = Mutex::new(items.iter().enumerate());
    let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Vec<_> { iter::from_fn(take).map(|(at, item)| (at, f(item))).collect() };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let done: BTreeMap<_, _> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results.flat_map(|result| result.expect("no panics")).collect()
    });
    done.into_values().collect()
}

#[cfg(test)]
mod tests;
