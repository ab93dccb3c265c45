//! The context of decoding: resolves operands to registers, variables and numbers.

mod operand;

pub(crate) use operand::{address_of, is_special};

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ptx::ast::{AddressBase, At, Function, Instruction, Module, Operand, Space, Variable};

use crate::code::{FrameInit, Func, Pred, R32, R64, Reg};
use crate::error::LowerError;
use crate::layout::{Location, Variables, layout};
use crate::operands::{Found, VariableUse};
use ptx::opcode::type_bytes;
use simt_isa::Registers;

/// The maximum number of a function's registers of one width. The number is limited because every running warp
/// allocates all of these registers.
const MAX_REGISTERS: u32 = 1 << 16;

/// A declared register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'m> {
    pub(crate) reg: Reg,
    /// The width in bits: 1 for a predicate.
    pub(crate) bits: u32,
    /// The declared type.
    pub(crate) ty: &'m str,
    /// The number of elements, which occupy consecutive registers; 1 unless the register is a vector.
    pub(crate) vector: u32,
}

/// A register's number in one of the three files.
pub(crate) trait RegisterNumber: Copy {
    /// The width of the file's registers: 1 for predicates.
    const BITS: u32;
    fn new(number: u32) -> Self;
    fn reg(self) -> Reg;
    /// Returns the number of a register in this file; `None` for a register of another file.
    fn of(reg: Reg) -> Option<Self>;
    /// Returns the function's counter of registers in this file.
    fn count(func: &mut Func) -> &mut u32;
}

macro_rules! register_number {
    ($($file:ident $bits:literal $count:ident;)*) => {$(
        impl RegisterNumber for $file {
            const BITS: u32 = $bits;

            fn new(number: u32) -> Self {
                Self(number)
            }

            fn reg(self) -> Reg {
                Reg::$file(self)
            }

            fn of(reg: Reg) -> Option<Self> {
                match reg {
                    Reg::$file(number) => Some(number),
                    _ => None,
                }
            }

            fn count(func: &mut Func) -> &mut u32 {
                &mut func.$count
            }
        }
    )*};
}

register_number! {
    R32 32 r32;
    R64 64 r64;
    Pred 1 preds;
}

/// The names declared in one scope of a function.
#[derive(Default)]
pub(crate) struct Scope<'m> {
    pub(crate) registers: HashMap<&'m str, Declared<'m>>,
    /// Ranges such as `%r<9>`: the prefix, the count and the first register.
    pub(crate) ranges: Vec<(&'m str, u32, Declared<'m>)>,
    pub(crate) variables: HashMap<&'m str, (Location, &'m Variable<'m>)>,
}

/// A function that is being lowered: its names, and the registers allocated so far.
pub(crate) struct Context<'l, 'm> {
    pub(crate) module: &'m Module<'m>,
    /// The variables of the module's scope.
    pub(crate) module_variables: &'l mut Variables<'m>,
    pub(crate) func: Func,
    /// The position of the statement that is being lowered.
    pub(crate) at: At,
    /// The open scopes, innermost last.
    pub(crate) scopes: Vec<Scope<'m>>,
    pub(crate) function: &'m Function<'m>,
    /// The registers that are initialized when a frame begins, by value and width.
    initialized: HashMap<(FrameInit, u32), Reg>,
    /// The names that the function's instructions read; computed on first use.
    read: Option<HashSet<&'m str>>,
    /// The operands found so far in the current instruction.
    pub(crate) found: Found,
    /// The carry flag; allocated on first use.
    carry: Option<Pred>,
    /// Registers and variables that lowering adds; they are not in the text.
    hidden: (HashMap<String, Declared<'m>>, HashMap<String, Location>),
}

impl<'l, 'm> Context<'l, 'm> {
    pub(crate) fn new(
        module: &'m Module<'m>,
        module_variables: &'l mut Variables<'m>,
        function: &'m Function<'m>,
    ) -> Self {
        Self {
            module,
            module_variables,
            func: Func { name: function.name.to_owned(), ..Func::default() },
            at: 0,
            scopes: vec![Scope::default()],
            function,
            initialized: HashMap::new(),
            read: None,
            found: Found::default(),
            carry: None,
            hidden: Default::default(),
        }
    }

    /// Returns the innermost open scope.
    pub(crate) fn scope(&mut self) -> &mut Scope<'m> {
        self.scopes.last_mut().expect("the function's outermost scope is always open")
    }

    /// Returns whether any instruction of the function reads the operand's register. Scopes are not distinguished: if
    /// several scopes declare a name, all of its registers count as read when one of them is read.
    pub(crate) fn is_read(&mut self, operand: &Operand<'_>) -> bool {
        let Operand::Name(name) = operand else {
            return true;
        };
        let function = self.function;
        let read = self.read.get_or_insert_with(|| {
            let instructions = function.instructions();
            instructions.flat_map(Instruction::uses).collect()
        });
        read.contains(name)
    }

