//! A loaded module, which contains the kernels for [`Simulator::launch`](crate::Simulator::launch).

use std::sync::Arc;

use crate::code::{ModuleVariable, Program};
use crate::demangle::demangled;
use crate::lower::{check, lower};
use crate::names;
use crate::observe::Site;
use crate::source_frames::origin_at;
use ptx::{ParseError, Source};

/// The addresses of the variables of a loaded module.
#[derive(Debug)]
pub(crate) struct ModuleAddresses {
    /// The number of the simulator.
    pub(crate) simulator: u64,
    /// The number of the instance, unique within the process.
    pub(crate) number: u64,
    /// The variables' addresses by number; 0 for variables that no kernel can use.
    pub(crate) addresses: Vec<u64>,
}

/// An error for PTX that cannot be loaded, or for a kernel that cannot run.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A kernel, or a function reachable from it, is not valid or needs something that the simulator does not support.
    #[error("kernel `{}`: line {}, column {}: {}\n  {}", demangled(.entry), .error.line, .error.column, .error.message, .error.source_line.trim())]
    Refused {
        /// The kernel.
        entry: String,
        /// The reason and its position in the text.
        error: ParseError,
        /// The instruction's source position: file, line and column.
        origin: Option<Box<((String, u32), u32)>>,
        /// Whether the PTX is valid, but not supported by the simulator.
        is_valid: bool,
    },
    /// The module has no kernel with this name.
    #[error("there is no kernel `{name}`; the module has {}", names::list(.known))]
    NoSuchKernel {
        /// The requested name.
        name: String,
        /// The names of the module's kernels.
        known: Vec<String>,
    },
    /// The name is a short form that matches several kernels.
    #[error("`{name}` is ambiguous; write one of {}", .meant.join(", "))]
    AmbiguousKernel {
        /// The requested name.
        name: String,
        /// The matching kernels, demangled.
        meant: Vec<String>,
    },
    /// The module uses 32-bit addresses.
    #[error("the module has 32-bit addresses; only .address_size 64 is supported")]
    AddressSize,
}

crate::error::debug_like_display!(LoadError);

/// A kernel, ready to be launched.
#[derive(Debug, Clone)]
pub struct Function {
    pub(crate) program: Arc<Program>,
    pub(crate) module: Arc<Text>,
    /// The addresses of the kernel's variables; `None` if each launch allocates new variables.
    pub(crate) placed: Option<Arc<ModuleAddresses>>,
}

impl Function {
    /// Returns the kernel's name in the text; [`demangled`](crate::demangled) makes it readable.
    pub fn name(&self) -> &str {
        &self.program.functions[0].name
    }

    /// Returns the text of the kernel's module.
    pub fn ptx(&self) -> &str {
        &self.module.ptx
    }

    /// Returns the target architecture of the kernel's module: `sm_80`.
    pub fn target(&self) -> &str {
        &self.module.target
    }

    /// Returns the variables in global and constant memory that are reachable from the kernel.
    pub fn variables(&self) -> impl Iterator<Item = &ModuleVariable> {
        self.program.variables.iter().filter_map(|number| self.module.variables[*number as usize].as_ref())
    }

    /// Returns the part of the module's text that starts at the opcode of an instruction.
    ///
    /// # Panics
    /// Panics when the kernel's program does not contain the instruction.
    pub fn text_at(&self, site: Site) -> &str {
        let origin = &self.program.functions[site.function as usize].origins[site.pc as usize];
        &self.module.ptx[origin.at as usize..]
    }

    /// Returns a variable of the module by its number; `None` if no kernel can use it.
    pub fn variable(&self, number: usize) -> Option<&ModuleVariable> {
        self.module.variables.get(number)?.as_ref()
    }

    /// Returns the addresses of the module's variables by number; empty if each launch allocates new variables.
    pub fn variable_addresses(&self) -> &[u64] {
        self.placed.as_ref().map_or(&[], |placed| &placed.addresses)
    }

    /// Returns the program that the kernel was lowered to.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}

/// A module's text and its variables.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) ptx: String,
    target: String,
    /// The variables by number; `None` for a variable that no kernel can use.
    pub(crate) variables: Vec<Option<ModuleVariable>>,
}

impl Text {
    /// Returns the address and size of each variable, given the addresses of all variables.
    pub(crate) fn places(&self, addresses: &[u64]) -> impl Iterator<Item = (u64, u64)> {
        let placed = self.variables.iter().zip(addresses);
        placed.filter_map(|(variable, address)| (*address != 0).then_some((*address, variable.as_ref()?.bytes)))
    }

    /// Returns the name of the variable that starts at `address`, given the addresses of all variables.
    pub(crate) fn variable_at(&self, addresses: &[u64], address: u64) -> Option<&str> {
        let number = addresses.iter().position(|known| *known == address)?;
        Some(&self.variables[number].as_ref()?.name)
    }
}

/// A PTX module.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) text: Arc<Text>,
    kernels: Arc<[Kernel]>,
}

