//! Reading PTX: a module's header, files and functions, and each function's instructions with the source
//! line they come from.
//!
//! This reader serves tools that show PTX. It knows the grammar of statements (PTX ISA, "Syntax" and
//! "Directives") and not the meaning of instructions, so that a newer instruction needs no change here. Any
//! text gives a [`Module`] or a [`ParseError`] with a line number.

mod lex;
mod parse;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

pub use lex::{Kind, Token, tokens};

/// A whole PTX file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The text it was read from.
    pub text: String,
    /// `.version`: PTX ISA version, major and minor.
    pub version: Option<(u32, u32)>,
    /// `.target`: the architecture (`sm_75`) and what may follow it (`debug`, `texmode_unified`).
    pub target: Vec<String>,
    /// `.file`: source files by the number that `.loc` uses.
    pub files: BTreeMap<u32, String>,
    /// Variables declared outside any function.
    pub variables: Vec<Variable>,
    /// Functions and entries, in the file's order; declarations without a body are left out.
    pub functions: Vec<Function>,
}

/// Why a text is not PTX that this reader understands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// A variable in some state space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `shared`, `global`, `const`, `local` or `param`.
    pub space: String,
    /// Its name.
    pub name: String,
    /// The line it is declared on, from 1.
    pub line: usize,
}

/// A `.entry` or a `.func` with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is a kernel (`.entry`) and not a function that kernels call (`.func`).
    pub entry: bool,
    /// Names of its parameters, in order.
    pub parameters: Vec<String>,
    /// Performance directives between parameters and body (`.maxntid 128, 1, 1`), one string each.
    pub directives: Vec<String>,
    /// Variables declared in its body.
    pub variables: Vec<Variable>,
    /// Instructions and labels, in order.
    pub body: Vec<Statement>,
    /// Every source location that `.loc` names, in order; [`Instruction::location`] points into it.
    pub locations: Vec<Location>,
    /// The lines it takes in [`Module::text`], from its linkage directive to its closing brace.
    pub lines: RangeInclusive<usize>,
}

/// One thing in a function's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A label.
    Label {
        /// Its name.
        name: String,
        /// Its line, from 1.
        line: usize,
    },
    /// An instruction.
    Instruction(Instruction),
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// The guard, as written: `@%p1` or `@!%p1`.
    pub guard: Option<String>,
    /// The operation with its modifiers: `ld.global.v4.b32`.
    pub opcode: String,
    /// The operands as written, split at the commas outside brackets.
    pub operands: Vec<String>,
    /// The line it starts on, from 1.
    pub line: usize,
    /// The `.loc` that covers it: an index into [`Function::locations`].
    pub location: Option<usize>,
}

/// A place in the source, and the calls through which it was inlined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Where the instruction comes from.
    pub place: Place,
    /// The calls it was inlined through, the innermost first. LLVM writes the chain in a comment, and with
    /// PTX ISA 7.2 or newer its first step also in the directive; nvcc writes the directive alone.
    pub inlined_at: Vec<Place>,
    /// The line of the `.loc` itself, from 1.
    pub directive_line: usize,
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: FileName,
    /// Its line, from 1; 0 where the compiler knew none.
    pub line: u32,
    /// Its column, from 1; 0 where the compiler knew none.
    pub column: u32,
}

/// How a place names its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileName {
    /// By its number in [`Module::files`].
    Number(u32),
    /// By a path that may be shortened: the end of the file's full path.
    Path(String),
}

impl Module {
    /// Reads a PTX file's text.
    ///
    /// # Errors
    /// The first line that breaks the grammar, and how.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::module(text)
    }

    /// The kernels, in the file's order.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.entry)
    }

    /// The function or entry of this name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The path of a place's file as the module has it; `None` for a number without a `.file`.
    #[must_use]
    pub fn path_of<'m>(&'m self, place: &'m Place) -> Option<&'m str> {
        match &place.file {
            FileName::Number(number) => self.files.get(number).map(String::as_str),
            FileName::Path(path) => Some(
                self.files
                    .values()
                    .find(|file| std::path::Path::new(file).ends_with(path))
                    .map_or(path, |file| file.as_str()),
            ),
        }
    }
}

