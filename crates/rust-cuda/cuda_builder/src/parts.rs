//! Results that are kept from build to build, and work on several cores.
//!
//! An entry of the store is a folder with a part's IR, under a first line that names the tools and their options, and
//! with what was made of it. It is taken only if that text is the same byte by byte; the hash in its name merely finds it.
//! The text takes a while to write, so the store also has the entry's name by a fingerprint of all that the text is made
//! from, of 128 bits: no two of them are ever the same.

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
/// The folder of the entries' names by fingerprint.
const NAMES: &str = "names";

/// A folder of results, which several builds may use at the same time.
pub(crate) struct Store {
    folder: PathBuf,
    /// Shared by all builds that use the store, so that none removes what another one needs; see `forget`.
    lock: File,
}

/// One part.
pub(crate) struct Part {
    folder: PathBuf,
    /// The file of its optimized IR.
    pub(crate) optimized: PathBuf,
}

impl Store {
    pub(crate) fn open(folder: PathBuf) -> Result<Self, CudaBuilderError> {
        let names = folder.join(NAMES);
        fs::create_dir_all(&names).map_err(io(&names))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(io(&path))?;
        // Where the file system has no locks, nothing is ever removed.
        let _ = lock.lock_shared();
        Ok(Self { folder, lock })
    }

    /// The optimized form of the IR: a kept one, or else what `optimize` writes into a file. `tools` names everything
    /// else that the results depend on, and `key` everything that the IR depends on.
    pub(crate) fn part(
        &self,
        tools: &str,
        key: &str,
        ir: impl FnOnce() -> String,
        optimize: impl FnOnce(&str, &Path) -> Result<(), CudaBuilderError>,
    ) -> Result<Part, CudaBuilderError> {
        // Says when it was last used; see `forget`.
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
            // Another build may have been faster, or another input have the same hash.
            if fs::rename(&new.0, &folder).is_err() && !is_kept() {
                let _ = fs::remove_dir_all(&folder);
                fs::rename(&new.0, &folder).map_err(io(&folder))?;
            }
        }
        // Another build may read it before all of it is written: what it reads then is no entry's name.
        write(&name, &entry)?;
        Ok(Part { optimized: folder.join(OPTIMIZED), folder })
    }

    /// Ends the use of the store: removes what has not been used for longest, so that at most twice as much stays as
    /// this build used. While another build uses the store it removes nothing.
    pub(crate) fn forget(self, used: usize) {
        if self.lock.unlock().and_then(|()| Ok(self.lock.try_lock()?)).is_err() {
            return;
        }
        let unused = |folder: &Path, file: &str| {
            let last_use = |entry: &PathBuf| fs::metadata(entry.join(file)).and_then(|it| it.modified());
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

/// Puts the optimized IR of all parts into a folder, and removes what else was in it.
pub(crate) fn link_into(folder: &Path, parts: &[Part]) -> Result<(), CudaBuilderError> {
    let removed = fs::remove_dir_all(folder).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    });
    removed.and_then(|()| fs::create_dir_all(folder)).map_err(io(folder))?;
    for (number, part) in parts.iter().enumerate() {
        let to = folder.join(format!("{number}.ll"));
        // Some file systems have no links.
        let linked = fs::hard_link(&part.optimized, &to).or_else(|_| fs::copy(&part.optimized, &to).map(drop));
        linked.map_err(io(&to))?;
    }
    Ok(())
}

/// A number of a text that no other text has.
pub(crate) fn fingerprint(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

impl Part {
    /// What `generate` makes of the optimized IR in a file of this name, or a kept one.
    pub(crate) fn made(
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

/// A folder of this build alone, for what is not ready. It goes when this is dropped. (The crate `tempfile` would be
/// compiled twice, as cargo gives build scripts other features of what it uses than programs.)
struct NewFolder(PathBuf);

impl NewFolder {
    fn within(folder: &Path) -> Result<Self, CudaBuilderError> {
        // No number is given twice: the folder of one thread may have been moved but not dropped yet, and when it is,
        // a folder with the same name, made by another thread since, would go with it.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let new = folder.join(format!("new-{}-{number}", process::id()));
            match fs::create_dir(&new) {
                // An earlier process with this number was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(new)).map_err(io(folder)),
            }
        }
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // It was moved, or its build has failed and says so.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Calls `f` for each item on as many threads as there are cores, and returns the results in order.
pub(crate) fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let items = Mutex::new(items.iter().enumerate());
    let take = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Vec<_> { iter::from_fn(take).map(|(at, it)| (at, f(it))).collect() };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let done: BTreeMap<_, _> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|it| it.join());
        results.flat_map(|it| it.expect("no panics")).collect()
    });
    done.into_values().collect()
}

#[cfg(test)]
mod tests;
