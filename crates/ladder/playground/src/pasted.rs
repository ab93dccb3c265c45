//! Runs pasted PTX.

use ptx::ast::{self, Operand};
use ptx::{Declared, Role};
use serde::Serialize;
use simt::{Arg, Buffer, Function, LaunchError, Module, Simulator};

use crate::listing::kinds;
use crate::request::{Argument, Pasted};
use crate::run::{self, BufferView, Checked, Problem, Run};

/// The maximum number of elements of a buffer. A browser fills a buffer of this size in a moment.
const MOST_ELEMENTS: u64 = 1 << 22;

/// A kernel of a PTX text.
#[derive(Serialize)]
pub(crate) struct Kernel {
    name: String,
    /// The name in the PTX text.
    entry: String,
    parameters: Vec<Parameter>,
    /// The reason why the kernel cannot be run, if any.
    problem: Option<Problem>,
    /// The block size that the kernel requires.
    required_block: Option<[u32; 3]>,
    /// The maximum number of threads per block that the kernel supports.
    max_threads: Option<u32>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    /// The PTX type, such as `u64` or `f32`, or `b8` for a structure.
    #[serde(rename = "type")]
    kind: String,
    bytes: u32,
    /// If the parameter is the address of a buffer, the type of the buffer's elements.
    buffer: Option<String>,
}

/// Returns the type of the elements that a parameter points to, if the source declares it.
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

/// Returns whether all 32-bit words that a kernel moves between registers and global memory are floats.
fn moves_floats(function: &ast::Function<'_>) -> bool {
    let kinds = kinds(function);
    let moves = function
        .instructions()
        .filter(|instruction| instruction.opcode.contains(".global") && instruction.opcode.ends_with("32"));
    let mut words = moves.flat_map(|instruction| instruction.operands.iter().filter_map(Operand::name)).peekable();
    words.peek().is_some() && words.all(|name| kinds.get(name) == Some(&'f'))
}