    /// Returns the error for an instruction that needs a feature that the simulator does not support.
    pub(crate) fn unsupported(&self, what: impl std::fmt::Display) -> LowerError {
        LowerError::unsupported(what, self.at)
    }

    /// Returns the error for an instruction that is not valid PTX.
    pub(crate) fn invalid(&self, message: impl Into<String>) -> LowerError {
        LowerError::invalid(message, self.at)
    }

    /// Allocates `count` consecutive registers and returns the first register.
    fn allocate<R: RegisterNumber>(&mut self, count: u32) -> Result<R, LowerError> {
        let at = self.at;
        let used = R::count(&mut self.func);
        let first = *used;
        let sum = first.checked_add(count).filter(|sum| *sum <= MAX_REGISTERS);
        *used = sum.ok_or_else(|| {
            let what = format!("a function with more than {MAX_REGISTERS} registers of a kind");
            LowerError::unsupported(what, at)
        })?;
        Ok(R::new(first))
    }

    /// Allocates a register without a name.
    pub(crate) fn temp<R: RegisterNumber>(&mut self) -> R {
        let next = R::count(&mut self.func);
        *next += 1;
        R::new(*next - 1)
    }

    /// Returns the predicate that represents the function's carry flag, `CC.CF` (PTX ISA §9.7.2).
    pub(crate) fn carry(&mut self) -> Pred {
        let carry = self.carry.unwrap_or_else(|| self.temp());
        *self.carry.insert(carry)
    }

    /// Allocates the registers of a declaration: `count` consecutive registers of this type, with `vector` elements
    /// each.
    pub(crate) fn declare(&mut self, ty: &'m str, vector: u32, count: u32) -> Result<Declared<'m>, LowerError> {
        if ty == "b128" && vector == 1 {
            // The register consists of two 64-bit registers, which instructions access under one name.
            let reg = self.allocate::<R64>(count.saturating_mul(2))?.reg();
            let (bits, vector) = (64, 2);
            return Ok(Declared { reg, bits, ty, vector });
        }
        let count = count.saturating_mul(vector);
        let (reg, bits) = match type_bytes(ty) {
            _ if matches!(ty, "bf16" | "bf16x2" | "tf32") => {
                return Err(self.invalid(format!("there are no registers of type .{ty}: use .b16 or .b32")));
            }
            _ if ty == "pred" => (self.allocate::<Pred>(count)?.reg(), 1),
            Some(bytes @ (1 | 2 | 4)) => (self.allocate::<R32>(count)?.reg(), bytes * 8),
            Some(8) => (self.allocate::<R64>(count)?.reg(), 64),
            _ => return Err(self.unsupported(format!("a register of type .{ty}"))),
        };
        if vector > 1 && (vector > 4 || vector * bits > 128 || ty == "pred") {
            return Err(self.invalid(format!("a vector of type .{ty} cannot have {vector} elements")));
        }
        Ok(Declared { reg, bits, ty, vector })
    }

    /// Adds a register of this type that is not in the text, and returns its name.
    pub(crate) fn hidden_register(&mut self, ty: &str) -> Result<String, LowerError> {
        let ty = match type_bytes(ty) {
            _ if ty == "pred" => "pred",
            Some(2) => "b16",
            Some(4) => "b32",
            Some(8) => "b64",
            _ => return Err(self.unsupported(format!("a register of type .{ty} here"))),
        };
        let declared = self.declare(ty, 1, 1)?;
        let name = format!("#{}", self.hidden.0.len());
        self.hidden.0.insert(name.clone(), declared);
        Ok(name)
    }

    /// Adds a variable at this location that is not in the text, and returns its name.
    pub(crate) fn hidden_variable(&mut self, place: Location) -> String {
        let name = format!("#v{}", self.hidden.1.len());
        self.hidden.1.insert(name.clone(), place);
        name
    }

    /// Returns whether the module's target has at least this compute capability, such as 80 for 8.0.
    pub(crate) fn is_for(&self, least: u32) -> bool {
        let targets = self.module.target.iter();
        let mut numbers = targets.filter_map(|target| {
            let number = target.strip_prefix("sm_")?;
            number.trim_end_matches(char::is_alphabetic).parse().ok()
        });
        numbers.any(|number: u32| number >= least)
    }

    /// Returns the register with this name and its width in bits (1 for a predicate).
    pub(crate) fn register(&self, name: &str) -> Option<(Reg, u32)> {
        let declared = self.declared(name)?;
        Some((declared.reg, declared.bits))
    }

    /// Returns the declaration of the register with this name.
    pub(crate) fn declared(&self, name: &str) -> Option<Declared<'m>> {
        let scopes = self.scopes.iter().rev();
        scopes.filter_map(|scope| scope.register(name)).next().or_else(|| self.hidden.0.get(name).copied())
    }

