//! What a module may not declare, whichever of its kernels is asked for.

use std::collections::{HashMap, HashSet};

use ptx::ast::{At, Function, Init, Linkage, Module, Number, Space, Variable};
use ptx::opcode::type_bytes;

use super::LowerError;
use crate::layout::{MAX_CONSTANT, layout};

type Checked = Result<(), LowerError>;

/// The numbers of targets that there are: `sm_75`.
const TARGETS: [u32; 33] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103,
    107, 110, 120, 121, 130,
];
/// Other words of `.target`.
const OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// Directives of functions: the name, whether only entries have them, and how many numbers they take.
const DIRECTIVES: [(&str, bool, [usize; 2]); 13] = [
    ("maxntid", true, [1, 3]),
    ("reqntid", true, [1, 3]),
    ("minnctapersm", true, [1, 1]),
    ("maxnreg", true, [1, 1]),
    ("maxclusterrank", true, [1, 1]),
    ("reqnctapercluster", true, [1, 3]),
    ("explicitcluster", true, [0, 0]),
    ("blocksareclusters", true, [0, 0]),
    ("noreturn", false, [0, 0]),
    ("attribute", false, [0, 0]),
    ("unified", false, [0, 0]),
    ("abi_preserve", false, [1, 1]),
    ("abi_preserve_control", false, [1, 1]),
];

/// Checks the directives, names and variables of a module. `text` is what it was parsed from.
///
/// # Errors
/// The first [`LowerError`] when something is declared that does not exist, or twice.
pub fn check(module: &Module<'_>, text: &str) -> Checked {
    target(module, text)?;
    names(module)?;
    for variable in &module.variables {
        if matches!(variable.space, Space::Local | Space::Param | Space::Tex) {
            return invalid(variable, "cannot be in this space at the module's scope");
        }
        self::variable(variable)?;
        if let Some(init) = &variable.init {
            addresses(module, variable, init)?;
        }
    }
    constants(module)?;
    module.functions.iter().try_for_each(function)
}

/// Checks that the variables in constant memory fit together, used or not, in the order in which ptxas lays them out.
fn constants(module: &Module<'_>) -> Checked {
    let is_constant = |variable: &&Variable<'_>| variable.space == Space::Const && variable.linkage != Linkage::Extern;
    let constants: Vec<_> = module.variables.iter().filter(is_constant).collect();
    let (mut used, mut first_over) = (0, None);
    for variable in &constants {
        used = layout(variable)?.place_behind(used, variable)?.1;
        if used > MAX_CONSTANT {
            first_over = first_over.or(Some(variable));
        }
    }
    let Some(variable) = first_over else {
        return Ok(());
    };
    let names: Vec<_> = constants.iter().map(|constant| format!("`{}`", constant.name)).collect();
    let names = names.join(", ");
    let message = format!("{used} bytes of constant memory ({names}): a module can have {MAX_CONSTANT}");
    Err(LowerError::invalid(message, variable.at))
}

fn target(module: &Module<'_>, text: &str) -> Checked {
    let place = |word: &str| (word.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize) as At;
    let is_gpu = |name: &str| {
        let name = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
        name.is_some_and(|name| {
            let digits = name.trim_end_matches(['a', 'f']);
            let number = digits.parse().unwrap_or(0);
            let least = match &name[digits.len()..] {
                "" => 0,
                "a" => 90,
                "f" => 100,
                _ => u32::MAX,
            };
            TARGETS.contains(&number) && number >= least
        })
    };
    for (at, name) in module.target.iter().enumerate() {
        if !is_gpu(name) && (at == 0 || !OPTIONS.contains(name)) {
            let message = format!("there is no target `{name}`");
            return Err(LowerError::invalid(message, place(name)));
        }
    }
    let (major, minor) = module.version;
    // What is newer than this machine may be no different in what the module uses.
    if !ptx::version::exists(module.version) && module.version < ptx::version::NEWEST {
        let first = module.target.first().map_or(0, |name| place(name) as usize);
        let at = text.get(..first).and_then(|head| head.rfind(".version"));
        let message = format!("there is no PTX {major}.{minor}");
        return Err(LowerError::invalid(message, at.unwrap_or_default() as At));
    }
    Ok(())
}

