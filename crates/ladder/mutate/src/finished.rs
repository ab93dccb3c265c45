//! The verdicts of earlier runs, in a file: a run that was ended goes on where it was.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::problems::checked;
use crate::verdict::MutantVerdict;

/// Raised whenever a mutant is run in another way, so that older verdicts do not count any more.
const VERSION: u32 = 6;

/// A file of verdicts, each with a key of all that it depends on.
#[derive(Debug)]
pub(crate) struct Finished {
    verdicts: HashMap<u64, MutantVerdict>,
    /// Where further verdicts are kept.
    file: Option<(PathBuf, File)>,
}

impl Finished {
    /// Reads a file, which is made if there is none. Without a path, nothing is kept.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self { verdicts: HashMap::new(), file: None }) };
        let mut verdicts = HashMap::new();
        match File::open(path) {
            Ok(file) => {
                for line in BufReader::new(file).lines() {
                    let line = line.map_err(|error| Error::file("read", path, error))?;
                    // A line that was being written when a run ended is passed over.
                    if let Ok((key, verdict)) = serde_json::from_str(&line) {
                        verdicts.insert(key, verdict);
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("read", path, error)),
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| Error::file("make", folder, error))?;
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| Error::file("write", path, error))?;
        Ok(Self { verdicts, file: Some((path.to_owned(), file)) })
    }

    pub(crate) fn get(&self, key: u64) -> Option<&MutantVerdict> {
        self.verdicts.get(&key)
    }

    pub(crate) fn keep(&mut self, key: u64, verdict: &MutantVerdict) -> Result<(), Error> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let line = serde_json::to_string(&(key, verdict)).map_err(|error| Error::file("write", path, error))?;
        // Begins with the line's end, in case the last run has left a part of a line.
        writeln!(file, "{line}").map_err(|error| Error::file("write", path, error))
    }
}

/// Returns the key of a kernel: its text, and the problems that it runs on.
pub(crate) fn kernel_key(kernel: &Kernel) -> u64 {
    let mut hasher = DefaultHasher::new();
    (VERSION, &kernel.entry, &kernel.text).hash(&mut hasher);
    for case in checked(kernel) {
        (format!("{:?}", case.options), format!("{:?}", case.launches)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the key of a mutant of a kernel with this key.
pub(crate) fn mutant_key(kernel: u64, mutant: &Mutant) -> u64 {
    let mut hasher = DefaultHasher::new();
    let edit = &mutant.edit;
    (kernel, mutant.mutation.name, edit.range.start, edit.range.end, &edit.with).hash(&mut hasher);
    hasher.finish()
}
