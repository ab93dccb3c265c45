//! JSON with a line for each comparison: indented down to them, and each on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// The depth at which lines are not broken any more: that of a metric's numbers.
const FLAT: usize = 7;

/// The text, with a newline at its end.
pub(super) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(
            &mut bytes,
            Lines::default(),
        ))
        .expect("keys are strings and a vector takes all that is written");
    let text = String::from_utf8(bytes).expect("JSON of strings is a string");
    text + "\n"
}

#[derive(Default)]
struct Lines {
    depth: usize,
    /// Whether the innermost array or object has nothing in it so far.
    is_empty: bool,
}

impl Lines {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        let is_broken = self.depth < FLAT && !self.is_empty;
        self.depth -= 1;
        self.is_empty = false;
        if is_broken {
            self.line(writer)?;
        }
        writer.write_all(bracket)
    }

    /// What stands in front of a value of an array, or a key of an object.
    fn next<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.is_empty = false;
        let is_broken = self.depth < FLAT;
        match (first, is_broken) {
            (true, _) => {}
            (false, true) => writer.write_all(b",")?,
            (false, false) => writer.write_all(b", ")?,
        }
        if is_broken {
            self.line(writer)?;
        }
        Ok(())
    }

    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
