//! Runs of pasted PTX.

use ptx::ast::{self, Operand};
use ptx::{Declared, Role};
use serde::Serialize;
use simt::{Arg, Buffer, Function, LaunchError, Module, Simulator};

use crate::listing::kinds;
use crate::request::{Argument, Pasted};
use crate::run::{self, BufferView, Checked, Problem, Run};

/// The most elements of a buffer: filling them takes a browser a moment.
const MOST_ELEMENTS: u64 = 1 << 22;

/// A kernel of a text.
#[derive(Serialize)]
pub(crate) struct Kernel {
    name: String,
    /// Its name as the text has it.
    entry: String,
    parameters: Vec<Parameter>,
    /// Why it cannot be run.
    problem: Option<Problem>,
    /// The block that it asks for, and the most threads that it takes.
    required_block: Option<[u32; 3]>,
    max_threads: Option<u32>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    /// Its PTX type: `u64`, `f32`, `b8` for a structure.
    #[serde(rename = "type")]
    kind: String,
    bytes: u32,
    /// The type of the elements of the buffer that the parameter is the address of; `None` for a number.
    buffer: Option<String>,
}

/// The type of the elements that a parameter points to, if the source says it.
pub(crate) fn element(declared: &Declared) -> Option<String> {
    let (Role::Slice(ty) | Role::Pointer(ty)) = &declared.role else { return None };
    let (is_float, bytes) = ty.number?;
    let letter = match ty.name.trim_start_matches('[').starts_with('i') {
        _ if is_float => 'f',
        true => 's',
        false => 'u',
    };
    Some(format!("{letter}{}", bytes * 8))
}

/// Whether a kernel has floats in all words of 32 bits that it moves from and to global memory.
fn moves_floats(function: &ast::Function<'_>) -> bool {
    let kinds = kinds(function);
    let moves = function.instructions().filter(|own| own.opcode.contains(".global") && own.opcode.ends_with("32"));
    let mut words = moves.flat_map(|own| own.operands.iter().filter_map(Operand::name)).peekable();
    words.peek().is_some() && words.all(|name| kinds.get(name) == Some(&'f'))
}

/// The kernels of a text.
pub(crate) fn kernels(ptx: &str) -> Result<Vec<Kernel>, Problem> {
    let module = Module::from_ptx(ptx)?;
    let text = ptx::parse(ptx).unwrap_or_default();
    let marks_pointers = text.functions.iter().flat_map(|own| &own.params).any(|own| own.is_pointer);
    let kernel = |entry: &str| {
        let in_text = text.functions.iter().find(|own| own.name == entry && own.body.is_some());
        let usual = if in_text.is_some_and(moves_floats) { "f32" } else { "u32" };
        let function = module.function(entry);
        let program = function.as_ref().ok().map(Function::program);
        let parameters = program.map_or_else(Vec::new, |program| {
            let own = program.params.iter().enumerate();
            own.map(|(index, own)| {
                let is_marked = in_text.and_then(|text| text.params.get(index)).is_some_and(|own| own.is_pointer);
                let is_buffer = own.bytes == 8 && (is_marked || !marks_pointers);
                let element = || own.declared.as_ref().and_then(element).unwrap_or_else(|| usual.to_owned());
                let buffer = is_buffer.then(element);
                Parameter { name: own.name.clone(), kind: own.ty.clone(), bytes: own.bytes, buffer }
            })
            .collect()
        });
        Kernel {
            name: simt::demangled(entry),
            entry: entry.to_owned(),
            parameters,
            required_block: program.and_then(|program| program.required_block),
            max_threads: program.and_then(|program| program.max_threads),
            problem: function.err().map(Problem::from),
        }
    };
    let all: Vec<Kernel> = module.kernels().map(kernel).collect();
    match all.is_empty() {
        true => Err(Problem::new("the text has no kernel: no `.entry`")),
        false => Ok(all),
    }
}

