//! `simt check`.

use std::io::Write;

use super::args::Check;
use super::{Failure, load, reason};
use simt::code::{Param, Program};
use simt::demangled;

pub(super) fn check(args: &Check, out: &mut dyn Write) -> Result<u8, Failure> {
    let (text, module) = load(&args.file)?;
    let header = ptx::parse(&text).map_or(String::new(), |ast| {
        let (major, minor) = ast.version;
        format!("PTX {major}.{minor} for {}, ", ast.target.join(", "))
    });
    let names: Vec<&str> = module.kernels().collect();
    let kernels = match names.len() {
        0 => "no kernels".to_owned(),
        1 => "1 kernel".to_owned(),
        count => format!("{count} kernels"),
    };
    writeln!(out, "{}: {header}{kernels}", args.file.display())?;
    let mut refused = 0;
    for name in names {
        let shown = both(name);
        match module.function(name) {
            Ok(function) => writeln!(out, "{shown}{}", line(function.program()))?,
            Err(error) => {
                refused += 1;
                writeln!(out, "{shown}: cannot be run: {}", reason(&error))?;
            }
        }
    }
    for variable in module.variables().filter(|variable| variable.is_visible) {
        let space = variable.constant_at.map_or("global", |_| "constant");
        let (name, bytes) = (both(&variable.name), variable.bytes);
        writeln!(out, "{space} variable {name}: {bytes} bytes")?;
    }
    Ok(if refused > 0 { 2 } else { 0 })
}

/// Returns a name as in the source, followed by the name in the PTX if it differs: `add(int, int) = _Z3addii`.
fn both(name: &str) -> String {
    match demangled(name) {
        same if same == name => same,
        readable => format!("{readable} = {name}"),
    }
}

/// Describes a kernel: `(.u64 input, .u32 n), 512 bytes of shared memory, at most 128 threads`.
fn line(program: &Program) -> String {
    let params: Vec<String> = program.params.iter().map(param).collect();
    let mut line = format!("({})", params.join(", "));
    if program.shared_bytes > 0 {
        line += &format!(", {} bytes of shared memory", program.shared_bytes);
    }
    if let Some([x, y, z]) = program.required_block {
        line += &format!(", blocks of {x},{y},{z}");
    }
    if let Some(threads) = program.max_threads {
        line += &format!(", at most {threads} threads");
    }
    line
}

fn param(param: &Param) -> String {
    let Param { name, ty, bytes, .. } = param;
    let element =
        ty.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse::<u32>().map_or(*bytes, |bits| bits / 8);
    if element == *bytes { format!(".{ty} {name}") } else { format!(".{ty} {name}[{}]", bytes / element.max(1)) }
}