/// A kernel of a module: its program, or the reason why it is rejected.
#[derive(Debug)]
struct Kernel {
    name: String,
    program: Result<Arc<Program>, LoadError>,
}

impl Module {
    /// Parses a module and lowers its kernels.
    ///
    /// ```
    /// use simt::{LoadError, Module};
    ///
    /// let module = Module::from_ptx(
    ///     ".version 8.0
    ///      .target sm_80
    ///      .address_size 64
    ///      .entry first() { ret; }
    ///      .entry second() { ret; }",
    /// )?;
    /// assert!(module.kernels().eq(["first", "second"]));
    ///
    /// let error = Module::from_ptx("int main() {}").unwrap_err();
    /// assert!(matches!(error, LoadError::Parse(_)));
    /// # Ok::<(), LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LoadError::Parse`] when the text is not PTX, or when a declaration is duplicated or refers to
    /// something undeclared. Returns [`LoadError::AddressSize`] when the module uses 32-bit addresses. For kernels that
    /// the simulator does not support, [`Module::function`] reports the error.
    pub fn from_ptx(ptx: impl Into<String>) -> Result<Self, LoadError> {
        let ptx = ptx.into();
        let ast = ptx::parse(&ptx)?;
        if ast.address_size != 64 {
            return Err(LoadError::AddressSize);
        }
        let source = Source::new(&ptx);
        check(&ast, &ptx).map_err(|error| ParseError::new(&source, error.at, error.message))?;
        let lowered = lower(&ast);
        let kernels = lowered.kernels.into_iter().map(|(name, program)| {
            let program = program.map(Arc::new).map_err(|error| LoadError::Refused {
                entry: name.clone(),
                origin: origin_at(&ast, &ptx, error.at).map(Box::new),
                is_valid: error.is_valid,
                error: ParseError::new(&source, error.at, error.message),
            });
            Kernel { name, program }
        });
        let kernels = kernels.collect();
        let variables = lowered.variables.into_iter().map(Result::ok).collect();
        let target = ast.target.first().map(|target| (*target).to_owned()).unwrap_or_default();
        Ok(Self { text: Arc::new(Text { variables, ptx: ptx.clone(), target }), kernels })
    }

    /// Returns the target architecture of the module: `sm_80`.
    pub fn target(&self) -> &str {
        &self.text.target
    }

    /// Returns the error of a kernel that is not valid PTX, if there is such a kernel.
    pub fn invalid(&self) -> Option<&LoadError> {
        let errors = self.kernels.iter().filter_map(|kernel| kernel.program.as_ref().err());
        errors.into_iter().find(|error| matches!(error, LoadError::Refused { is_valid: false, .. }))
    }

    /// Returns the names of the module's kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> + Clone {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// Returns the module's variables in global and constant memory. The variables declared in functions follow the
    /// variables at module scope.
    pub fn variables(&self) -> impl Iterator<Item = &ModuleVariable> + Clone {
        self.text.variables.iter().flatten()
    }

    /// Returns a kernel by name. `name` may be the name in the text, the demangled name, or a part of the demangled
    /// name that identifies the kernel. `saxpy` and `saxpy(int, float, float*, float*)` both find `_Z5saxpyifPfS_`.
    ///
    /// If the function is launched directly, its variables start each launch with their initial values. The variables
    /// of an [`Instance`](crate::Instance) keep their values between launches.
    ///
    /// ```
    /// let module = simt::Module::from_ptx(
    ///     ".version 8.0
    ///      .target sm_80
    ///      .address_size 64
    ///      .entry nothing() { ret; }
    ///      .entry copies() { tcgen05.fence::before_thread_sync; }",
    /// )?;
    /// assert_eq!(module.function("nothing")?.name(), "nothing");
    ///
    /// let unknown = module.function("reduce").unwrap_err();
    /// assert_eq!(unknown.to_string(), "there is no kernel `reduce`; the module has nothing, copies");
    ///
    /// let refused = module.function("copies").unwrap_err();
    /// assert!(refused.to_string().starts_with("kernel `copies`: line 5, column "));
    /// # Ok::<(), simt::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`LoadError::NoSuchKernel`] when the module has no kernel with this name, and
    /// [`LoadError::AmbiguousKernel`] when the name is a part of several names. Returns [`LoadError::Refused`] when the
    /// kernel is not valid PTX or can reach an instruction that the simulator does not support; the error names the
    /// first such instruction.
    pub fn function(&self, name: &str) -> Result<Function, LoadError> {
        let number = names::find(self.kernels(), name).map_err(|meant| {
            let name = name.to_owned();
            match meant.is_empty() {
                true => LoadError::NoSuchKernel { name, known: self.kernels().map(str::to_owned).collect() },
                false => LoadError::AmbiguousKernel { name, meant },
            }
        })?;
        Ok(Function { program: self.kernels[number].program.clone()?, module: self.text.clone(), placed: None })
    }
}
