//! Finds the line of Rust code that an LLVM IR construct comes from.

use std::fmt;

use super::ir::{Mention, define, mentions};

/// Libraries whose source lines do not help the libraries' callers.
const LIBRARIES: [&str; 2] = ["/rustlib/src/rust/library/", "/cuda_std/src/"];

/// A file and a line in the file. The place is unknown if the IR has no debug information.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place(Option<Box<(String, u32)>>);

/// Prints the end of a message in rustc's format, or nothing if the place is unknown.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(place) => {
                let (file, line) = &**place;
                write!(f, "\n  --> {file}:{line}")
            }
            None => Ok(()),
        }
    }
}

impl Place {
    /// Creates the place of a line in a file.
    pub fn new(file: impl Into<String>, line: u32) -> Self {
        Self(Some(Box::new((file.into(), line))))
    }

    /// Returns where an instruction comes from, or a function's first line.
    ///
    /// For inlined calls, this is the innermost place that is not in a library.
    pub fn of(ir: &str, line: &str) -> Self {
        let Some(mut number) = number(line, "!dbg !") else {
            return Self::default();
        };
        loop {
            let Some(node) = node(ir, number) else {
                return Self::default();
            };
            let place = Self::of_node(ir, node);
            match self::number(node, "inlinedAt: !") {
                Some(call) if place.is_in_library() => number = call,
                _ => return place,
            }
        }
    }

    /// Returns the first use of a function or a variable.
    pub fn of_use(ir: &str, name: &str) -> Self {
        let is_use = |line: &&str| line.starts_with(' ') && uses(line, name);
        let mut places = ir.lines().filter(is_use).map(|line| Self::of(ir, line));
        places.find(|place| *place != Self::default()).unwrap_or_default()
    }

    /// Returns the first use of a function in another function.
    pub fn of_use_in(ir: &str, function: &str, name: &str) -> Self {
        let mut lines = ir.lines().skip_while(|line| define(line).is_none_or(|define| define.name != function));
        let line = lines.by_ref().take_while(|line| *line != "}").find(|line| uses(line, name));
        line.map_or_else(Self::default, |line| Self::of(ir, line))
    }

    /// Returns the place where a function starts.
    pub fn of_function(ir: &str, name: &str) -> Self {
        let is_definition = |line: &&str| define(line).is_some_and(|define| define.name == name);
        ir.lines().find(is_definition).map_or_else(Self::default, |line| Self::of(ir, line))
    }

    /// Returns this place, or another place if this one is unknown.
    pub fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self.0.is_some() { self } else { other() }
    }

    /// Returns whether the place is in a library, so that it does not help the library's callers.
    pub(crate) fn is_in_library(&self) -> bool {
        self.0.as_ref().is_none_or(|place| LIBRARIES.iter().any(|library| place.0.contains(library)))
    }

    /// Reads `!DILocation(line: 5, scope: !3)` or `!DISubprogram(file: !1, line: 5)`.
    fn of_node(ir: &str, node_text: &str) -> Self {
        let place = || {
            let scope = match number(node_text, "file: !") {
                Some(_) => node_text,
                None => node(ir, number(node_text, "scope: !")?)?,
            };
            let file = node(ir, number(scope, "file: !")?)?;
            let text = |key: &str| -> Option<String> {
                let (_, rest) = file.split_once(key)?;
                Some(unescaped(rest.split('"').next()?))
            };
            let (name, folder) = (text("filename: \"")?, text("directory: \"").unwrap_or_default());
            let path = std::path::Path::new(&folder).join(name);
            Some(Self::new(path.to_string_lossy(), number(node_text, "line: ")?))
        };
        place().unwrap_or_default()
    }
}

fn uses(line: &str, name: &str) -> bool {
    line.contains(name) && mentions(line).any(|(_, mention)| matches!(mention, Mention::Symbol(it) if it == name))
}

/// Returns the number that follows a key.
fn number(text: &str, key: &str) -> Option<u32> {
    let (_, rest) = text.split_once(key)?;
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

fn node(ir: &str, number: u32) -> Option<&str> {
    let start = format!("\n!{number} = ");
    let at = ir.find(&start)? + start.len();
    ir[at..].lines().next()
}

/// Decodes a string in LLVM's notation: `caf\C3\A9`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'\\').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "@T = global i32 0\n\
        define void @f(ptr %p) #0 !dbg !5 {\n  store ptr @T, ptr %p, !dbg !9\n  ret void\n}\n\
        !1 = !DIFile(filename: \"src/lib.rs\", directory: \"/gr\\C3\\B6\\C3\\9Fe\", checksumkind: CSK_MD5)\n\
        !2 = !DIFile(filename: \"/x/rustlib/src/rust/library/core/src/ptr/mod.rs\", directory: \"/\")\n\
        !5 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 3, scopeLine: 3)\n\
        !6 = distinct !DISubprogram(name: \"write\", scope: !2, file: !2, line: 1900)\n\
        !9 = !DILocation(line: 1910, column: 5, scope: !6, inlinedAt: !10)\n\
        !10 = distinct !DILocation(line: 4, column: 9, scope: !5)\n";

    #[test]
    fn a_library_line_is_replaced_by_its_callers_line() {
        let line = IR.lines().nth(2).expect("the store");
        let expected = Place::new("/größe/src/lib.rs", 4);
        assert_eq!(Place::of(IR, line), expected);
        assert_eq!(Place::of_use(IR, "T"), expected);
        assert_eq!(expected.to_string(), "\n  --> /größe/src/lib.rs:4");
        assert_eq!(Place::of_function(IR, "f"), Place::new("/größe/src/lib.rs", 3));
    }

    #[test]
    fn without_debug_information_there_is_no_place() {
        assert_eq!(Place::of(IR, "  ret void"), Place::default());
        assert_eq!(Place::of(IR, "  ret void, !dbg !77"), Place::default());
        assert_eq!(Place::of_use(IR, "U").to_string(), "");
    }
}
