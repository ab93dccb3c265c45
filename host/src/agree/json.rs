//! JSON with a line for each comparison: indented down to them, and each on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The depth at which lines are not broken any more: that of a metric's numbers.
const FLAT: usize = 7;

/// The text, with a newline at its end.
pub(super) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let lines = Lines {
        pretty: PrettyFormatter::new(),
        depth: 0,
    };
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, lines))
        .expect("keys are strings and a vector takes all that is written");
    let text = String::from_utf8(bytes).expect("JSON of strings is a string");
    text + "\n"
}

struct Lines {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl Lines {
    fn is_flat(&self) -> bool {
        self.depth >= FLAT
    }
}

fn comma<W: ?Sized + Write>(writer: &mut W, first: bool) -> io::Result<()> {
    writer.write_all(if first { b"" } else { b", " })
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_flat() {
            true => writer.write_all(b"["),
            false => self.pretty.begin_array(writer),
        }
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let flat = self.is_flat();
        self.depth -= 1;
        match flat {
            true => writer.write_all(b"]"),
            false => self.pretty.end_array(writer),
        }
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_flat() {
            true => comma(writer, first),
            false => self.pretty.begin_array_value(writer, first),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_flat() {
            true => Ok(()),
            false => self.pretty.end_array_value(writer),
        }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        match self.is_flat() {
            true => writer.write_all(b"{"),
            false => self.pretty.begin_object(writer),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let flat = self.is_flat();
        self.depth -= 1;
        match flat {
            true => writer.write_all(b"}"),
            false => self.pretty.end_object(writer),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        match self.is_flat() {
            true => comma(writer, first),
            false => self.pretty.begin_object_key(writer, first),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        match self.is_flat() {
            true => Ok(()),
            false => self.pretty.end_object_value(writer),
        }
    }
}
