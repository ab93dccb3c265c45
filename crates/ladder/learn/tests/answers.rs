//! Checks that every solution is correct, that no exercise is already solved, and that the verdicts on typical mistakes
//! help.
//!
//! All answers are compiled together, as modules of one crate. Their kernels have different names.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod mistakes;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use kernels_gpu::pitfalls::PITFALLS;
use learn::{AnswerError, AnswerVerdict, CHAPTERS, Course, Exercise, Progress, State, WARPS_PER_SM, check, compile};
use mistakes::{MISTAKES, Mistake};
use simt::Module;

static COURSE: LazyLock<Course> = LazyLock::new(|| Course::new(PITFALLS));

fn exercises() -> impl Iterator<Item = &'static Exercise> {
    COURSE.exercises()
}

/// An answer whose kernel has a unique name.
struct Answer {
    exercise: &'static Exercise,
    kernel: String,
    text: String,
}

impl Answer {
    fn new(kind: &str, exercise: &'static Exercise, text: &str) -> Self {
        let kernel = format!("{kind}_{}", exercise.name);
        let text = text.replace(&format!("fn {}", exercise.name), &format!("fn {kernel}"));
        Self { exercise, kernel, text }
    }

    fn with(number: usize, mistake: &Mistake) -> Self {
        let exercise = COURSE.exercise(mistake.exercise).unwrap();
        // The hints before the code may contain the same text.
        let (head, code) = exercise.solution.split_once("\n\n").unwrap();
        assert!(code.contains(mistake.instead_of), "{}: {}", mistake.exercise, mistake.instead_of);
        let text = format!("{head}\n\n{}", code.replacen(mistake.instead_of, mistake.written, 1));
        Self::new(&format!("wrong{number}"), exercise, &text)
    }

    fn verdict(&self) -> AnswerVerdict {
        check(self.exercise, &MODULE, &self.kernel).unwrap()
    }
}

fn does_not_compile(exercise: &Exercise) -> bool {
    exercise.task().contains("does not compile")
}

fn solved() -> impl Iterator<Item = Answer> {
    exercises().map(|exercise| Answer::new("solved", exercise, &exercise.solution))
}

fn unsolved() -> impl Iterator<Item = Answer> {
    let compiled = exercises().filter(|exercise| !does_not_compile(exercise));
    compiled.map(|exercise| Answer::new("unsolved", exercise, &exercise.text))
}

fn wrong() -> impl Iterator<Item = (&'static Mistake, Answer)> {
    MISTAKES.iter().enumerate().map(|(number, mistake)| (mistake, Answer::with(number, mistake)))
}

/// Returns the root of this repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
}

