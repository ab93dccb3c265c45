//! One module of several: the text of PTX modules that use each other's functions and variables.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use ptx::PieceKind;
use ptx::ast::{Function, Linkage, Module, Operand, Variable};

/// Functions that are defined nowhere: the driver has them.
const RUNTIME: [&str; 5] = ["vprintf", "__assertfail", "__assert_fail", "malloc", "free"];
/// How far apart the numbers of two modules' source files are.
const FILES: usize = 1 << 16;

/// A name that a module has at its top.
struct Symbol<'a> {
    name: &'a str,
    linkage: Linkage,
    is_function: bool,
    /// Whether it is defined here, and not just declared.
    is_defined: bool,
    /// Where its text is.
    range: Range<usize>,
}

/// The names that a module has at its top.
fn symbols<'a>(text: &'a str, module: &Module<'a>) -> Vec<Symbol<'a>> {
    let functions = module.functions.iter().map(|own| Symbol {
        name: own.name,
        linkage: if own.entry && own.linkage == Linkage::Internal { Linkage::Visible } else { own.linkage },
        is_function: true,
        is_defined: own.body.is_some(),
        range: own.span.start as usize..own.span.end as usize,
    });
    let variables = module.variables.iter().map(|own| {
        let at = own.at as usize;
        let word = match own.linkage {
            Linkage::Extern => ".extern",
            Linkage::Weak => ".weak",
            Linkage::Common => ".common",
            Linkage::Visible => ".visible",
            Linkage::Internal => "",
        };
        let start = text[..at].rfind(word).unwrap_or(at);
        let end = text[at..].find(';').map_or(text.len(), |length| at + length + 1);
        let is_defined = own.linkage != Linkage::Extern;
        Symbol { name: own.name, linkage: own.linkage, is_function: false, is_defined, range: start..end }
    });
    functions.chain(variables).collect()
}

/// The parts of a parameter that must be equal in a function's declaration and its definition: whether it is an array,
/// whether it is a floating-point number, and its size in bytes. `nvlink` 13.5 compares these.
type Shape = (bool, bool, Option<u32>);

/// A function that a module shares with other modules: one that it defines, or declares and calls. A linker does not see
/// declarations that nothing calls.
struct Prototype<'a> {
    name: &'a str,
    /// The parameters that it returns, and those that it takes.
    shapes: [Vec<Shape>; 2],
    is_defined: bool,
    /// The results, name and parameters as written.
    text: String,
}

fn prototypes<'a>(text: &'a str, module: &Module<'a>) -> Vec<Prototype<'a>> {
    let calls = module.functions.iter().flat_map(Function::instructions).filter(|own| own.operation() == "call");
    let called: HashSet<&str> = calls.flat_map(|own| own.operands.iter().filter_map(Operand::name)).collect();
    let shape = |own: &Variable<'_>| (!own.dims.is_empty(), own.ty.starts_with('f'), own.bytes());
    let functions = module.functions.iter().filter(|own| !own.entry && own.linkage != Linkage::Internal);
    let used = functions.filter(|own| own.body.is_some() || called.contains(own.name));
    let prototype = |own: &Function<'a>| {
        let whole = &text[own.span.start as usize..own.span.end as usize];
        let head = whole.split(['{', ';']).next().unwrap_or_default();
        let words =
            head.split_whitespace().skip_while(|word| matches!(*word, ".extern" | ".visible" | ".weak" | ".func"));
        Prototype {
            name: own.name,
            shapes: [&own.returns, &own.params].map(|all| all.iter().map(shape).collect()),
            is_defined: own.body.is_some(),
            text: words.collect::<Vec<_>>().join(" "),
        }
    };
    used.map(prototype).collect()
}

/// Checks that one more text is a module that can be linked with others.
///
/// # Errors
/// Returns a message when the text is not PTX, when it defines what another module defines, or when it defines a
/// function with other parameters than another module does or calls it with.
pub(crate) fn check(texts: &[String], text: &str) -> Result<(), String> {
    let parse = |text| ptx::parse(text).map_err(|error| error.to_string());
    let module = parse(text)?;
    let strong = |text: &str, module: &Module<'_>| -> HashSet<String> {
        let all = symbols(text, module).into_iter();
        all.filter(|own| own.is_defined && own.linkage == Linkage::Visible).map(|own| own.name.to_owned()).collect()
    };
    let new = (strong(text, &module), prototypes(text, &module));
    for other_text in texts {
        let other = parse(other_text)?;
        if let Some(name) = strong(other_text, &other).intersection(&new.0).next() {
            return Err(format!("`{name}` is defined twice"));
        }
        for known in prototypes(other_text, &other) {
            let differs = |own: &&Prototype<'_>| {
                own.name == known.name && (own.is_defined || known.is_defined) && own.shapes != known.shapes
            };
            if let Some(own) = new.1.iter().find(differs) {
                let (defined, used) = if own.is_defined { (own, &known) } else { (&known, own) };
                return Err(format!(
                    "the prototypes of `{}` do not match: one module defines `{}`, and another has `{}`",
                    own.name, defined.text, used.text
                ));
            }
        }
    }
    Ok(())
}