    /// Returns an element of a vector register and its width.
    fn element(&self, name: &str, element: char) -> Option<(Reg, u32)> {
        let declared = self.declared(name)?;
        let at = ["xyzw", "rgba"].iter().find_map(|names| names.find(element))? as u32;
        let is_element = declared.vector > 1 && at < declared.vector;
        let reg = is_element.then(|| declared.reg.advance(at))?;
        Some((reg, declared.bits))
    }

    /// Returns the operands of an instruction, with two kinds expanded: a vector register's name into its elements, and
    /// an array element into a name with an offset.
    pub(crate) fn plain<'i>(&self, inst: &'i Instruction<'i>) -> Result<Cow<'i, [Operand<'i>]>, LowerError> {
        let vector = |operand: &Operand<'_>| match operand {
            Operand::Name(name) => self.declared(name).filter(|declared| declared.vector > 1),
            _ => None,
        };
        let is_plain = |operand: &Operand<'_>| !matches!(operand, Operand::Indexed(..)) && vector(operand).is_none();
        if inst.operands.iter().all(is_plain) {
            return Ok(Cow::Borrowed(&inst.operands));
        }
        let is_access = inst.is_memory();
        let plain = |operand: &Operand<'i>| {
            Ok(match (operand, vector(operand)) {
                (Operand::Name(name), Some(declared)) => {
                    let elements = "xyzw".chars().take(declared.vector as usize);
                    Operand::Vector(elements.map(|element| Operand::Element(name, element)).collect())
                }
                (Operand::Indexed(name, index), _) => {
                    let variable = self.variable_declared(name).filter(|variable| !variable.dims.is_empty());
                    let variable = variable.ok_or_else(|| self.invalid(format!("`{name}` is not an array")))?;
                    let element = type_bytes(variable.ty).unwrap_or(1) * variable.vector;
                    let offset = index.cast_signed().wrapping_mul(i64::from(element));
                    match is_access {
                        true => Operand::Address { base: AddressBase::Name(name), offset },
                        false => Operand::NameOffset(name, offset),
                    }
                }
                _ => operand.clone(),
            })
        };
        inst.operands.iter().map(plain).collect()
    }

    /// Returns the location of the variable with this name.
    pub(crate) fn variable(&mut self, name: &str) -> Option<Result<Location, LowerError>> {
        let mut scopes = self.scopes.iter().rev();
        match scopes.find_map(|scope| scope.variables.get(name)) {
            Some((location, _)) => Some(Ok(*location)),
            None => match self.hidden.1.get(name) {
                Some(location) => Some(Ok(*location)),
                None => self.module_variables.module_scope(name),
            },
        }
    }

    /// Records that the instruction names a variable, unless it is a [hidden](Self::hidden_variable) variable.
    pub(crate) fn note_variable(&mut self, name: &str, location: Location) {
        let Some(declared) = self.variable_declared(name) else { return };
        let (space, at) = match location {
            Location::Shared(at) => (Space::Shared, u64::from(at)),
            Location::DynamicShared => (Space::Shared, 0),
            Location::Global(number) => (Space::Global, u64::from(number)),
            Location::Constant(at) => (Space::Const, u64::from(at)),
            Location::Param(at) => (Space::Param, u64::from(at)),
            Location::Frame(at) => (declared.space, u64::from(at)),
        };
        let bytes = match location {
            Location::DynamicShared => None,
            _ => layout(declared).ok().map(|layout| layout.bytes),
        };
        let in_frame = matches!(location, Location::Frame(_));
        self.found.variables.push(VariableUse { name: name.to_owned(), space, in_frame, at, bytes });
    }

    /// Returns the declaration of the variable with this name.
    pub(crate) fn variable_declared(&self, name: &str) -> Option<&'m Variable<'m>> {
        let mut scopes = self.scopes.iter().rev();
        let scoped = scopes.find_map(|scope| scope.variables.get(name));
        let mut module = self.module.variables.iter();
        scoped.map(|(_, variable)| *variable).or_else(|| module.find(|variable| variable.name == name))
    }
}

impl<'m> Scope<'m> {
    /// Returns the register with this name, if the scope declares it.
    pub(crate) fn register(&self, name: &str) -> Option<Declared<'m>> {
        if let Some(declared) = self.registers.get(name) {
            return Some(*declared);
        }
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // `%r12` may belong to `%r<20>` or to `%r1<5>`: try each split, longest number first.
        for split in name.len() - digits..name.len() {
            let (prefix, number) = name.split_at(split);
            if number.len() > 1 && number.starts_with('0') {
                continue;
            }
            let Ok(number) = number.parse::<u32>() else {
                continue;
            };
            for (known, count, first) in &self.ranges {
                if *known == prefix && number < *count {
                    let reg = first.reg.advance(number * first.vector);
                    return Some(Declared { reg, ..*first });
                }
            }
        }
        None
    }

    /// Returns whether the scope declares a register or variable with this name.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.variables.contains_key(name) || self.register(name).is_some()
    }
}
