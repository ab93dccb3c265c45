//! A file with the verdicts of earlier runs, from which an interrupted run continues.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::kernel::{Kernel, Mutant};
use crate::problems::checked;
use crate::verdict::MutantVerdict;

/// The version of the verdicts. Increase this number after any change to how mutants run, so that older verdicts become
/// invalid.
const VERSION: u32 = 6;

/// A file of verdicts. The key of a verdict depends on everything that affects the verdict.
#[derive(Debug)]
pub(crate) struct Finished {
    verdicts: HashMap<u64, MutantVerdict>,
    /// The file for new verdicts.
    file: Option<(PathBuf, File)>,
}

impl Finished {
    /// Reads a file, or creates it if it does not exist. Without a path, no verdicts are saved.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = path else { return Ok(Self { verdicts: HashMap::new(), file: None }) };
        let mut verdicts = HashMap::new();
        match File::open(path) {
            Ok(file) => {
                for line in BufReader::new(file).lines() {
                    let line = line.map_err(|error| Error::file("read", path, error))?;
                    // Skip a line that an interrupted run wrote incompletely.
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
        // The line starts with a line break, in case an interrupted run left an incomplete line.
        writeln!(file, "{line}").map_err(|error| Error::file("write", path, error))
    }
}

/// Returns the key of a kernel, computed from its text and the problems that it runs on.
pub(crate) fn kernel_key(kernel: &Kernel) -> u64 {
    let mut hasher = DefaultHasher::new();
    (VERSION, &kernel.entry, &kernel.text).hash(&mut hasher);
    for case in checked(kernel) {
        (format!("{:?}", case.options), format!("{:?}", case.launches)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the key of a mutant. `kernel` is the key of its kernel.
pub(crate) fn mutant_key(kernel: u64, mutant: &Mutant) -> u64 {
    let mut hasher = DefaultHasher::new();
    let edit = &mutant.edit;
    (kernel, mutant.mutation.name, edit.range.start, edit.range.end, &edit.with).hash(&mut hasher);
    hasher.finish()
}