/// Everything for a launch.
struct Prepared {
    simulator: Simulator,
    function: Function,
    arguments: Vec<Arg>,
    buffers: Vec<(usize, Buffer<u8>)>,
}

fn prepare(asked: &Pasted) -> Result<Prepared, Problem> {
    let module = Module::from_ptx(&*asked.ptx)?;
    let first = module.kernels().next().ok_or_else(|| Problem::new("the text has no kernel: no `.entry`"))?;
    let name = if asked.kernel.is_empty() { first } else { &asked.kernel };
    let function = module.function(name)?;
    let blocks = asked.grid.iter().fold(1_u64, |all, side| all.saturating_mul((*side).into()));
    if asked.record >= blocks.max(1) {
        return Err(Problem::new(format!("there is no block {} to record: the grid has {blocks}", asked.record)));
    }
    let (given, wanted) = (asked.arguments.len(), function.program().params.len());
    if given != wanted {
        return Err(Problem::new(format!("the kernel has {wanted} parameters, and {given} arguments are given")));
    }
    let mut simulator = run::simulator()?;
    let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
    for (index, (own, parameter)) in asked.arguments.iter().zip(&function.program().params).enumerate() {
        let wrong = |why: String| Problem::new(format!("argument {index} (`{}`): {why}", parameter.name));
        let Some(elements) = own.buffer else {
            let bytes = number(&own.kind, &own.value).map_err(wrong)?;
            arguments.push(Arg::Bytes(bytes));
            continue;
        };
        let bytes = own.size().map_err(wrong)?;
        let room = run::MOST_MEMORY - simulator.memory().used().min(run::MOST_MEMORY);
        let most = (room / bytes).min(MOST_ELEMENTS);
        if elements > most {
            let why = format!("a buffer of {elements} elements of {bytes} bytes does not fit here; {most} do");
            return Err(wrong(why));
        }
        let failed = |error: simt::MemoryError| wrong(error.to_string());
        let buffer = match own.value.trim() {
            "unset" => simulator.uninitialized::<u8>((elements * bytes) as usize).map_err(failed)?,
            _ => simulator.upload(&own.filled(elements).map_err(wrong)?).map_err(failed)?,
        };
        arguments.push(buffer.into());
        buffers.push((index, buffer));
    }
    Ok(Prepared { simulator, function, arguments, buffers })
}

fn launch<'a>(asked: &Pasted, function: &'a Function, arguments: &'a [Arg]) -> simt::Launch<'a> {
    simt::Launch::new(function, asked.grid, asked.block, arguments).with_shared_bytes(asked.shared)
}

/// Runs a kernel, and records one of its blocks.
pub(crate) fn run(asked: &Pasted) -> Result<Run, Problem> {
    let Prepared { mut simulator, function, arguments, buffers } = prepare(asked)?;
    let first = |simulator: &Simulator, buffer: &Buffer<u8>| run::first_bytes(simulator, buffer.address());
    let before: Vec<String> = buffers.iter().map(|(_, buffer)| first(&simulator, buffer)).collect();
    let recorded = run::record(&mut simulator, &launch(asked, &function, &arguments), asked.record);
    let (counters, error) = match recorded.counters {
        Ok(counters) => (Some(counters), None),
        Err(error @ LaunchError::Fault(_)) => (None, Some(error)),
        // Nothing was run.
        Err(refused) => return Err(Problem::new(refused.to_string())),
    };
    let shown = buffers.iter().zip(before).map(|((index, buffer), before)| BufferView {
        name: format!("argument {index}"),
        kind: Some(asked.arguments[*index].kind.clone()),
        address: buffer.address(),
        bytes: buffer.len() as u64,
        before,
        after: first(&simulator, buffer),
    });
    let sides = |sides: [u32; 3]| engine::dims(sides);
    Ok(Run {
        title: "pasted PTX".to_owned(),
        launch: format!(
            "{}<<<{}, {}, {}>>>",
            simt::demangled(function.name()),
            sides(asked.grid),
            sides(asked.block),
            asked.shared
        ),
        grid: asked.grid,
        block: asked.block,
        dynamic_shared: asked.shared,
        arguments: asked.arguments.clone(),
        ptx: asked.ptx.clone(),
        counters,
        error,
        trace: recorded.trace,
        buffers: shown.collect(),
        verdict: None,
        printed: recorded.printed,
        function,
    })
}

