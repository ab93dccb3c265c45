//! Checking an answer whenever its file is saved.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use learn::{Course, Progress};
use simt::run::is_interrupted;

use super::{checked, named};
use crate::command::{Env, INTERRUPTED, Output};
use crate::error::Error;
use crate::output::Format;

/// How often the file is looked at. What a file system tells by itself differs from one to the next, and this does not.
const INTERVAL: Duration = Duration::from_millis(100);

/// Checks an exercise again whenever it is saved, until somebody ends it. Without a name, it goes on to the next one when
/// one is solved.
pub(super) fn watch(
    name: Option<&str>,
    progress: &mut Progress,
    course: &Course,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let only = name.map(|name| named(name, course, env.catalog)).transpose()?;
    while let Some(exercise) = only.or_else(|| progress.next(course.exercises())) {
        let file = progress.file(exercise);
        loop {
            let seen = saved(&file);
            let start = Instant::now();
            let (document, is_solved) = checked(exercise, progress, course, env)?;
            let seconds = start.elapsed().as_secs_f64();
            // A file that the check itself has put there was not saved by anybody.
            let seen = seen.or_else(|| saved(&file));
            Format::default().write(&document, env.style(), to.out)?;
            writeln!(to.out, "{seconds:.1} s; save the file to check it again, Ctrl-C ends this\n")?;
            to.out.flush()?;
            if is_solved && only.is_none() {
                break;
            }
            while saved(&file).is_none_or(|now| Some(now) == seen) {
                if is_interrupted() {
                    return Ok(INTERRUPTED);
                }
                sleep(INTERVAL);
            }
        }
    }
    writeln!(to.out, "all exercises are solved")?;
    Ok(0)
}

/// When a file was saved last, and its size; nothing while an editor has removed it to write it anew.
fn saved(file: &Path) -> Option<(SystemTime, u64)> {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}
