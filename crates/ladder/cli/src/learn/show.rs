//! Exercises, verdicts and hints as text.

use std::path::Path;

use analysis::pitfalls::{ON_GPU, kept_of};
use learn::{AnswerError, Course, Exercise, Launched, Progress, State, Verdict};
use serde::Serialize;
use simt::LaunchError;
use simt::diagnostic::Diagnostic;
use simt::sanitize::Finding;

use crate::error::Error;
use crate::output::{Cell, Column, Document, Table, unfilled};

/// An exercise for programs.
#[derive(Serialize)]
struct Row<'e> {
    name: &'static str,
    topic: &'static str,
    state: State,
    /// The task in one line.
    title: &'e str,
}

/// A verdict for programs.
#[derive(Serialize)]
struct Checked<'v> {
    name: &'static str,
    state: State,
    /// The sizes at which it is right.
    right: &'v [usize],
    counters: Vec<Counter>,
    findings: &'v [Finding],
    /// What is wrong, in words.
    trouble: Option<String>,
}

#[derive(Serialize)]
struct Counter {
    name: &'static str,
    value: f64,
    at_most: f64,
}

/// The findings of one launch that are shown.
const FINDINGS: usize = 3;

/// A path, relative to where the program was started if it is below.
pub(super) fn path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// The exercises with the learner's progress: a row for each topic, or with `all` a table for each topic.
pub(super) fn list(progress: &Progress, course: &Course, all: bool) -> Document {
    let mut document = Document::default();
    let columns = [Column::number("no."), Column::name("exercise"), Column::text("state")];
    let mut number = 0;
    let is_solved = |exercise: &&Exercise| progress.state(exercise) == State::Solved;
    let mut topics = Table::new([Column::name("topic"), Column::number("solved"), Column::text("exercises")]);
    for topic in &course.topics {
        let names = topic.exercises.iter().map(|exercise| exercise.name).collect::<Vec<_>>().join(", ");
        let solved = format!("{} of {}", topic.exercises.iter().filter(is_solved).count(), topic.exercises.len());
        topics.row([topic.name.to_owned(), solved, names]);
        let mut table = Table::new(columns.iter().cloned().chain([Column::text("task")]));
        for exercise in &topic.exercises {
            let state = progress.state(exercise);
            let cell = match state {
                State::Solved => Cell::good(state.name()),
                _ => state.name().into(),
            };
            number += 1;
            table.row([number.to_string().into(), exercise.name.into(), cell, Cell::from(exercise.title())]);
            let (name, topic, title) = (exercise.name, exercise.topic, exercise.title());
            document.record(&Row { name, topic, state, title });
        }
        if all {
            document.section(topic.name, topic.title);
            document.table(table);
        }
    }
    if !all {
        document.table(topics);
    }
    let solved = course.exercises().filter(is_solved).count();
    document.note(format!("{solved} of {number} are solved"));
    if let Some(exercise) = course.next(progress) {
        document.note(format!("next: ladder learn {}", exercise.name));
    }
    if !all {
        document.note("the task of each exercise: ladder learn --all");
    }
    document
}

