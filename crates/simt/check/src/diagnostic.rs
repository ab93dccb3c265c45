//! Diagnostics: messages for people about findings, faults and refused PTX, in the form of rustc's messages.
//!
//! ```
//! use simt_check::diagnostic::{Diagnostic, Style};
//!
//! let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { mov.u33 %r1, 0; }";
//! let error = simt::Module::from_ptx(text).and_then(|module| module.function("k")).unwrap_err();
//! let drawn = Diagnostic::of_load_error(&error, "k.ptx").text(Style::default());
//! assert!(drawn.starts_with("error: ") && drawn.contains("--> k.ptx:4:"), "{drawn}");
//! ```

mod excerpt;
mod print_error;

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use crate::{Check, Finding};
use excerpt::{Excerpt, Spot, cut, shown};
pub use print_error::print_error;
use simt::demangled;
use simt::observe::Site;
use simt::run::{Fault, Frame, Position};
use simt::{Function, LoadError};

/// The appearance of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The maximum width in columns.
    pub width: usize,
    /// Whether to use ANSI colors.
    pub color: bool,
}

impl Default for Style {
    /// Returns 100 columns without colors.
    fn default() -> Self {
        Self { width: 100, color: false }
    }
}

impl Style {
    /// Returns a style as wide as the terminal, from 40 to 140 columns, or 100 columns without a terminal.
    #[must_use]
    pub fn of_terminal(color: bool) -> Self {
        let terminal = terminal_size::terminal_size().map(|(width, _)| width.0.into());
        Self { width: terminal.unwrap_or(Self::default().width).clamp(40, 140), color }
    }
}

/// A message for people: what is wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The check that found the error.
    check: Option<Check>,
    /// Whether the diagnostic is a warning instead of an error.
    is_warning: bool,
    title: String,
    /// The place of the error and its label.
    at: Option<(Spot, String)>,
    /// The place and label of the other access or thread.
    other: Option<(Spot, String)>,
    notes: Vec<String>,
    help: String,
}