/// Refuses what is declared twice in the module's scope.
fn names(module: &Module<'_>) -> Checked {
    let mut functions: HashMap<&str, &Function<'_>> = HashMap::new();
    for function in &module.functions {
        let known = functions.entry(function.name).or_insert(function);
        if known.at != function.at && (known.body.is_some() || known.entry != function.entry) {
            let message = format!("function `{}` is declared twice", function.name);
            return Err(LowerError::invalid(message, function.at));
        }
        *known = function;
    }
    let mut variables: HashMap<&str, &Variable<'_>> = HashMap::new();
    for variable in &module.variables {
        let name = variable.name;
        if let Some(function) = functions.get(name) {
            let message = format!("`{name}` is a function and a variable");
            return Err(LowerError::invalid(message, function.at.max(variable.at)));
        }
        let Some(known) = variables.insert(name, variable) else {
            continue;
        };
        let declares = [known.linkage, variable.linkage].contains(&Linkage::Extern);
        let is_same = (known.space, known.ty, known.vector) == (variable.space, variable.ty, variable.vector);
        if !declares || !is_same || variable.linkage == Linkage::Internal {
            return invalid(variable, "is declared twice");
        }
        if variable.linkage == Linkage::Extern {
            variables.insert(name, known);
        }
    }
    Ok(())
}

/// Refuses initial addresses of anything but global and constant variables, and functions.
fn addresses(module: &Module<'_>, variable: &Variable<'_>, init: &Init<'_>) -> Checked {
    let is_known = |name: &str| {
        let has_address = |own: &Variable<'_>| own.name == name && matches!(own.space, Space::Global | Space::Const);
        let is_function = |own: &Function<'_>| own.name == name && !own.entry;
        module.variables.iter().any(has_address) || module.functions.iter().any(is_function)
    };
    match init.addresses().into_iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => invalid(variable, &format!("cannot begin with the address of `{name}`")),
    }
}

fn function(function: &Function<'_>) -> Checked {
    let refuse = |message: String| Err(LowerError::invalid(message, function.at));
    for (at, (name, numbers)) in function.directives.iter().enumerate() {
        let known = DIRECTIVES.iter().find(|row| row.0 == *name);
        match known {
            Some((_, entry, [least, most]))
                if (*least..=*most).contains(&numbers.len())
                    && (function.entry == *entry || matches!(*name, "attribute" | "unified")) => {}
            _ => {
                return refuse(format!("`{}` cannot have this directive .{name}", function.name));
            }
        }
        if name.ends_with("ntid")
            && function.directives[..at].iter().any(|other| other.0 != *name && other.0.ends_with("ntid"))
        {
            return refuse(format!("`{}` has .maxntid and .reqntid", function.name));
        }
        if numbers.iter().any(|number| *number == 0 || *number > u64::from(u32::MAX)) {
            return refuse(format!("the numbers of .{name} begin with 1"));
        }
    }
    let mut known = HashSet::new();
    for param in function.returns.iter().chain(&function.params) {
        if !known.insert(param.name) {
            return invalid(param, "is declared twice");
        }
        match param.space {
            Space::Reg if !function.entry => continue,
            Space::Param => {}
            _ => return invalid(param, "is a parameter and has to be in the .param space"),
        }
        if param.vector > 1 || param.ty == "f16x2" {
            return invalid(param, "is a vector, which parameters cannot be");
        }
        if function.entry && param.dims.iter().any(|dim| dim.unwrap_or(0) == 0) {
            return invalid(param, "has no elements");
        }
        if param.init.is_some() {
            return invalid(param, "cannot have an initial value");
        }
        type_of(param)?;
    }
    Ok(())
}

