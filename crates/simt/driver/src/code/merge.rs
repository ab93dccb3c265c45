//! Merging PTX modules that use each other's functions and variables into the text of one module.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use ptx::PieceKind;
use ptx::ast::{Function, Linkage, Module, Operand, Variable};

/// Functions that the driver provides, so that no module defines them.
const RUNTIME: [&str; 5] = ["vprintf", "__assertfail", "__assert_fail", "malloc", "free"];
/// The distance between the source file numbers of two consecutive modules.
const FILES: usize = 1 << 16;

/// A name at the top level of a module.
struct Symbol<'a> {
    name: &'a str,
    linkage: Linkage,
    is_function: bool,
    /// Whether the module defines the name, rather than only declaring it.
    is_defined: bool,
    /// The byte range of the symbol's text.
    range: Range<usize>,
}

/// Returns the names at the top level of a module.
fn symbols<'a>(text: &'a str, module: &Module<'a>) -> Vec<Symbol<'a>> {
    let functions = module.functions.iter().map(|function| Symbol {
        name: function.name,
        linkage: if function.entry && function.linkage == Linkage::Internal {
            Linkage::Visible
        } else {
            function.linkage
        },
        is_function: true,
        is_defined: function.body.is_some(),
        range: function.span.start as usize..function.span.end as usize,
    });
    let variables = module.variables.iter().map(|variable| {
        let at = variable.at as usize;
        let word = match variable.linkage {
            Linkage::Extern => ".extern",
            Linkage::Weak => ".weak",
            Linkage::Common => ".common",
            Linkage::Visible => ".visible",
            Linkage::Internal => "",
        };
        let start = text[..at].rfind(word).unwrap_or(at);
        let end = text[at..].find(';').map_or(text.len(), |length| at + length + 1);
        let is_defined = variable.linkage != Linkage::Extern;
        Symbol { name: variable.name, linkage: variable.linkage, is_function: false, is_defined, range: start..end }
    });
    functions.chain(variables).collect()
}

/// The properties of a parameter that must be equal in a function's declaration and definition: whether it is an array,
/// whether it is a floating-point number, and its size in bytes. `nvlink` 13.5 compares these.
type Shape = (bool, bool, Option<u32>);

/// A function that a module shares with other modules: either the module defines the function, or the module declares
/// and calls it. A linker does not see declarations that nothing calls.
struct Prototype<'a> {
    name: &'a str,
    /// The return parameters, and the input parameters.
    shapes: [Vec<Shape>; 2],
    is_defined: bool,
    /// The results, the name and the parameters, as written.
    text: String,
}

fn prototypes<'a>(text: &'a str, module: &Module<'a>) -> Vec<Prototype<'a>> {
    let calls = module
        .functions
        .iter()
        .flat_map(Function::instructions)
        .filter(|instruction| instruction.operation() == "call");
    let called: HashSet<&str> = calls.flat_map(|call| call.operands.iter().filter_map(Operand::name)).collect();
    let shape = |param: &Variable<'_>| (!param.dims.is_empty(), param.ty.starts_with('f'), param.bytes());
    let functions = module.functions.iter().filter(|function| !function.entry && function.linkage != Linkage::Internal);
    let used = functions.filter(|function| function.body.is_some() || called.contains(function.name));
    let prototype = |function: &Function<'a>| {
        let definition = &text[function.span.start as usize..function.span.end as usize];
        let head = definition.split(['{', ';']).next().unwrap_or_default();
        let words =
            head.split_whitespace().skip_while(|word| matches!(*word, ".extern" | ".visible" | ".weak" | ".func"));
        Prototype {
            name: function.name,
            shapes: [&function.returns, &function.params].map(|all| all.iter().map(shape).collect()),
            is_defined: function.body.is_some(),
            text: words.collect::<Vec<_>>().join(" "),
        }
    };
    used.map(prototype).collect()
}

/// Checks that one more text is a module that can be linked with the other texts.
///
/// # Errors
/// Returns a message when the text is not PTX, when it defines a name that another module defines, or when the
/// parameters of a function differ from those in another module.
pub(crate) fn check(texts: &[String], text: &str) -> Result<(), String> {
    let parse = |text| ptx::parse(text).map_err(|error| error.to_string());
    let module = parse(text)?;
    let strong = |text: &str, module: &Module<'_>| -> HashSet<String> {
        let all = symbols(text, module).into_iter();
        all.filter(|symbol| symbol.is_defined && symbol.linkage == Linkage::Visible)
            .map(|symbol| symbol.name.to_owned())
            .collect()
    };
    let new = (strong(text, &module), prototypes(text, &module));
    for other_text in texts {
        let other = parse(other_text)?;
        if let Some(name) = strong(other_text, &other).intersection(&new.0).next() {
            return Err(format!("`{name}` is defined twice"));
        }
        for known in prototypes(other_text, &other) {
            let differs = |prototype: &&Prototype<'_>| {
                prototype.name == known.name
                    && (prototype.is_defined || known.is_defined)
                    && prototype.shapes != known.shapes
            };
            if let Some(prototype) = new.1.iter().find(differs) {
                let (defined, used) = if prototype.is_defined { (prototype, &known) } else { (&known, prototype) };
                return Err(format!(
                    "the prototypes of `{}` do not match: one module defines `{}`, and another has `{}`",
                    prototype.name, defined.text, used.text
                ));
            }
        }
    }
    Ok(())
}

