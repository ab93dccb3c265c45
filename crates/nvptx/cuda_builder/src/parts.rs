//! Optimizing and compiling the parts of a module, with the results kept from build to build.
//!
//! An entry of the store is a folder with the part's IR, under a first line that names the tools and their options, and
//! with what was made of it. It is taken only if that text is the same byte by byte; the hash in its name merely finds it.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::SystemTime;

use crate::compile::{io, read, write};
use crate::error::CudaBuilderError;

const INPUT: &str = "input.ll";
const OPTIMIZED: &str = "optimized.ll";

/// A folder of results.
pub(crate) struct Store {
    folder: PathBuf,
}

/// One part with its optimized IR.
pub(crate) struct Part {
    folder: PathBuf,
    /// The optimized IR, in a file and as text.
    pub(crate) path: PathBuf,
    pub(crate) optimized: String,
}

impl Store {
    pub(crate) fn open(folder: PathBuf) -> Result<Self, CudaBuilderError> {
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        Ok(Self { folder })
    }

    /// The optimized form of the IR: a kept one, or else what `optimize` makes of one file in another. `tools` names
    /// everything else that the results depend on.
    pub(crate) fn part(
        &self,
        tools: &str,
        ir: &str,
        optimize: impl FnOnce(&Path, &Path) -> Result<(), CudaBuilderError>,
    ) -> Result<Part, CudaBuilderError> {
        let input = format!("; {tools}\n{ir}");
        let mut hasher = DefaultHasher::new();
        input.hash(&mut hasher);
        let folder = self.folder.join(format!("{:016x}", hasher.finish()));
        let path = folder.join(OPTIMIZED);
        let is_kept = || fs::read(folder.join(INPUT)).is_ok_and(|kept| kept == input.as_bytes());
        if is_kept() {
            // Says when it was last used; see `forget`.
            let used = File::options().append(true).open(folder.join(INPUT));
            let used = used.and_then(|it| it.set_modified(SystemTime::now()));
            used.map_err(io(&folder))?;
        } else {
            let _ = fs::remove_dir_all(&folder);
            let new = tempfile::tempdir_in(&self.folder).map_err(io(&self.folder))?;
            write(&new.path().join(INPUT), &input)?;
            optimize(&new.path().join(INPUT), &new.path().join(OPTIMIZED))?;
            // Another build may have been faster.
            if let Err(error) = fs::rename(new.path(), &folder)
                && !is_kept()
            {
                return Err(io(&folder)(error));
            }
        }
        let optimized = read(&path)?;
        Ok(Part {
            folder,
            path,
            optimized,
        })
    }

    /// Removes what has not been used for longest, so that at most twice as much stays as the last build used.
    pub(crate) fn forget(&self, used: usize) {
        let age = |folder: &PathBuf| {
            fs::metadata(folder.join(INPUT))
                .and_then(|it| it.modified())
                .ok()
        };
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries.map(|entry| entry.path()).collect();
        entries.sort_by_cached_key(|folder| std::cmp::Reverse(age(folder)));
        for old in entries.iter().skip(2 * used) {
            let _ = fs::remove_dir_all(old);
        }
    }
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
            let new = tempfile::NamedTempFile::new_in(&self.folder).map_err(io(&self.folder))?;
            generate(new.path())?;
            new.persist(&path).map_err(|error| io(&path)(error.error))?;
        }
        read(&path)
    }
}

/// Calls `f` for each item on as many threads as there are cores, and returns the results in order.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<R, CudaBuilderError> + Sync,
) -> Result<Vec<R>, CudaBuilderError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, item)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            items.get(at).map(|item| (at, item))
        } {
            done.push((at, f(item)));
        }
        done
    };
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len());
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = threads
            .into_iter()
            .map(|it| it.join().expect("a compiler's thread does not panic"));
        done.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