/// Returns the kernels of a PTX text.
pub(crate) fn kernels(ptx: &str) -> Result<Vec<Kernel>, Problem> {
    let module = Module::from_ptx(ptx)?;
    let text = ptx::parse(ptx).unwrap_or_default();
    let marks_pointers =
        text.functions.iter().flat_map(|function| &function.params).any(|parameter| parameter.is_pointer);
    let kernel = |entry: &str| {
        let in_text = text.functions.iter().find(|function| function.name == entry && function.body.is_some());
        let default = if in_text.is_some_and(moves_floats) { "f32" } else { "u32" };
        let function = module.function(entry);
        let program = function.as_ref().ok().map(Function::program);
        let parameters = program.map_or_else(Vec::new, |program| {
            let parameters = program.params.iter().enumerate();
            parameters
                .map(|(index, parameter)| {
                    let is_marked =
                        in_text.and_then(|text| text.params.get(index)).is_some_and(|parameter| parameter.is_pointer);
                    let is_buffer = parameter.bytes == 8 && (is_marked || !marks_pointers);
                    let element =
                        || parameter.declared.as_ref().and_then(element).unwrap_or_else(|| default.to_owned());
                    let buffer = is_buffer.then(element);
                    Parameter {
                        name: parameter.name.clone(),
                        kind: parameter.ty.clone(),
                        bytes: parameter.bytes,
                        buffer,
                    }
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

/// A simulator that is ready for a launch, and the launch's kernel and arguments.
struct Prepared {
    simulator: Simulator,
    function: Function,
    arguments: Vec<Arg>,
    buffers: Vec<(usize, Buffer<u8>)>,
}

fn prepare(request: &Pasted) -> Result<Prepared, Problem> {
    let module = Module::from_ptx(&*request.ptx)?;
    let first = module.kernels().next().ok_or_else(|| Problem::new("the text has no kernel: no `.entry`"))?;
    let name = if request.kernel.is_empty() { first } else { &request.kernel };
    let function = module.function(name)?;
    let blocks = request.grid.iter().fold(1_u64, |all, side| all.saturating_mul((*side).into()));
    if request.record >= blocks.max(1) {
        return Err(Problem::new(format!("there is no block {} to record: the grid has {blocks}", request.record)));
    }
    let (given, expected) = (request.arguments.len(), function.program().params.len());
    if given != expected {
        return Err(Problem::new(format!("the kernel has {expected} parameters, but {given} arguments are given")));
    }
    let mut simulator = run::simulator()?;
    let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
    for (index, (argument, parameter)) in request.arguments.iter().zip(&function.program().params).enumerate() {
        let wrong = |why: String| Problem::new(format!("argument {index} (`{}`): {why}", parameter.name));
        let Some(elements) = argument.buffer else {
            let bytes = number(&argument.kind, &argument.value).map_err(wrong)?;
            arguments.push(Arg::Bytes(bytes));
            continue;
        };
        let bytes = argument.size().map_err(wrong)?;
        let free = run::MOST_MEMORY - simulator.memory().used().min(run::MOST_MEMORY);
        let most = (free / bytes).min(MOST_ELEMENTS);
        if elements > most {
            let why =
                format!("a buffer of {elements} elements of {bytes} bytes does not fit: the limit is {most} elements");
            return Err(wrong(why));
        }
        let failed = |error: simt::MemoryError| wrong(error.to_string());
        let buffer = match argument.value.trim() {
            "unset" => simulator.uninitialized::<u8>((elements * bytes) as usize).map_err(failed)?,
            _ => simulator.upload(&argument.initial_bytes(elements).map_err(wrong)?).map_err(failed)?,
        };
        arguments.push(buffer.into());
        buffers.push((index, buffer));
    }
    Ok(Prepared { simulator, function, arguments, buffers })
}

fn launch<'a>(request: &Pasted, function: &'a Function, arguments: &'a [Arg]) -> simt::Launch<'a> {
    simt::Launch::new(function, request.grid, request.block, arguments).with_shared_bytes(request.shared)
}

/// Runs a kernel and records one of its blocks.
pub(crate) fn run(request: &Pasted) -> Result<Run, Problem> {
    let Prepared { mut simulator, function, arguments, buffers } = prepare(request)?;
    let first = |simulator: &Simulator, buffer: &Buffer<u8>| run::first_bytes(simulator, buffer.address());
    let before: Vec<String> = buffers.iter().map(|(_, buffer)| first(&simulator, buffer)).collect();
    let recorded = run::record(&mut simulator, &launch(request, &function, &arguments), request.record);
    let (counters, error) = match recorded.counters {
        Ok(counters) => (Some(counters), None),
        Err(error @ LaunchError::Fault(_)) => (None, Some(error)),
        // The launch was rejected, so the kernel did not run.
        Err(refused) => return Err(Problem::new(refused.to_string())),
    };
    let shown = buffers.iter().zip(before).map(|((index, buffer), before)| BufferView {
        name: format!("argument {index}"),
        kind: Some(request.arguments[*index].kind.clone()),
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
            sides(request.grid),
            sides(request.block),
            request.shared
        ),
        grid: request.grid,
        block: request.block,
        dynamic_shared: request.shared,
        arguments: request.arguments.clone(),
        ptx: request.ptx.clone(),
        counters,
        error,
        trace: recorded.trace,
        buffers: shown.collect(),
        verdict: None,
        printed: recorded.printed,
        function,
    })
}

/// Runs a kernel with all sanitizers.
pub(crate) fn check(request: &Pasted) -> Result<Checked, Problem> {
    let Prepared { mut simulator, function, arguments, .. } = prepare(request)?;
    let (checked, result) = run::check(&mut simulator, &launch(request, &function, &arguments));
    match result {
        Err(error) if !matches!(error, LaunchError::Fault(_)) => Err(Problem::new(error.to_string())),
        _ => Ok(checked),
    }
}

impl Argument {
    /// Returns the number of bytes of an element.
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
            _ => Err(format!("`{}` is not a supported type: use u, s or b with 8 to 64 bits, f32 or f64", self.kind)),
        }
    }

    /// Returns the initial bytes of a buffer.
    fn initial_bytes(&self, elements: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::with_capacity((elements * self.size()?) as usize);
        let mut push = |text: &str| number(&self.kind, text).map(|number| bytes.extend(number));
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
                    return Err(format!("{} numbers are too many for {elements} elements", all.len()));
                }
                all.iter().try_for_each(|word| push(word))?;
                (all.len() as u64..elements).try_for_each(|_| push("0"))?;
            }
        }
        Ok(bytes)
    }
}

/// Returns the bytes of a number of a PTX type.
fn number(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    let text = text.trim().replace('_', "");
    let wrong = || format!("`{text}` is not a number of type {kind}");
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
        return Err(format!("a parameter of type {kind} is not supported"));
    }
    let (digits, radix) = text.strip_prefix("0x").map_or((&text[..], 10), |digits| (digits, 16));
    let value = i128::from_str_radix(digits, radix).map_err(|_| wrong())?;
    // Accepts both signed and unsigned numbers.
    let fits = (-(1_i128 << (bits - 1))..1_i128 << bits).contains(&value);
    match fits {
        true => Ok(value.to_le_bytes()[..bits as usize / 8].to_vec()),
        false => Err(wrong()),
    }
}