impl Function {
    /// Its instructions, in order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.body.iter().filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            Statement::Label { .. } => None,
        })
    }

    /// Whether some instruction names this label, to branch to it or to list it as a target.
    #[must_use]
    pub fn uses_label(&self, label: &str) -> bool {
        self.instructions()
            .any(|instruction| instruction.operands.iter().any(|operand| operand == label))
    }

    /// The branches that go back to a label at or before them: one for each loop, or more.
    pub fn backward_branches(&self) -> impl Iterator<Item = &Instruction> {
        let mut behind = Vec::new();
        self.body
            .iter()
            .filter_map(move |statement| match statement {
                Statement::Label { name, .. } => {
                    behind.push(name.as_str());
                    None
                }
                Statement::Instruction(instruction) => {
                    let goes_back = instruction.operation() == "bra"
                        && instruction
                            .operands
                            .first()
                            .is_some_and(|target| behind.contains(&target.as_str()));
                    goes_back.then_some(instruction)
                }
            })
    }
}

/// State spaces as an instruction's modifiers name them.
const SPACES: [&str; 6] = ["global", "shared", "local", "const", "param", "tex"];

impl Instruction {
    /// The operation without its modifiers: `ld` of `ld.global.v4.b32`.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.opcode.split('.').next().unwrap_or(&self.opcode)
    }

    /// The modifiers, in order: `global`, `v4`, `b32`.
    pub fn modifiers(&self) -> impl Iterator<Item = &str> {
        self.opcode.split('.').skip(1)
    }

    /// Whether it reads or writes memory through an address: `ld`, `st`, `ldu`, `atom` or `red`.
    #[must_use]
    pub fn is_memory(&self) -> bool {
        matches!(self.operation(), "ld" | "ldu" | "st" | "atom" | "red")
    }

    /// The state space a memory instruction names; `None` where it names none, which makes it generic.
    /// A space's sub-qualifier (`shared::cta`, `param::entry`) is left out.
    #[must_use]
    pub fn space(&self) -> Option<&str> {
        self.modifiers()
            .map(|modifier| modifier.split("::").next().unwrap_or(modifier))
            .find(|modifier| SPACES.contains(modifier))
    }

    /// Whether it is a memory instruction with a generic address, which the hardware has to resolve.
    #[must_use]
    pub fn is_generic(&self) -> bool {
        self.is_memory() && self.space().is_none()
    }

    /// How many elements it moves at once (1, 2, 4 or 8), and how many bits each has. Without a type that
    /// has a width (a matrix fragment, say), `None`.
    #[must_use]
    pub fn access(&self) -> Option<(u32, u32)> {
        let mut elements = 1;
        let mut bits = None;
        for modifier in self.modifiers() {
            if let Some(count) = modifier
                .strip_prefix('v')
                .and_then(|digits| digits.parse().ok())
            {
                elements = count;
            } else if let Some(width) = type_bits(modifier) {
                bits = Some(width);
            }
        }
        bits.map(|bits| (elements, bits))
    }
}

/// The width of a type's modifier: 32 for `f32`, 64 for `b64`, 32 for the packed pair `f16x2`.
fn type_bits(modifier: &str) -> Option<u32> {
    let digits = modifier
        .strip_prefix("bf")
        .or_else(|| modifier.strip_prefix(['b', 'u', 's', 'f']))?;
    let (bits, count) = digits.split_once('x').unwrap_or((digits, "1"));
    let (bits, count) = (bits.parse::<u32>().ok()?, count.parse::<u32>().ok()?);
    bits.checked_mul(count)
}
