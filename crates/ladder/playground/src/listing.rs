//! The listing of a kernel: its PTX and its source, with the lines that belong to each instruction.

use std::collections::{BTreeMap, HashMap};

use ptx::ast::{self, Operand, Statement};
use serde::Serialize;
use simt::code::{Func, Reg};
use simt::observe::Site;
use simt::run::Position;

use crate::SOURCES;
use crate::run::Run;
use crate::trace::Trace;

/// The texts of a kernel, as the page shows them.
#[derive(Serialize)]
pub(crate) struct Listing {
    ptx: String,
    files: Vec<File>,
    /// The index of the kernel's file in `files`, and the line where the kernel starts.
    kernel: Option<(usize, u32)>,
    functions: Vec<Function>,
}

/// A source file.
#[derive(Serialize)]
struct File {
    name: String,
    /// The text, if it is known.
    text: Option<&'static str>,
}

#[derive(Serialize)]
struct Function {
    name: String,
    code: Vec<Instruction>,
    registers: Vec<Register>,
}

/// An instruction.
#[derive(Serialize)]
struct Instruction {
    /// The line of the PTX, starting at 1.
    ptx: u32,
    /// The index of the source file in [`Listing::files`], and the line in that file.
    source: Option<(usize, u32)>,
    /// The number of executions by warps and by threads, or `None` if the launch failed.
    executed: Option<(u64, u64)>,
}

/// A register that the PTX names.
#[derive(Serialize)]
struct Register {
    name: String,
    bits: u32,
    /// The letter of the most specific type that instructions use for the register: `f`, `s`, `u` or `b`.
    kind: char,
}

impl Listing {
    pub(crate) fn of(run: &Run) -> Self {
        let mut files: Vec<File> = Vec::new();
        let mut known = HashMap::new();
        let mut file = |path: String| {
            *known.entry(path).or_insert_with_key(|path| {
                files.push(File::of(path));
                files.len() - 1
            })
        };
        let text = ptx::parse(&run.ptx).unwrap_or_default();
        let entry =
            text.functions.iter().find(|function| function.name == run.function.name() && function.body.is_some());
        let kernel = entry.and_then(|entry| {
            let begin = entry.statements().find_map(|statement| match statement {
                Statement::Loc(loc) => Some(loc.place()),
                _ => None,
            })?;
            Some((file(text.path_of(&begin)?.to_owned()), begin.line))
        });
        let functions = run.function.program().functions.iter().enumerate();
        let functions = functions.map(|(number, function)| {
            let sites: Vec<Site> =
                (0..function.code.len() as u32).map(|pc| Site { function: number as u32, pc }).collect();
            let positions = Position::of_all(&run.function, &sites);
            let code = sites.into_iter().zip(positions).map(|(site, Position { ptx_line, source, .. })| Instruction {
                ptx: ptx_line,
                source: source.map(|(path, line)| (file(path), line)),
                executed: run.counters.as_ref().and_then(|counters| counters.executed_at(site)),
            });
            let code = code.collect();
            let in_text = text.functions.iter().find(|text| text.name == function.name && text.body.is_some());
            let kinds = in_text.map(kinds);
            let registers = named(function).map(|(name, reg)| Register {
                bits: match reg {
                    Reg::R32(_) => 32,
                    Reg::R64(_) => 64,
                    Reg::Pred(_) => 1,
                },
                kind: kinds.as_ref().and_then(|kinds| kinds.get(name.as_str())).copied().unwrap_or('b'),
                name,
            });
            Function { name: simt::demangled(&function.name), code, registers: registers.collect() }
        });
        let functions = functions.collect();
        Self { ptx: run.ptx.clone(), files, kernel, functions }
    }

    /// Returns the step that the page initially shows: the first step of warp 0 that belongs to a statement in the
    /// kernel's file. Loads of parameters are skipped, because compilers assign them the line where the kernel starts.
    pub(crate) fn first_shown_step(&self, trace: &Trace) -> usize {
        let lines: Vec<&str> = self.ptx.lines().collect();
        let is_statement = |site: Site| {
            let Instruction { ptx, source, .. } = self.functions[site.function as usize].code[site.pc as usize];
            let text = lines.get(ptx as usize - 1).map_or("", |text| text.trim_start());
            let is_prologue = text.starts_with("ld.param") || text.starts_with("cvta");
            let is_in_body =
                |((file, line), (kernel_file, begin))| file == kernel_file && (line != begin || !is_prologue);
            source.zip(self.kernel).is_some_and(is_in_body)
        };
        trace.steps.iter().position(|step| step.warp == 0 && is_statement(step.site)).unwrap_or(0)
    }
}

/// Returns the registers that the text of a function names.
pub(crate) fn named(function: &Func) -> impl Iterator<Item = (String, Reg)> {
    function.register_names.iter().flat_map(|names| {
        let numbers = 0..names.count.unwrap_or(1);
        numbers.filter_map(move |number| {
            let name = match names.count {
                Some(_) => format!("{}{number}", names.name),
                None => names.name.clone(),
            };
            let reg = names.find(&name)?;
            Some((name, reg))
        })
    })
}

impl File {
    fn of(path: &str) -> Self {
        // The paths in `SOURCES` are relative to the repository's root.
        let found = SOURCES.iter().find(|(name, _)| path.ends_with(name));
        match found {
            Some((name, text)) => Self { name: (*name).to_owned(), text: Some(text) },
            None => Self { name: path.to_owned(), text: None },
        }
    }
}

/// Returns, for each register, the letter of the most specific type that a function's instructions use for the
/// register.
pub(crate) fn kinds<'a>(function: &ast::Function<'a>) -> BTreeMap<&'a str, char> {
    let mut kinds = BTreeMap::new();
    for instruction in function.instructions() {
        // The type of `add.rn.f32` is `f32`. In a conversion, the result's type comes first.
        let types: Vec<char> = instruction.opcode.split('.').filter_map(type_of).collect();
        let (first, last) = (types.first(), types.last());
        for (place, operand) in instruction.operands.iter().enumerate() {
            let is_result = place == 0 && instruction.opcode.starts_with("cvt");
            if let Some(kind) = if is_result { first } else { last } {
                vote(operand, *kind, &mut kinds);
            }
        }
    }
    kinds
}

fn type_of(word: &str) -> Option<char> {
    let (letter, bits) = word.split_at_checked(1)?;
    let is_size = matches!(bits, "8" | "16" | "32" | "64");
    letter.chars().next().filter(|letter| is_size && "fsub".contains(*letter))
}

/// Keeps the more specific of two types of a register.
fn vote<'a>(operand: &Operand<'a>, kind: char, kinds: &mut BTreeMap<&'a str, char>) {
    match operand {
        Operand::Name(name) if name.starts_with('%') => {
            let rank = |kind: char| "busf".find(kind);
            let known = kinds.entry(name).or_insert('b');
            if rank(kind) > rank(*known) {
                *known = kind;
            }
        }
        Operand::Vector(all) => all.iter().for_each(|operand| vote(operand, kind, kinds)),
        _ => {}
    }
}