/// Merges the texts of all modules into one.
///
/// # Errors
/// Returns a message when a module uses a name that no module defines.
pub(crate) fn merge(texts: &[String]) -> Result<String, String> {
    let parsed: Result<Vec<Module<'_>>, _> = texts.iter().map(|text| ptx::parse(text)).collect();
    let parsed = parsed.map_err(|error| error.to_string())?;
    let modules: Vec<Vec<Symbol<'_>>> = texts.iter().zip(&parsed).map(|(text, module)| symbols(text, module)).collect();
    // For each name that other modules see, the module that defines it. A strong definition takes precedence over a
    // weak one.
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for linkage in [Linkage::Visible, Linkage::Weak, Linkage::Common] {
        for (number, module) in modules.iter().enumerate() {
            for symbol in module.iter().filter(|symbol| symbol.is_defined && symbol.linkage == linkage) {
                owners.entry(symbol.name).or_insert(number);
            }
        }
    }
    // The driver provides some functions, and the launch sets the size of `extern` shared memory.
    let is_elsewhere = |symbol: &Symbol<'_>, text: &str| {
        symbol.is_function && RUNTIME.contains(&symbol.name) || text[symbol.range.clone()].contains(".shared")
    };
    for (module, text) in modules.iter().zip(texts) {
        let declared = module.iter().filter(|symbol| symbol.linkage == Linkage::Extern && !symbol.is_defined);
        let mut undefined = declared.filter(|symbol| !owners.contains_key(symbol.name));
        let missing = undefined.find(|symbol| !is_elsewhere(symbol, text));
        if let Some(missing) = missing {
            return Err(format!("`{}` is declared, but no module defines it", missing.name));
        }
    }
    let newest = parsed.iter().max_by_key(|module| module.version).map_or((8, 0), |module| module.version);
    let number_of =
        |module: &&Module<'_>| module.target.first().and_then(|target| target.get(3..)?.parse::<u32>().ok());
    let target = parsed.iter().max_by_key(number_of).map_or("sm_80".to_owned(), |module| module.target.join(", "));
    let mut merged = format!(".version {}.{}\n.target {target}\n.address_size 64\n", newest.0, newest.1);
    let mut declared = HashSet::new();
    for (number, (module, text)) in modules.iter().zip(texts).enumerate() {
        let mut dropped = Vec::new();
        for symbol in module {
            let is_internal = symbol.linkage == Linkage::Internal;
            let is_here = is_internal || owners.get(symbol.name) == Some(&number);
            // Functions of the driver and `extern` shared memory need only one declaration.
            let is_first = !owners.contains_key(symbol.name) && declared.insert(symbol.name);
            if !(is_here && (symbol.is_defined || symbol.linkage != Linkage::Extern) || is_first) {
                dropped.push(symbol.range.clone());
            }
        }
        // Rename names that are internal to this module and also occur in another module.
        let others = modules.iter().enumerate().filter(|(other, _)| *other != number).flat_map(|(_, symbols)| symbols);
        let taken: HashSet<&str> = others.map(|symbol| symbol.name).collect();
        let internal = module.iter().filter(|symbol| symbol.linkage == Linkage::Internal);
        let renamed: HashSet<&str> = internal.map(|symbol| symbol.name).filter(|name| taken.contains(name)).collect();
        write_module(&mut merged, text, number, &dropped, &renamed);
    }
    Ok(merged)
}

/// Writes a module's text without its header and the `dropped` ranges, and renames internal names.
fn write_module(to: &mut String, text: &str, number: usize, dropped: &[Range<usize>], renamed: &HashSet<&str>) {
    let (mut at, mut is_header, mut is_file) = (0, false, false);
    for piece in ptx::pieces(text) {
        let place = at;
        at += piece.text.len();
        match piece.kind {
            PieceKind::Directive => {
                is_header = matches!(piece.text, ".version" | ".target" | ".address_size");
                is_file = matches!(piece.text, ".file" | ".loc");
            }
            // A directive of the header ends with its line.
            PieceKind::Blank | PieceKind::Comment if piece.text.contains('\n') => is_header = false,
            _ => {}
        }
        if is_header || dropped.iter().any(|range| range.contains(&place)) {
            continue;
        }
        let first = piece.text.split(['.', ':']).next().unwrap_or_default();
        let written = match piece.kind {
            PieceKind::Number if is_file => {
                is_file = false;
                let file = piece.text.parse::<usize>().unwrap_or(0);
                write!(to, "{}", file + number * FILES)
            }
            // Also rename the labels of debug sections, which every module numbers in the same way.
            PieceKind::Word if renamed.contains(first) || first.starts_with("$L__info_string") => {
                write!(to, "{first}$link{number}{}", &piece.text[first.len()..])
            }
            _ => write!(to, "{}", piece.text),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
    to.push('\n');
}
