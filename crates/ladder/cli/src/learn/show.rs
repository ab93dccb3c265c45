//! Shows exercises, verdicts and hints as documents.

use std::path::Path;

use analysis::pitfalls::{ON_GPU, kept_of};
use analysis::results::Record;
use learn::{AnswerError, AnswerVerdict, Course, Exercise, GoalResult, Launched, Progress, State, Topic};
use serde::Serialize;
use simt::LaunchError;
use simt_check::Finding;
use simt_check::diagnostic::Diagnostic;

use crate::error::Error;
use crate::output::{Cell, Column, Document, NOTHING, Table, unfilled};

/// The JSON record of an exercise.
#[derive(Serialize)]
struct ExerciseRecord<'e> {
    name: &'static str,
    topic: &'static str,
    state: State,
    /// The task in one line.
    title: &'e str,
}

/// The JSON record of a verdict.
#[derive(Serialize)]
struct Checked<'v> {
    name: &'static str,
    state: State,
    /// The sizes at which the answer is correct.
    right: &'v [usize],
    counters: &'v [GoalResult],
    findings: &'v [Finding],
    /// The error in words.
    trouble: Option<String>,
}

/// The maximum number of findings that are shown for a launch.
const FINDINGS: usize = 3;

/// The width of a full progress bar in columns.
const BAR: usize = 24;

/// Returns a path, relative to the current folder if that folder contains the path.
pub(super) fn path(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// Lists the topics with the learner's progress.
pub(super) fn list(progress: &Progress, course: &Course) -> Document {
    let columns = [Column::name("topic"), Column::number("solved"), Column::text("about"), Column::name("next")];
    let mut table = Table::new(columns);
    let mut document = Document::default();
    for topic in &course.topics {
        let solved = format!("{} of {}", solved(progress, &topic.exercises), topic.exercises.len());
        let next = progress.next(&topic.exercises).map_or(NOTHING, |exercise| exercise.name);
        table.row([topic.name, &solved, topic.title, next]);
        records(topic, progress, &mut document);
    }
    document.table(table);
    document.note(bar(progress, course.exercises()));
    add_next(&mut document, progress, course.exercises());
    document.note("help: `ladder learn TOPIC` lists the exercises of a topic, and `--all` lists all exercises");
    document
}

/// Lists the exercises of these topics, each with its task.
pub(super) fn exercises(topics: &[Topic], progress: &Progress) -> Document {
    let mut document = Document::default();
    for topic in topics {
        let mut table = Table::new([Column::name("exercise"), Column::text("state"), Column::text("task")]);
        for exercise in &topic.exercises {
            let state = progress.state(exercise);
            let cell = match state {
                State::Solved => Cell::good(state.to_string()),
                _ => state.to_string().into(),
            };
            table.row([exercise.name.into(), cell, Cell::from(exercise.title())]);
        }
        document.section(topic.name, topic.title);
        document.table(table);
        document.note(bar(progress, &topic.exercises));
        records(topic, progress, &mut document);
    }
    add_next(&mut document, progress, topics.iter().flat_map(|topic| &topic.exercises));
    document
}

/// Returns the number of these exercises that are solved.
fn solved<'e>(progress: &Progress, exercises: impl IntoIterator<Item = &'e Exercise>) -> usize {
    exercises.into_iter().filter(|exercise| progress.state(exercise) == State::Solved).count()
}

/// Draws the share of these exercises that are solved: `[####----] 32 of 64 solved`.
pub(super) fn bar<'e>(progress: &Progress, exercises: impl IntoIterator<Item = &'e Exercise> + Clone) -> String {
    let all = exercises.clone().into_iter().count();
    let solved = solved(progress, exercises);
    let filled = BAR * solved / all.max(1);
    format!("[{}{}] {solved} of {all} solved", "#".repeat(filled), "-".repeat(BAR - filled))
}

/// Adds a record of each exercise of a topic.
fn records(topic: &Topic, progress: &Progress, document: &mut Document) {
    for exercise in &topic.exercises {
        let (name, topic, title) = (exercise.name, exercise.topic, exercise.title());
        document.record(&ExerciseRecord { name, topic, state: progress.state(exercise), title });
    }
}

/// Adds the command that checks the next of these exercises.
fn add_next<'e>(document: &mut Document, progress: &Progress, exercises: impl IntoIterator<Item = &'e Exercise>) {
    if let Some(next) = progress.next(exercises) {
        document.note(format!("next: ladder learn {}", next.name));
    }
}

