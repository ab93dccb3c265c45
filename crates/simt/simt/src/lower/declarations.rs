//! Checks a module's declarations, independently of its kernels.

use std::collections::{HashMap, HashSet};

use ptx::ast::{At, Function, Init, Linkage, Module, Number, Space, Variable};
use ptx::opcode::type_bytes;

use super::LowerError;
use crate::layout::{MAX_CONSTANT, layout};

type Checked = Result<(), LowerError>;

/// The numbers of all targets, such as 75 for `sm_75`.
const TARGETS: [u32; 33] = [
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103,
    107, 110, 120, 121, 130,
];
/// The options of `.target` that are not targets.
const OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// Directives of functions: the name, whether only kernels can have it, and the minimum and maximum number of
/// arguments.
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

/// Checks the directives, names and variables of a module. `text` is the source that the module was parsed from.
///
/// # Errors
/// Returns the first [`LowerError`] when a declaration is duplicated or refers to something undeclared.
pub fn check(module: &Module<'_>, text: &str) -> Checked {
    target(module, text)?;
    names(module)?;
    for variable in &module.variables {
        if matches!(variable.space, Space::Local | Space::Param | Space::Tex) {
            return invalid(variable, "cannot be in this state space at module scope");
        }
        self::variable(variable)?;
        if let Some(init) = &variable.init {
            addresses(module, variable, init)?;
        }
    }
    constants(module)?;
    module.functions.iter().try_for_each(function)
}

/// Checks that all variables in constant memory, used or unused, fit when laid out in ptxas's order.
fn constants(module: &Module<'_>) -> Checked {
    let is_constant = |variable: &&Variable<'_>| variable.space == Space::Const && variable.linkage != Linkage::Extern;
    let constants: Vec<_> = module.variables.iter().filter(is_constant).collect();
    let (mut used, mut first_over) = (0, None);
    for variable in &constants {
        used = layout(variable)?.place_after(used, variable)?.1;
        if used > MAX_CONSTANT {
            first_over = first_over.or(Some(variable));
        }
    }
    let Some(variable) = first_over else {
        return Ok(());
    };
    let names: Vec<_> = constants.iter().map(|constant| format!("`{}`", constant.name)).collect();
    let names = names.join(", ");
    let message = format!("{used} bytes of constant memory ({names}): the maximum is {MAX_CONSTANT}");
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
    // PTX versions newer than `ptx::version::NEWEST` are accepted, because the features that the module uses may be
    // unchanged.
    if !ptx::version::exists(module.version) && module.version < ptx::version::NEWEST {
        let first = module.target.first().map_or(0, |name| place(name) as usize);
        let at = text.get(..first).and_then(|head| head.rfind(".version"));
        let message = format!("there is no PTX version {major}.{minor}");
        return Err(LowerError::invalid(message, at.unwrap_or_default() as At));
    }
    Ok(())
}

/// Rejects duplicate declarations at module scope.
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
            let message = format!("`{name}` is declared as a function and as a variable");
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

/// Rejects an initial address, unless it is the address of a global variable, a constant variable or a function.
fn addresses(module: &Module<'_>, variable: &Variable<'_>, init: &Init<'_>) -> Checked {
    let is_known = |name: &str| {
        let has_address =
            |target: &Variable<'_>| target.name == name && matches!(target.space, Space::Global | Space::Const);
        let is_function = |function: &Function<'_>| function.name == name && !function.entry;
        module.variables.iter().any(has_address) || module.functions.iter().any(is_function)
    };
    match init.addresses().into_iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => invalid(variable, &format!("cannot be initialized with the address of `{name}`")),
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
                return refuse(format!("`{}` cannot have the directive .{name}", function.name));
            }
        }
        if name.ends_with("ntid")
            && function.directives[..at].iter().any(|other| other.0 != *name && other.0.ends_with("ntid"))
        {
            return refuse(format!("`{}` has both .maxntid and .reqntid", function.name));
        }
        if numbers.iter().any(|number| *number == 0 || *number > u64::from(u32::MAX)) {
            return refuse(format!("the numbers of .{name} must be between 1 and 2^32 - 1"));
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
            _ => return invalid(param, "is a parameter and must be in the .param space"),
        }
        if param.vector > 1 || param.ty == "f16x2" {
            return invalid(param, "is a vector, but parameters cannot be vectors");
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

/// Rejects a type that variables in memory cannot have.
fn type_of(variable: &Variable<'_>) -> Checked {
    match variable.ty {
        "pred" => invalid(variable, "is a predicate, but only registers can be predicates"),
        "bf16" | "bf16x2" | "tf32" => invalid(variable, "has a type that only instructions can use: use .b16 or .b32"),
        _ => Ok(()),
    }
}

/// Checks a variable of any scope.
///
/// # Errors
/// Returns a [`LowerError`] when the variable's type, size, state space and initial value do not match.
pub(super) fn variable(variable: &Variable<'_>) -> Checked {
    type_of(variable)?;
    let element = type_bytes(variable.ty).unwrap_or(0);
    if variable.vector > 4 || variable.vector > 1 && element * variable.vector > 16 {
        return invalid(variable, "is a vector of more than 16 bytes or 4 elements");
    }
    let is_extern = variable.linkage == Linkage::Extern;
    if variable.linkage == Linkage::Common && variable.space != Space::Global {
        return invalid(variable, "is .common and must be in the .global space");
    }
    if is_extern && variable.init.is_some() {
        return invalid(variable, "is .extern and cannot have an initial value");
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

/// Checks the shape and the types of an initial value with dimensions `dims`. If `vector`, the innermost elements are
/// vectors.
fn initial(variable: &Variable<'_>, init: &Init<'_>, dims: &[Option<u64>], vector: bool) -> Checked {
    let ty = variable.ty;
    let is_integer = ty.starts_with(['u', 's', 'b']);
    let lists =
        |items: &[Init<'_>], dims, vector| items.iter().try_for_each(|item| initial(variable, item, dims, vector));
    match (init, dims) {
        (Init::List(items), [dim, inner_dims @ ..]) => match dim {
            Some(dim) if items.len() as u64 > *dim => invalid(variable, "has more initial values than elements"),
            _ => lists(items, inner_dims, vector),
        },
        (Init::List(items), []) if vector => match items.len() == variable.vector as usize {
            true => lists(items, &[], false),
            false => invalid(variable, "has vectors with a different number of initial values"),
        },
        (Init::List(_), []) | (_, [_, ..]) => invalid(variable, "and its initial value have different dimensions"),
        _ if vector => invalid(variable, "is a vector, but its initial value is not"),
        (Init::Number(Number::Integer(_)) | Init::Mask { .. }, []) if is_integer => Ok(()),
        (Init::Number(Number::F32(_) | Number::F64(_)), []) if matches!(ty, "f32" | "f64" | "b32" | "b64") => Ok(()),
        (Init::Address { .. }, []) if matches!(ty, "u32" | "u64" | "b32" | "b64" | "s32" | "s64") => Ok(()),
        (Init::Number(Number::Integer(_)), []) => invalid(variable, "is not an integer, but its initial value is"),
        (Init::Number(_), []) => invalid(variable, "cannot hold its initial value, a floating-point number"),
        _ => invalid(variable, "cannot hold an address"),
    }
}