impl Diagnostic {
    /// Returns one diagnostic for each pair of source lines and each kind of finding. Findings at several instructions
    /// that were compiled from the same lines share a diagnostic.
    pub fn of_findings<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        let mut findings: Vec<&Finding> = findings.into_iter().collect();
        // Put findings of `init` last: other findings often explain why a value was never written.
        findings.sort_by_key(|finding| (finding.check == Check::Init, finding.check));
        let mut groups: Vec<Vec<&Finding>> = Vec::new();
        for finding in findings {
            match groups.iter_mut().find(|group| is_alike(group[0], finding)) {
                Some(group) => group.push(finding),
                None => groups.push(vec![finding]),
            }
        }
        groups.iter().map(|group| Self::of_group(group)).collect()
    }

    /// Returns one diagnostic for a group of similar findings.
    fn of_group(group: &[&Finding]) -> Self {
        // The fix for the threads that are farthest apart also covers the other threads.
        let farthest = group.iter().rev().max_by_key(|finding| distance(finding));
        let finding = farthest.expect("a group has findings");
        let mut diagnostic = Self::of_finding(finding);
        let times: u64 = group.iter().map(|finding| finding.times).sum();
        if times > 1 {
            let instructions = match group.len() {
                1 => String::new(),
                several => {
                    format!(", by {several} {}instructions", if finding.other.is_some() { "pairs of " } else { "" })
                }
            };
            diagnostic.notes.push(format!("seen {times} times{instructions}"));
        }
        let mut kernels: Vec<&str> =
            group.iter().map(|finding| &*finding.kernel).filter(|kernel| *kernel != finding.kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        if !kernels.is_empty() {
            diagnostic.notes.push(format!("also in `{}`", kernels.join("`, `")));
        }
        diagnostic
    }

    fn of_finding(finding: &Finding) -> Self {
        let Finding { check, what, kernel, block, thread, address, place, help, other, .. } = finding;
        let same_block = other.as_ref().is_none_or(|other| other.block == *block);
        let who = |thread: [u32; 3], block: [u32; 3]| match same_block {
            true => format!("thread {}", position(thread)),
            false => format!("thread {} of block {}", position(thread), position(block)),
        };
        let says = |what: &str, who: String| match check {
            Check::Sync => format!("{who} {what}"),
            _ => format!("{what} by {who}"),
        };
        let spot = |source: &Option<(String, u32)>, column, ptx_line, ptx: &str| {
            let ptx = (ptx_line, ptx.to_owned());
            Spot { source: source.clone(), column, ptx, ptx_file: None }
        };
        let at = spot(&finding.source, finding.column, finding.ptx_line, &finding.ptx);
        let other = other.as_ref().map(|other| {
            let spot = spot(&other.source, other.column, other.ptx_line, &other.ptx);
            (spot, says(&other.what, who(other.thread, other.block)))
        });
        let mut note = format!("in kernel `{kernel}`");
        let label = match (&finding.action, place) {
            (Some(action), _) => says(action, who(*thread, *block)),
            (None, Some(place)) if other.is_none() => place.clone(),
            (None, _) => who(*thread, *block),
        };
        let is_in_label = |text: &String| *text == label;
        let _ = match (label.contains("thread "), same_block) {
            (true, false) => Ok(()),
            (true, true) => write!(note, ", block {}", position(*block)),
            (false, _) => write!(note, ", thread {} of block {}", position(*thread), position(*block)),
        };
        if let Some(address) = address {
            let _ = write!(note, ", address {address:#x}");
        }
        if let Some(place) = place.as_ref().filter(|place| !is_in_label(place)) {
            let _ = write!(note, ", {place}");
        }
        let mut notes = vec![note];
        notes.extend(library_note(&finding.library));
        Self {
            check: Some(*check),
            is_warning: false,
            title: what.clone(),
            at: Some((at, label)),
            other,
            notes,
            help: help.clone(),
        }
    }

    /// Returns the diagnostic of a fault.
    #[must_use]
    pub fn of_fault(fault: &Fault) -> Self {
        let check = Check::of(&fault.kind);
        let diagnostic = Self::of_finding(&Finding::of_fault(check.unwrap_or(Check::Memory), fault));
        let mut notes = diagnostic.notes;
        notes.extend(calls(&fault.frames));
        Self { check, notes, ..diagnostic }
    }

    /// Returns a diagnostic without a place.
    #[must_use]
    pub fn without_place(check: Option<Check>, title: String, notes: Vec<String>, help: String) -> Self {
        Self { check, is_warning: false, title, at: None, other: None, notes, help }
    }

    /// Returns a warning about an instruction of a kernel. `label` is shown at the instruction's source line.
    #[must_use]
    pub fn warning(function: &Function, site: Site, title: String, label: String, help: String) -> Self {
        let position = Position::of(function, site);
        let ptx = function.ptx().lines().nth(position.ptx_line as usize - 1).unwrap_or_default().trim();
        let spot = Spot {
            source: position.source,
            column: position.column,
            ptx: (position.ptx_line, ptx.to_owned()),
            ptx_file: None,
        };
        let notes = vec![format!("in kernel `{}`", demangled(function.name()))];
        Self { check: None, is_warning: true, title, at: Some((spot, label)), other: None, notes, help }
    }

    /// Returns the diagnostic of PTX that cannot be loaded. `file` is the path of the PTX.
    #[must_use]
    pub fn of_load_error(error: &LoadError, file: &str) -> Self {
        let of_text = |error: &ptx::ParseError| {
            let ptx_file = Some((file.to_owned(), error.column));
            (Spot { source: None, column: 0, ptx: (error.line, error.source_line.clone()), ptx_file }, String::new())
        };
        let none = Self {
            check: None,
            is_warning: false,
            title: error.to_string(),
            at: None,
            other: None,
            notes: Vec::new(),
            help: String::new(),
        };
        match error {
            LoadError::Parse(error) => Self { title: error.message.clone(), at: Some(of_text(error)), ..none },
            LoadError::Refused { entry, error, origin, is_valid } => {
                let mut notes = vec![format!("in kernel `{}`", demangled(entry))];
                let origin = origin.as_deref().cloned().map(|(source, column)| {
                    notes.push(format!("the instruction comes from {}:{}", shown(&source.0), source.1));
                    let spot = Spot { source: Some(source), column, ptx: (0, String::new()), ptx_file: None };
                    (spot, String::new())
                });
                let help = match is_valid {
                    true => "the simulator does not run this instruction: use another one, or run the kernel on a GPU",
                    false => "",
                };
                Self {
                    title: error.message.clone(),
                    at: Some(of_text(error)),
                    other: origin.filter(|(spot, _)| spot.is_readable()),
                    notes,
                    help: help.to_owned(),
                    ..none
                }
            }
            _ => none,
        }
    }

    /// Sets the file that the module's PTX was read from.
    #[must_use]
    pub fn in_ptx_file(mut self, file: &str) -> Self {
        for (spot, _) in [&mut self.at, &mut self.other].into_iter().flatten() {
            spot.ptx_file = Some((file.to_owned(), 0));
        }
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Returns the diagnostic as text that ends with a newline.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let with_labels = self.drawn(Style { color: false, ..style }, true);
        let is_too_wide = with_labels.lines().any(|line| line.chars().count() > style.width);
        match (is_too_wide, style.color) {
            (false, false) => with_labels,
            _ => self.drawn(style, !is_too_wide),
        }
    }

    /// Returns the diagnostic as text. If `with_labels` is false, the notes contain the text of the labels.
    fn drawn(&self, style: Style, with_labels: bool) -> String {
        let wrap = |text: &str, indent: usize| cut(text, style.width.saturating_sub(indent));
        let title = match self.check.map(Check::name) {
            _ if self.is_warning => Level::WARNING.primary_title(wrap(&self.title, "warning: ".len())),
            None => Level::ERROR.primary_title(wrap(&self.title, "error: ".len())),
            Some(id) => Level::ERROR.primary_title(wrap(&self.title, "error[]: ".len() + id.len())).id(id),
        };
        let (excerpts, mut notes) = self.excerpts(style.width, with_labels);
        notes.extend(self.notes.iter().cloned());
        let digits = excerpts.iter().map(|(excerpt, _)| excerpt.line.to_string().len()).max().unwrap_or(0);
        let indent = digits + " = note: ".len();
        let mut group = Group::with_title(title);
        for all in excerpts.chunk_by(|(one, _), (other, _)| one.is_in_text_of(other)) {
            group = group.element(element(all));
        }
        group = group.elements(notes.iter().map(|note| Level::NOTE.message(wrap(note, indent))));
        if !self.help.is_empty() {
            group = group.element(Level::HELP.message(wrap(&self.help, indent)));
        }
        // When the renderer cuts a line, it adds dots beyond this width.
        let width = style.width.saturating_sub(2 * "...".len());
        let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(width).render(&[group]) + "\n"
    }

    /// Returns the lines to show, and notes with the text of omitted labels.
    fn excerpts(&self, width: usize, with_labels: bool) -> (Vec<(Excerpt, AnnotationKind)>, Vec<String>) {
        let mut excerpts: Vec<(Excerpt, AnnotationKind)> = Vec::new();
        let mut notes = Vec::new();
        let parties = [(&self.at, AnnotationKind::Primary), (&self.other, AnnotationKind::Context)];
        for (party, kind) in parties {
            let Some((spot, label)) = party else { continue };
            let mut excerpt = spot.excerpt(width);
            match with_labels && excerpt.text.is_some() {
                true => excerpt.label.clone_from(label),
                false if label.is_empty() => {}
                false if self.other.is_some() => notes.push(format!("line {}: {label}", excerpt.line)),
                false => notes.push(label.clone()),
            }
            notes.extend(excerpt.note.take());
            match excerpts.iter_mut().find(|(known, _)| known.is_same_as(&excerpt)) {
                Some((known, _)) => known.label = both(&known.label, &excerpt.label),
                None => excerpts.push((excerpt, kind)),
            }
        }
        if let [(first, _), (second, _)] = &mut excerpts[..] {
            first.join(second);
        }
        (excerpts, notes)
    }
}