/// The kernels of all answers that compile.
static MODULE: LazyLock<Module> = LazyLock::new(|| {
    let folder = repository().join("target/learn/answers");
    fs::create_dir_all(folder.join("src")).unwrap();
    let answers = solved().chain(unsolved()).chain(wrong().map(|(_, answer)| answer));
    let files: Vec<(String, PathBuf)> = answers
        .map(|answer| {
            let path = folder.join("src").join(&answer.kernel).with_extension("rs");
            fs::write(&path, answer.text).unwrap();
            (answer.kernel, path)
        })
        .collect();
    let root = learn::library(files.iter().map(|(name, path)| (name.as_str(), path.as_path())));
    learn::build(repository(), &folder, &format!("#![allow(warnings)]\n{root}"))
        .unwrap()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// Returns a verdict in the words that a learner reads.
fn in_words(verdict: &AnswerVerdict) -> String {
    let reached: Vec<String> = verdict.reached.iter().map(ToString::to_string).collect();
    match &verdict.trouble {
        None => format!("right; {}", reached.join("; ")),
        Some(AnswerError::Compiler(text) | AnswerError::Signature(text)) => text.clone(),
        Some(AnswerError::Goal) => format!("goal; {}", reached.join("; ")),
        Some(AnswerError::Launch(launched)) => {
            format!("n = {:?}: {} {}", launched.size, launched.problems().join("\n"), launched.advice())
        }
    }
}

#[test]
fn solutions_are_right() {
    let verdicts = solved().map(|answer| (answer.exercise.name, answer.verdict()));
    let wrong: Vec<String> = verdicts
        .filter(|(_, verdict)| verdict.trouble.is_some())
        .map(|(name, verdict)| format!("{name}: {}", in_words(&verdict)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn exercises_are_unsolved() {
    let mut wrong = Vec::new();
    for answer in unsolved() {
        let verdict = answer.verdict();
        println!("{}: {}\n", answer.exercise.name, in_words(&verdict));
        match verdict.trouble {
            Some(AnswerError::Launch(_) | AnswerError::Goal) => {}
            _ => wrong.push(format!("{}: {}", answer.exercise.name, in_words(&verdict))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn compiler_errors_name_the_learners_line() {
    let folder = tempfile::tempdir().unwrap();
    let progress = Progress::read(folder.path()).unwrap();
    let mut count = 0;
    for exercise in exercises().filter(|exercise| does_not_compile(exercise)) {
        progress.begin(exercise).unwrap();
        let file = progress.file(exercise);
        let Err(AnswerError::Compiler(messages)) = compile(exercise, &file, repository()).unwrap() else {
            panic!("{} compiles without an error", exercise.name);
        };
        let name = file.display().to_string();
        let blanks = (1..).zip(exercise.text.lines()).filter(|(_, line)| line.contains("TODO"));
        let mut near = blanks.flat_map(|(line, _)| line + 1..line + 4);
        assert!(messages.starts_with("error"), "{messages}");
        assert!(near.any(|line| messages.contains(&format!("{name}:{line}:"))), "{messages}");
        assert!(!messages.contains("could not compile"), "{messages}");
        count += 1;
    }
    assert!(count > 1);
}

#[test]
fn verdicts_on_mistakes_help() {
    let mut wrong_words = Vec::new();
    for (mistake, answer) in wrong() {
        let verdict = answer.verdict();
        let words = in_words(&verdict);
        if verdict.trouble.is_none() || !words.contains(mistake.says) {
            wrong_words.push(format!("{}, {}: {words}", mistake.exercise, mistake.written));
        }
    }
    assert!(wrong_words.is_empty(), "{}", wrong_words.join("\n\n"));
    let tried: BTreeSet<&str> = MISTAKES.iter().map(|mistake| mistake.exercise).collect();
    let with_blanks = exercises().filter(|exercise| exercise.bug().is_none()).count();
    assert!(2 * tried.len() >= with_blanks, "only {} exercises have mistakes", tried.len());
}

#[test]
fn texts_are_complete() {
    let mut names = BTreeSet::new();
    for exercise in exercises() {
        let name = exercise.name;
        assert!(names.insert(name), "{name} exists twice");
        assert!(exercise.title().len() > 10 && exercise.task().lines().count() > 3, "{name} has no task");
        assert_eq!(
            exercise.text.contains("TODO"),
            exercise.bug().is_none(),
            "a TODO does not match the kind of {name}"
        );
        assert!(!exercise.solution.contains("TODO"), "the solution of {name} has a TODO");
        assert!(exercise.hints().len() > 1, "{name} has fewer than two hints: {:?}", exercise.hints());
        for goal in exercise.goals() {
            let known = simt::counters::METRICS.iter().any(|metric| metric.name == goal.counter);
            assert!(known || goal.counter == WARPS_PER_SM, "{name}: there is no counter {}", goal.counter);
            // The task and the verdict must use the same name and unit.
            let task = exercise.task();
            let line = format!("- goal: {}: {}", goal.what, goal.limit());
            assert!(task.contains(&line), "{name}: {line}\n{task}");
        }
        // The last hint may be the line to write. The other hints must only name the place and the idea.
        for hint in exercise.hints().iter().rev().skip(1).filter(|_| exercise.bug().is_none()) {
            assert!(!hint.contains(';') && !hint.contains("let "), "{name}: a middle hint contains code: {hint}");
        }
    }
    for topic in &COURSE.topics {
        let chapter = repository().join(CHAPTERS).join(topic.chapter).with_extension("md");
        assert!(chapter.is_file(), "{}: there is no chapter {}", topic.name, chapter.display());
    }
    for folder in ["exercises", "crates/ladder/learn/solutions"] {
        let files = fs::read_dir(repository().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
        let names: BTreeSet<String> =
            files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        let with_blanks = exercises().filter(|exercise| exercise.bug().is_none());
        assert_eq!(names, with_blanks.map(|exercise| exercise.name.to_owned()).collect(), "{folder}");
    }
}

#[test]
fn learner_files_are_preserved() {
    let folder = tempfile::tempdir().unwrap();
    let exercise = exercises().next().unwrap();
    let mut progress = Progress::read(folder.path().join("mine")).unwrap();
    assert_eq!(progress.state(exercise), State::New);
    assert!(progress.begin(exercise).unwrap());
    let file = progress.file(exercise);
    fs::write(&file, "my edits").unwrap();
    assert!(!progress.begin(exercise).unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), "my edits");

    progress.record(exercise, true).unwrap();
    assert_eq!(Progress::read(folder.path().join("mine")).unwrap().state(exercise), State::Solved);
    for text in ["my edits", "again"] {
        let kept = progress.reset(exercise).unwrap().unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), text);
        assert_eq!(fs::read_to_string(&file).unwrap(), exercise.text);
        assert_eq!(progress.state(exercise), State::Begun);
        fs::write(&file, "again").unwrap();
    }

    let record = folder.path().join("mine/.progress.json");
    fs::write(&record, "{").unwrap();
    let error = Progress::read(folder.path().join("mine")).unwrap_err().to_string();
    assert!(error.contains(record.to_str().unwrap()) && error.contains("remove it"), "{error}");
    assert!(progress.record(exercise, true).is_err());
    assert_eq!(fs::read_to_string(record).unwrap(), "{");
}