fn invalid(variable: &Variable<'_>, what: &str) -> Checked {
    let message = format!("`{}` {what}", variable.name);
    Err(LowerError::invalid(message, variable.at))
}

/// Refuses types that no variable in memory has.
fn type_of(variable: &Variable<'_>) -> Checked {
    match variable.ty {
        "pred" => invalid(variable, "is a predicate, which only registers are"),
        "bf16" | "bf16x2" | "tf32" => invalid(variable, "has a type of instructions only: .b16 and .b32 hold it"),
        _ => Ok(()),
    }
}

/// Checks a variable of any scope.
///
/// # Errors
/// A [`LowerError`] when its type, its size or its initial value contradicts its space or itself.
pub(super) fn variable(variable: &Variable<'_>) -> Checked {
    type_of(variable)?;
    let element = type_bytes(variable.ty).unwrap_or(0);
    if variable.vector > 4 || variable.vector > 1 && element * variable.vector > 16 {
        return invalid(variable, "is a vector of more than 16 bytes or 4 elements");
    }
    let is_extern = variable.linkage == Linkage::Extern;
    if variable.linkage == Linkage::Common && variable.space != Space::Global {
        return invalid(variable, "is .common, and so has to be in the .global space");
    }
    if is_extern && variable.init.is_some() {
        return invalid(variable, "is defined elsewhere, and has an initial value here");
    }
    let empty = |at: usize, dim: &Option<u64>| match dim {
        Some(0) => true,
        Some(_) => false,
        None => at > 0 || !matches!(&variable.init, Some(Init::List(items)) if !items.is_empty()),
    };
    let mut dims = variable.dims.iter().enumerate();
    if !is_extern && dims.any(|(at, dim)| empty(at, dim)) {
        return invalid(variable, "has no elements");
    }
    match &variable.init {
        None => Ok(()),
        Some(_) if !matches!(variable.space, Space::Global | Space::Const) => {
            invalid(variable, "cannot have an initial value: only .global and .const variables can")
        }
        Some(init) => initial(variable, init, &variable.dims, variable.vector > 1),
    }
}

/// Checks the shape and the types of an initial value of so many dimensions, with a vector in the innermost.
fn initial(variable: &Variable<'_>, init: &Init<'_>, dims: &[Option<u64>], vector: bool) -> Checked {
    let ty = variable.ty;
    let is_integer = ty.starts_with(['u', 's', 'b']);
    let lists =
        |items: &[Init<'_>], dims, vector| items.iter().try_for_each(|item| initial(variable, item, dims, vector));
    match (init, dims) {
        (Init::List(items), [dim, below @ ..]) => match dim {
            Some(dim) if items.len() as u64 > *dim => invalid(variable, "has more initial values than elements"),
            _ => lists(items, below, vector),
        },
        (Init::List(items), []) if vector => match items.len() == variable.vector as usize {
            true => lists(items, &[], false),
            false => invalid(variable, "has vectors with another number of initial values"),
        },
        (Init::List(_), []) | (_, [_, ..]) => invalid(variable, "and its initial value have different dimensions"),
        _ if vector => invalid(variable, "is a vector, and its initial value is not"),
        (Init::Number(Number::Integer(_)) | Init::Mask { .. }, []) if is_integer => Ok(()),
        (Init::Number(Number::F32(_) | Number::F64(_)), []) if matches!(ty, "f32" | "f64" | "b32" | "b64") => Ok(()),
        (Init::Address { .. }, []) if matches!(ty, "u32" | "u64" | "b32" | "b64" | "s32" | "s64") => Ok(()),
        (Init::Number(Number::Integer(_)), []) => invalid(variable, "is no integer, and its initial value is one"),
        (Init::Number(_), []) => invalid(variable, "does not hold its initial value, a floating-point number"),
        _ => invalid(variable, "cannot hold an address"),
    }
}