/// Converts excerpts of one text to an element of a message.
fn element(all: &[(Excerpt, AnnotationKind)]) -> Element<'_> {
    let first = &all[0].0;
    let Some(text) = &first.text else {
        let origin = Origin::path(&*first.path).line(first.line as usize);
        return match first.column {
            0 => origin.into(),
            column => origin.char_column(column).into(),
        };
    };
    let annotations = all.iter().map(|(excerpt, kind)| {
        let label = (!excerpt.label.is_empty()).then_some(excerpt.label.as_str());
        kind.span(excerpt.span.clone()).label(label)
    });
    let snippet = Snippet::source(&**text).path(&*first.path).line_start(first.first_line as usize);
    snippet.annotations(annotations).into()
}

/// Combines the labels of two parties at the same expression: `write of 4 bytes by thread 1 and thread 2`.
fn both(one: &str, other: &str) -> String {
    match (one.split_once(" by "), other.split_once(" by ")) {
        (Some((what, _)), Some((same, who))) if what == same => format!("{one} and {who}"),
        _ if one.is_empty() || other.is_empty() || one == other => if one.is_empty() { other } else { one }.to_owned(),
        _ => format!("{one}; {other}"),
    }
}

/// Joins the texts of diagnostics with empty lines between them.
#[must_use]
pub fn texts(diagnostics: &[Diagnostic], style: Style) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|diagnostic| diagnostic.text(style)).collect();
    texts.join("\n")
}