/// Returns the result of a check as a document.
pub(super) fn verdict(
    exercise: &Exercise,
    verdict: &AnswerVerdict,
    is_new: bool,
    progress: &Progress,
    course: &Course,
) -> Document {
    let file = path(&progress.file(exercise));
    let mut document = Document::default();
    let all = course.exercises().count();
    let number = 1 + course.exercises().take_while(|other| other.name != exercise.name).count();
    document.heading(exercise.name, format!("exercise {number} of {all}, {}: {file}", exercise.topic));
    if is_new {
        document.paragraph(format!("\n{}\n", unfilled(&exercise.task())));
        document.paragraph(format!("Edit your copy: {file}"));
        document.paragraph("The check of the unchanged copy reports:\n");
    }
    if !verdict.right.is_empty() {
        document.paragraph(format!("correct for n = {}", list_of(&verdict.right)));
    }
    for reached in &verdict.reached {
        let mark = if reached.is_met() { "reached" } else { "not reached" };
        document.paragraph(format!("{mark}: {reached}"));
    }
    match &verdict.trouble {
        None => {
            document.note("solved");
            if let Some(bug) = exercise.bug() {
                let mut facts = vec![("lesson", bug.lesson.to_owned()), ("on a GPU", bug.on_gpu.to_owned())];
                facts.extend(kept_of(bug.name).and_then(on_gpu).map(|effect| ("measured", effect)));
                document.facts(facts);
            }
            add_next(&mut document, progress, course.exercises());
        }
        Some(trouble) => {
            add_trouble(&mut document, trouble, &progress.file(exercise));
            document.note(format!("help: `ladder learn hint {}` shows a hint", exercise.name));
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
        counters: &verdict.reached,
        findings,
        trouble: verdict.trouble.as_ref().map(|trouble| trouble_in_words(trouble, &progress.file(exercise))),
    });
    document
}

fn list_of(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Describes what a GPU did with the faulty kernel of a bug, in a sentence.
fn on_gpu(record: &Record) -> Option<String> {
    let result = record.value(ON_GPU)?.to_string();
    let effect = match (&*result, result.strip_prefix("wrong: "), result.strip_prefix("error: ")) {
        ("right", ..) => "returned the correct result, but the kernel is still incorrect".to_owned(),
        (_, Some(elements), _) => format!("returned {elements} wrong elements"),
        (.., Some(error)) => format!("failed: {error}"),
        (other, ..) => format!("was not stopped by the GPU: it {other}"),
    };
    Some(format!("on an {}, the faulty kernel {effect}", record.device_name()))
}

/// Returns the error as one text.
pub(super) fn trouble_in_words(trouble: &AnswerError, file: &Path) -> String {
    match trouble {
        AnswerError::Compiler(messages) => messages.replace(&file.display().to_string(), &path(file)),
        AnswerError::Signature(problem) => problem.clone(),
        AnswerError::Launch(launched) => {
            let lines = [wrong_launch(launched)].into_iter().chain(launched.problems());
            lines.chain([launched.advice().to_owned()]).collect::<Vec<_>>().join("\n")
        }
        AnswerError::Goal => "The result is correct, but a goal is not met yet.".to_owned(),
    }
}

/// Adds the error to the document.
fn add_trouble(document: &mut Document, trouble: &AnswerError, file: &Path) {
    let AnswerError::Launch(launched) = trouble else {
        return document.paragraph(trouble_in_words(trouble, file));
    };
    document.paragraph(wrong_launch(launched));
    // Show the wrong result first, and then the finding that explains it.
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

/// Returns a heading for a wrong result: `wrong for n = 33, 1 block of 128 threads:`.
fn wrong_launch(launched: &Launched) -> String {
    let size = launched.size.map_or(String::new(), |size| format!(" n = {size},"));
    format!("wrong for{size} {}:", launched.geometry)
}

/// Shows the hints up to the next one.
pub(super) fn hint(exercise: &Exercise, progress: &mut Progress) -> Result<Document, Error> {
    let hints = exercise.hints();
    let shown = progress.next_hint(exercise, hints.len())? + 1;
    let mut document = Document::default();
    document.heading(exercise.name, exercise.title());
    for (number, hint) in (1..).zip(hints.iter().take(shown)) {
        document.paragraph(format!("Hint {number} of {}: {hint}", hints.len()));
    }
    document.note(match hints.len() > shown {
        true => format!("Next hint: ladder learn hint {}", exercise.name),
        false => format!("No more hints. Solution: ladder learn solution {}", exercise.name),
    });
    Ok(document)
}