/// The text of all modules as one.
///
/// # Errors
/// In words, when a module uses what no module defines.
pub(crate) fn merge(texts: &[String]) -> Result<String, String> {
    let parsed: Result<Vec<Module<'_>>, _> = texts.iter().map(|text| ptx::parse(text)).collect();
    let parsed = parsed.map_err(|error| error.to_string())?;
    let modules: Vec<Vec<Symbol<'_>>> = texts.iter().zip(&parsed).map(|(text, own)| symbols(text, own)).collect();
    // Which module has the definition of a name that the others see. A strong one comes before a weak one.
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for wanted in [Linkage::Visible, Linkage::Weak, Linkage::Common] {
        for (number, module) in modules.iter().enumerate() {
            for own in module.iter().filter(|own| own.is_defined && own.linkage == wanted) {
                owners.entry(own.name).or_insert(number);
            }
        }
    }
    // The driver has some functions, and a launch says the size of some shared memory.
    let is_elsewhere = |own: &Symbol<'_>, text: &str| {
        own.is_function && RUNTIME.contains(&own.name) || text[own.range.clone()].contains(".shared")
    };
    for (module, text) in modules.iter().zip(texts) {
        let declared = module.iter().filter(|own| own.linkage == Linkage::Extern && !own.is_defined);
        let mut undefined = declared.filter(|own| !owners.contains_key(own.name));
        let missing = undefined.find(|own| !is_elsewhere(own, text));
        if let Some(missing) = missing {
            return Err(format!("`{}` is declared, and no module defines it", missing.name));
        }
    }
    let newest = parsed.iter().max_by_key(|own| own.version).map_or((8, 0), |own| own.version);
    let number_of = |own: &&Module<'_>| own.target.first().and_then(|target| target.get(3..)?.parse::<u32>().ok());
    let target = parsed.iter().max_by_key(number_of).map_or("sm_80".to_owned(), |own| own.target.join(", "));
    let mut merged = format!(".version {}.{}\n.target {target}\n.address_size 64\n", newest.0, newest.1);
    let mut declared = HashSet::new();
    for (number, (module, text)) in modules.iter().zip(texts).enumerate() {
        let mut dropped = Vec::new();
        for own in module {
            let is_internal = own.linkage == Linkage::Internal;
            let is_here = is_internal || owners.get(own.name) == Some(&number);
            // One declaration is enough of what the driver has, and of shared memory whose size a launch says.
            let is_first = !owners.contains_key(own.name) && declared.insert(own.name);
            if !(is_here && (own.is_defined || own.linkage != Linkage::Extern) || is_first) {
                dropped.push(own.range.clone());
            }
        }
        // Names that only this module sees, and that others have too.
        let others = modules.iter().enumerate().filter(|(other, _)| *other != number).flat_map(|(_, own)| own);
        let taken: HashSet<&str> = others.map(|own| own.name).collect();
        let internal = module.iter().filter(|own| own.linkage == Linkage::Internal);
        let renamed: HashSet<&str> = internal.map(|own| own.name).filter(|name| taken.contains(name)).collect();
        write_module(&mut merged, text, number, &dropped, &renamed);
    }
    Ok(merged)
}

/// Writes a module's text without its header and these parts, with other names for what only it sees.
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
            // A header's directive ends with its line.
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
                let own = piece.text.parse::<usize>().unwrap_or(0);
                write!(to, "{}", own + number * FILES)
            }
            // Labels of debug sections, which all modules number alike.
            PieceKind::Word if renamed.contains(first) || first.starts_with("$L__info_string") => {
                write!(to, "{first}$link{number}{}", &piece.text[first.len()..])
            }
            _ => write!(to, "{}", piece.text),
        };
        debug_assert!(written.is_ok(), "a string takes all that is written");
    }
    to.push('\n');
}
