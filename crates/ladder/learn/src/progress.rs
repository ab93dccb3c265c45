//! A learner's folder: the files that the learner edits, and the learner's progress.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::exercise::Exercise;

/// The file that records the part of the progress that the learner's other files do not show.
const FILE: &str = ".progress.json";

/// A learner's progress with an exercise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The learner has no file for the exercise.
    New,
    /// The learner has a file.
    Begun,
    /// The last check of the file found no error.
    Solved,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The data that the program saves between runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedProgress {
    /// The exercises whose last check found no error.
    #[serde(default)]
    solved: BTreeSet<String>,
    /// The number of hints that were shown for each exercise.
    #[serde(default)]
    hints: BTreeMap<String, usize>,
}

/// A learner's folder. The program never overwrites a file in this folder, except the record of progress.
#[derive(Debug)]
pub struct Progress {
    folder: PathBuf,
    kept: SavedProgress,
}

impl Progress {
    /// Returns the default folder: `exercises/mine` in the nearest folder that has `exercises`, among `here` and its
    /// ancestors.
    #[must_use]
    pub fn usual_folder(here: &Path) -> PathBuf {
        let has_exercises = |folder: &&Path| folder.join("exercises").is_dir();
        here.ancestors().find(has_exercises).unwrap_or(here).join("exercises/mine")
    }

    /// Reads the progress in a folder, which may not exist yet.
    ///
    /// # Errors
    /// Returns an error when the record of progress cannot be read.
    pub fn read(folder: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = folder.into();
        let path = folder.join(FILE);
        let kept = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|why| Error::Progress { path, why })?,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => SavedProgress::default(),
            Err(why) => return Err(Error::file("read", path)(why)),
        };
        Ok(Self { folder, kept })
    }

    /// Returns the path of the learner's file for an exercise.
    #[must_use]
    pub fn file(&self, exercise: &Exercise) -> PathBuf {
        self.folder.join(exercise.name).with_extension("rs")
    }

    /// Returns the learner's progress with an exercise.
    #[must_use]
    pub fn state(&self, exercise: &Exercise) -> State {
        match self.file(exercise).exists() {
            false => State::New,
            true if self.kept.solved.contains(exercise.name) => State::Solved,
            true => State::Begun,
        }
    }

    /// Returns the first of these exercises that has not been solved.
    #[must_use]
    pub fn next<'e>(&self, exercises: impl IntoIterator<Item = &'e Exercise>) -> Option<&'e Exercise> {
        exercises.into_iter().find(|exercise| self.state(exercise) != State::Solved)
    }

    /// Copies an exercise to the learner's folder unless the file exists. Returns whether the exercise was copied.
    ///
    /// # Errors
    /// Returns an error when the file cannot be written.
    pub fn begin(&self, exercise: &Exercise) -> Result<bool, Error> {
        let path = self.file(exercise);
        fs::create_dir_all(&self.folder).map_err(Error::file("create", &self.folder))?;
        match fs::File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(exercise.text.as_bytes()).map_err(Error::file("write", path))?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(why) => Err(Error::file("write", path)(why)),
        }
    }

    /// Renames the learner's file, copies the exercise again, and returns the new name of the learner's file.
    ///
    /// # Errors
    /// Returns an error when a file cannot be renamed or written.
    pub fn reset(&mut self, exercise: &Exercise) -> Result<Option<PathBuf>, Error> {
        let path = self.file(exercise);
        let mut kept = None;
        if path.exists() {
            let numbers = 1..u32::MAX;
            let mut names = numbers.map(|number| self.folder.join(format!("{}.{number}.rs.old", exercise.name)));
            let free = names.find(|name| !name.exists()).expect("there are fewer files than numbers");
            fs::rename(&path, &free).map_err(Error::file("rename", &path))?;
            kept = Some(free);
        }
        self.begin(exercise)?;
        self.record(exercise, false)?;
        Ok(kept)
    }

    /// Saves the result of a check.
    ///
    /// # Errors
    /// Returns an error when the record cannot be written.
    pub fn record(&mut self, exercise: &Exercise, is_solved: bool) -> Result<(), Error> {
        self.change(|kept| {
            match is_solved {
                true => kept.solved.insert(exercise.name.to_owned()),
                false => kept.solved.remove(exercise.name),
            };
        })
    }

    /// Counts one more hint, up to `most`, and returns the number of hints shown before this one.
    ///
    /// # Errors
    /// Returns an error when the record cannot be written.
    pub fn next_hint(&mut self, exercise: &Exercise, most: usize) -> Result<usize, Error> {
        let shown = self.kept.hints.get(exercise.name).copied().unwrap_or(0);
        self.change(|kept| {
            kept.hints.insert(exercise.name.to_owned(), (shown + 1).min(most));
        })?;
        Ok(shown.min(most))
    }

    /// Rereads the record, because another process may have changed it, then applies `change` and writes the record.
    fn change(&mut self, change: impl FnOnce(&mut SavedProgress)) -> Result<(), Error> {
        let mut kept = Self::read(&self.folder)?.kept;
        let before = kept.clone();
        change(&mut kept);
        if kept != before {
            let path = self.folder.join(FILE);
            let text = serde_json::to_string_pretty(&kept).expect("the record contains only names and numbers");
            fs::create_dir_all(&self.folder).map_err(Error::file("create", &self.folder))?;
            // A rename is atomic, so another process never reads a partly written record.
            let new = path.with_extension("new");
            fs::write(&new, text + "\n").map_err(Error::file("write", &new))?;
            fs::rename(&new, &path).map_err(Error::file("write", path))?;
        }
        self.kept = kept;
        Ok(())
    }
}
