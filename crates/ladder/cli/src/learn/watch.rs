//! Checks an answer whenever its file is saved, and reads keys from a terminal.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Instant, SystemTime};

use learn::{Course, Exercise, Progress, State};
use simt::run::is_interrupted;

use super::keys::{INTERVAL, Keys};
use super::{checked, named, show};
use crate::command::{Env, INTERRUPTED, Output};
use crate::error::Error;
use crate::output::Format;

/// The keys, shown after each check.
const KEYS: &str = "h: hint  l: list  n: next exercise  r: run again  q: quit";

/// The byte of Ctrl-C. While the program waits for keys, Ctrl-C is an ordinary key.
const CTRL_C: u8 = 3;

/// The event that ended the wait for the learner.
enum Event {
    Saved,
    Key(u8),
    Interrupted,
}

/// Checks an exercise whenever its file is saved. Without a name, starts with the next unsolved exercise. On a
/// terminal, keys show a hint or move to the next exercise. Without a terminal and without a name, the next exercise
/// follows a solved one automatically.
pub(super) fn watch(
    name: Option<&str>,
    progress: &mut Progress,
    course: &Course,
    env: &Env<'_>,
    to: &mut Output<'_>,
) -> Result<u8, Error> {
    let has_keys = env.terminal && Keys::exist();
    let mut next = match name {
        Some(name) => Some(named(name, course, env.catalog)?),
        None => progress.next(course.exercises()),
    };
    while let Some(exercise) = next {
        let file = progress.file(exercise);
        let seen = saved(&file);
        let start = Instant::now();
        let (document, is_solved) = checked(exercise, progress, course, env)?;
        let seconds = start.elapsed().as_secs_f64();
        // The check may have created the file.
        let seen = seen.or_else(|| saved(&file));
        Format::default().write(&document, env.style(), to.out)?;
        writeln!(to.out, "{}", show::bar(progress, course.exercises()))?;
        // Change the terminal's mode before the keys are shown, so that keys that the user presses in the meantime are
        // not echoed.
        let keys = has_keys.then(Keys::open).transpose()?;
        let shown = if has_keys { KEYS } else { "Ctrl-C: quit" };
        writeln!(to.out, "checked in {seconds:.1} s; save the file to check it again\n{shown}\n")?;
        to.out.flush()?;
        if is_solved && name.is_none() && !has_keys {
            next = following(exercise, progress, course);
            continue;
        }
        loop {
            match wait(&file, seen, keys.as_ref()) {
                Event::Interrupted | Event::Key(CTRL_C) => return Ok(INTERRUPTED),
                Event::Saved | Event::Key(b'r') => break,
                Event::Key(b'q') => return Ok(0),
                Event::Key(b'h') => {
                    Format::default().write(&show::hint(exercise, progress)?, env.style(), to.out)?;
                }
                Event::Key(b'l') => Format::default().write(&show::list(progress, course), env.style(), to.out)?,
                Event::Key(b'n') => {
                    next = following(exercise, progress, course);
                    break;
                }
                Event::Key(_) => writeln!(to.out, "{KEYS}")?,
            }
            to.out.flush()?;
        }
    }
    writeln!(to.out, "all exercises are solved")?;
    Ok(0)
}

/// Returns the next unsolved exercise after this one. The search wraps around and ends with this exercise.
fn following<'c>(exercise: &Exercise, progress: &Progress, course: &'c Course) -> Option<&'c Exercise> {
    let later = course.exercises().skip_while(|other| other.name != exercise.name).skip(1);
    later.chain(course.exercises()).find(|candidate| progress.state(candidate) != State::Solved)
}

/// Waits until the file is saved, a key is pressed, or the process is interrupted.
fn wait(file: &Path, seen: Option<(SystemTime, u64)>, keys: Option<&Keys>) -> Event {
    loop {
        if is_interrupted() {
            return Event::Interrupted;
        }
        if saved(file).is_some_and(|now| Some(now) != seen) {
            return Event::Saved;
        }
        // Poll the file, because file-system notifications differ between systems.
        match keys {
            Some(keys) => {
                if let Some(key) = keys.read() {
                    return Event::Key(key);
                }
            }
            None => sleep(INTERVAL),
        }
    }
}

/// Returns the time of the last save of a file, and its size; `None` while an editor replaces the file.
fn saved(file: &Path) -> Option<(SystemTime, u64)> {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}