/// What a check has said.
pub(super) fn verdict(
    exercise: &Exercise,
    verdict: &Verdict,
    is_new: bool,
    progress: &Progress,
    course: &Course,
) -> Document {
    let file = path(&progress.file(exercise));
    let mut document = Document::default();
    let all = course.exercises().count();
    let number = 1 + course.exercises().take_while(|own| own.name != exercise.name).count();
    document.heading(exercise.name, format!("exercise {number} of {all}, {}: {file}", exercise.topic));
    if is_new {
        document.paragraph(format!("\n{}\n", unfilled(&exercise.task())));
        document.paragraph(format!("This file is yours now: edit {file}. As it is, it is not right yet:\n"));
    }
    if !verdict.right.is_empty() {
        document.paragraph(format!("right for n = {}", list_of(&verdict.right)));
    }
    for reached in &verdict.reached {
        let mark = if reached.is_met() { "reached" } else { "not yet" };
        document.paragraph(format!("{mark}: {reached}"));
    }
    match &verdict.trouble {
        None => {
            document.note("solved");
            if let Some(bug) = exercise.bug() {
                let mut facts = vec![("lesson", bug.lesson.to_owned()), ("a GPU", bug.on_gpu.to_owned())];
                let measured = kept_of(bug.name).and_then(|record| record.value(ON_GPU));
                facts.extend(measured.map(|measured| ("measured", measured.to_string())));
                document.facts(facts);
            }
            if let Some(next) = course.next(progress) {
                document.note(format!("next: ladder learn {}", next.name));
            }
        }
        Some(trouble) => {
            add_trouble(&mut document, trouble, &progress.file(exercise));
            document.note(format!("a hint: ladder learn hint {}", exercise.name));
        }
    }
    let findings: &[Finding] = match &verdict.trouble {
        Some(AnswerError::Launch(launched)) => &launched.findings,
        _ => &[],
    };
    document.value(&Checked {
        name: exercise.name,
        state: progress.state(exercise),
        right: &verdict.right,
        counters: verdict.reached.iter().map(counter).collect(),
        findings,
        trouble: verdict.trouble.as_ref().map(|trouble| trouble_in_words(trouble, &progress.file(exercise))),
    });
    document
}

fn counter(reached: &learn::GoalResult) -> Counter {
    Counter { name: reached.goal.counter, value: reached.value, at_most: reached.goal.at_most }
}

fn list_of(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What is wrong, as one text.
fn trouble_in_words(trouble: &AnswerError, file: &Path) -> String {
    match trouble {
        AnswerError::Compiler(messages) => messages.replace(&file.display().to_string(), &path(file)),
        AnswerError::Signature(problem) => problem.clone(),
        AnswerError::Launch(launched) => {
            let lines = [not_right(launched)].into_iter().chain(launched.problems());
            lines.chain([launched.advice().to_owned()]).collect::<Vec<_>>().join("\n")
        }
        AnswerError::Goal => "The result is right. Now reach what is not reached yet.".to_owned(),
    }
}

/// Adds what is wrong.
fn add_trouble(document: &mut Document, trouble: &AnswerError, file: &Path) {
    let AnswerError::Launch(launched) = trouble else {
        return document.paragraph(trouble_in_words(trouble, file));
    };
    document.paragraph(not_right(launched));
    // First what is wrong in the result, and then the race or the access that explains it.
    if let Some(wrong) = &launched.wrong {
        document.paragraph(wrong.to_string());
    }
    let mut diagnostics = Diagnostic::of_findings(&launched.findings);
    match &launched.fault {
        Some(LaunchError::Fault(fault)) => diagnostics.push(Diagnostic::of_fault(fault)),
        Some(other) => document.paragraph(other.to_string()),
        None => {}
    }
    let more = diagnostics.len().saturating_sub(FINDINGS);
    diagnostics.truncate(FINDINGS);
    document.diagnostics(diagnostics);
    if more > 0 {
        document.paragraph(format!("and {more} more findings"));
    }
    document.paragraph(launched.advice());
}

/// `not right for n = 0, 1 block of 64 threads:`.
fn not_right(launched: &Launched) -> String {
    let size = launched.size.map_or(String::new(), |size| format!(" n = {size},"));
    format!("not right for{size} {}:", launched.geometry)
}

/// The next hint, and how many there are.
pub(super) fn hint(exercise: &Exercise, progress: &mut Progress) -> Result<String, Error> {
    let hints = exercise.hints();
    let shown = progress.next_hint(exercise, hints.len())?;
    let mut lines = vec![format!("{}: {}", exercise.name, exercise.title())];
    let numbered = hints.iter().enumerate().take(shown + 1);
    lines.extend(numbered.map(|(number, hint)| format!("{}. {hint}", number + 1)));
    lines.push(match hints.len() > shown + 1 {
        true => format!("one more of {}: ladder learn hint {}", hints.len(), exercise.name),
        false => format!("these are all; an answer: ladder learn solution {}", exercise.name),
    });
    Ok(lines.join("\n") + "\n")
}