/// Returns whether two findings look the same to a reader.
fn is_alike(one: &Finding, other: &Finding) -> bool {
    let place = |source: &Option<(String, u32)>, ptx_line: u32| source.clone().unwrap_or((String::new(), ptx_line));
    let places = |finding: &Finding| {
        let other = finding.other.as_ref().map(|other| place(&other.source, other.ptx_line));
        let mut places = [Some(place(&finding.source, finding.ptx_line)), other];
        // The order of two racing accesses is arbitrary.
        if finding.check == Check::Race {
            places.sort();
        }
        places
    };
    // The kernels may differ, because one function is often compiled into several kernels.
    one.check == other.check
        && (one.kernel == other.kernel || one.source.is_some())
        && (one.check == Check::Race || one.what == other.what)
        && places(one) == places(other)
}

/// Returns how far apart two threads are: 0 in one warp, 1 in one block, 2 in different blocks.
fn distance(finding: &Finding) -> u8 {
    match &finding.other {
        Some(other) if other.block != finding.block => 2,
        _ if finding.what.contains("lane of the warp") => 0,
        _ => 1,
    }
}

/// Formats coordinates, as a single number if y and z are 0.
fn position([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0, 0) => x.to_string(),
        (_, 0) => format!("({x}, {y})"),
        _ => format!("({x}, {y}, {z})"),
    }
}

/// Returns a note with the library frames between the source line and the instruction, if there are any.
fn library_note(library: &[Frame]) -> Option<String> {
    const LISTED: usize = 4;
    let mut text = "in library code that this line calls:".to_owned();
    for frame in library.iter().take(LISTED) {
        let place = frame.place.as_ref().map(|(file, line)| (in_library(file).to_owned(), *line));
        let function = frame.function.as_deref().map(|name| match name.split_once("::") {
            Some((internal, name)) if internal.starts_with("_INTERNAL_") => name.to_owned(),
            _ => name.to_owned(),
        });
        let _ = write!(text, "\n  at {}", Frame { place, function, ..frame.clone() });
    }
    (!library.is_empty()).then_some(text)
}

/// Returns the path of a library's file relative to the folder that compilers search.
fn in_library(file: &str) -> &str {
    let ends = ["/include/", "/library/", "/registry/src/"].map(|root| Some(file.rfind(root)? + root.len()));
    ends.into_iter().flatten().max().map_or(file, |end| &file[end..])
}

/// Returns a note that lists the user's functions on the call stack of a faulting thread, if there are several.
fn calls(frames: &[Frame]) -> Option<String> {
    const LISTED: usize = 8;
    let user_frames: Vec<&Frame> = frames.iter().filter(|frame| !frame.library && frame.place.is_some()).collect();
    if user_frames.len() < 2 {
        return None;
    }
    let mut text = "call stack of the thread:".to_owned();
    let mut how = "at";
    for frame in user_frames.iter().take(LISTED) {
        let (file, line) = frame.place.clone().unwrap_or_default();
        let function = frame.function.as_ref().map_or(String::new(), |name| format!(" in `{name}`"));
        let _ = write!(text, "\n  {how} {}:{line}{function}", shown(&file));
        how = if frame.inlined { "inlined at" } else { "called at" };
    }
    Some(text)
}