/// Runs a kernel with all checks.
pub(crate) fn check(asked: &Pasted) -> Result<Checked, Problem> {
    let Prepared { mut simulator, function, arguments, .. } = prepare(asked)?;
    let (checked, result) = run::check(&mut simulator, &launch(asked, &function, &arguments));
    match result {
        Err(error) if !matches!(error, LaunchError::Fault(_)) => Err(Problem::new(error.to_string())),
        _ => Ok(checked),
    }
}

impl Argument {
    /// The bytes of an element.
    fn size(&self) -> Result<u64, String> {
        let size = match self.kind.get(1..) {
            Some("8") => 1,
            Some("16") => 2,
            Some("32") => 4,
            Some("64") => 8,
            _ => 0,
        };
        match (size, self.kind.chars().next()) {
            (1.., Some('u' | 's' | 'b')) | (4 | 8, Some('f')) => Ok(size),
            _ => Err(format!("`{}` is no type here; there are u, s and b of 8 to 64 bits, f32 and f64", self.kind)),
        }
    }

    /// The bytes of a buffer.
    fn filled(&self, elements: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::with_capacity((elements * self.size()?) as usize);
        let mut push = |text: &str| number(&self.kind, text).map(|own| bytes.extend(own));
        let is_float = self.kind.starts_with('f');
        match self.value.trim() {
            "zeros" | "" => (0..elements).try_for_each(|_| push("0"))?,
            "ones" => (0..elements).try_for_each(|_| push("1"))?,
            "index" => (0..elements).try_for_each(|index| push(&index.to_string()))?,
            "random" => (0..elements).try_for_each(|index| {
                let value = host::data::element(index as u32);
                match is_float {
                    true => push(&(f64::from(value >> 16) / 32768.0).to_string()),
                    false => push(&(value.cast_unsigned() % 100).to_string()),
                }
            })?,
            list => {
                let all: Vec<&str> = list.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty()).collect();
                if all.len() as u64 > elements {
                    return Err(format!("{} numbers for {elements} elements", all.len()));
                }
                all.iter().try_for_each(|word| push(word))?;
                (all.len() as u64..elements).try_for_each(|_| push("0"))?;
            }
        }
        Ok(bytes)
    }
}

/// The bytes of a number of a PTX type.
fn number(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim().replace('_', "");
    let wrong = || format!("`{text}` is no number of type {kind}");
    if let Some(digits) = text.strip_prefix("bytes:") {
        let pairs = digits.as_bytes().chunks(2).map(|pair| {
            let digit = |at: usize| char::from(*pair.get(at)?).to_digit(16);
            Some((digit(0)? * 16 + digit(1)?) as u8)
        });
        return pairs.collect::<Option<_>>().ok_or_else(wrong);
    }
    if kind == "f32" {
        return text.parse::<f32>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| wrong());
    }
    if kind == "f64" {
        return text.parse::<f64>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| wrong());
    }
    let bits: u32 = kind.get(1..).and_then(|bits| bits.parse().ok()).unwrap_or(0);
    if !matches!(bits, 8 | 16 | 32 | 64) {
        return Err(format!("a parameter of type {kind} cannot be given here"));
    }
    let (digits, radix) = text.strip_prefix("0x").map_or((&text[..], 10), |digits| (digits, 16));
    let value = i128::from_str_radix(digits, radix).map_err(|_| wrong())?;
    // Signed or not, as it is written.
    let fits = (-(1_i128 << (bits - 1))..1_i128 << bits).contains(&value);
    match fits {
        true => Ok(value.to_le_bytes()[..bits as usize / 8].to_vec()),
        false => Err(wrong()),
    }
}
