//! A loaded module: what [`Simulator::launch`](crate::Simulator::launch) takes its kernels from.

use std::sync::Arc;

use crate::code::{ModuleVariable, Program};
use crate::demangle::demangled;
use crate::lower::{check, lower};
use crate::names;
use crate::observe::Site;
use crate::source_frames::origin_at;
use ptx::{ParseError, Source};

/// Where the variables of a loaded module lie.
#[derive(Debug)]
pub(crate) struct ModuleAddresses {
    /// The number of its simulator.
    pub(crate) simulator: u64,
    /// The number of the instance, unique within the process.
    pub(crate) number: u64,
    /// The variables' addresses by their numbers; 0 for those that no kernel can use.
    pub(crate) addresses: Vec<u64>,
}

/// PTX that cannot be loaded, or a kernel that cannot be run.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A kernel, or a function that it can reach, needs something that this machine does not support.
    #[error("kernel `{}`: line {}, column {}: {}\n  {}", demangled(.entry), .error.line, .error.column, .error.message, .error.source_line.trim())]
    Refused {
        /// The kernel.
        entry: String,
        /// The reason, and its place in the text.
        error: ParseError,
        /// The source line that the instruction comes from, file and line, and the column in it.
        origin: Option<Box<((String, u32), u32)>>,
        /// Whether it is valid PTX, which this machine does not run.
        is_valid: bool,
    },
    /// The module has no kernel of this name.
    #[error("there is no kernel `{name}`; there are {}", names::list(.known))]
    NoSuchKernel {
        /// The name that was asked for.
        name: String,
        /// The names of the module's kernels.
        known: Vec<String>,
    },
    /// Several kernels have names of which this is a short form.
    #[error("`{name}` may be each of {}; write one of these", .meant.join(", "))]
    AmbiguousKernel {
        /// The name that was asked for.
        name: String,
        /// The kernels that it may mean, demangled.
        meant: Vec<String>,
    },
    /// The module is for 32-bit addresses.
    #[error("the module has 32-bit addresses; only .address_size 64 is run")]
    AddressSize,
}

crate::error::debug_like_display!(LoadError);

/// A kernel, ready to be launched.
#[derive(Debug, Clone)]
pub struct Function {
    pub(crate) program: Arc<Program>,
    pub(crate) module: Arc<Text>,
    /// The variables that it uses; at each launch new ones where there are none.
    pub(crate) placed: Option<Arc<ModuleAddresses>>,
}

impl Function {
    /// The kernel's name, as the text has it; [`demangled`](crate::demangled) makes it readable.
    pub fn name(&self) -> &str {
        &self.program.functions[0].name
    }

    /// The text of its module.
    pub fn ptx(&self) -> &str {
        &self.module.ptx
    }

    /// The architecture that its module is written for: `sm_80`.
    pub fn target(&self) -> &str {
        &self.module.target
    }

    /// The variables in global and constant memory that it can reach.
    pub fn variables(&self) -> impl Iterator<Item = &ModuleVariable> {
        self.program.variables.iter().filter_map(|number| self.module.variables[*number as usize].as_ref())
    }

    /// Returns the opcode of an instruction and what follows it in the text.
    ///
    /// # Panics
    /// When the kernel's program does not have the instruction.
    pub fn text_at(&self, site: Site) -> &str {
        let origin = &self.program.functions[site.function as usize].origins[site.pc as usize];
        &self.module.ptx[origin.at as usize..]
    }

    /// Returns a variable of its module by its number; `None` if no kernel can use it.
    pub fn variable(&self, number: usize) -> Option<&ModuleVariable> {
        self.module.variables.get(number)?.as_ref()
    }

    /// Returns the addresses of its module's variables by their numbers; empty if each launch has separate variables.
    pub fn variable_addresses(&self) -> &[u64] {
        self.placed.as_ref().map_or(&[], |placed| &placed.addresses)
    }

    /// The program that the kernel was lowered to.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
}

/// A module's text and its variables.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) ptx: String,
    target: String,
    /// By their numbers; `None` for one that no kernel can use.
    pub(crate) variables: Vec<Option<ModuleVariable>>,
}

impl Text {
    /// Where the variables lie that have these addresses: the first byte of each, and how many there are.
    pub(crate) fn places(&self, addresses: &[u64]) -> impl Iterator<Item = (u64, u64)> {
        let placed = self.variables.iter().zip(addresses);
        placed.filter_map(|(own, address)| (*address != 0).then_some((*address, own.as_ref()?.bytes)))
    }

    /// The name of the variable that begins at an address, when the module's variables lie at these.
    pub(crate) fn variable_at(&self, addresses: &[u64], address: u64) -> Option<&str> {
        let number = addresses.iter().position(|own| *own == address)?;
        Some(&self.variables[number].as_ref()?.name)
    }
}

/// A PTX module.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) text: Arc<Text>,
    kernels: Arc<[Kernel]>,
}

/// A kernel of a module: its program, or why it is refused.
#[derive(Debug)]
struct Kernel {
    name: String,
    program: Result<Arc<Program>, LoadError>,
}

impl Module {
    /// Reads a module and lowers its kernels.
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
    /// [`LoadError::Parse`] when the text is not PTX or declares what does not exist or exists already,
    /// [`LoadError::AddressSize`] when it is for 32-bit addresses.
    /// [`Module::function`] reports what this machine does not run, for one kernel.
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

    /// The architecture that it is written for: `sm_80`.
    pub fn target(&self) -> &str {
        &self.text.target
    }

    /// Why a kernel of it is not valid PTX, if one is not.
    pub fn invalid(&self) -> Option<&LoadError> {
        let errors = self.kernels.iter().filter_map(|kernel| kernel.program.as_ref().err());
        errors.into_iter().find(|error| matches!(error, LoadError::Refused { is_valid: false, .. }))
    }

    /// The names of the module's kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> + Clone {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// The module's variables in global and constant memory, its functions' own behind those of the module's scope.
    pub fn variables(&self) -> impl Iterator<Item = &ModuleVariable> + Clone {
        self.text.variables.iter().flatten()
    }

    /// A kernel by name: as the text has it, demangled, or a part of the demangled name that is enough to tell it from
    /// others. `saxpy` and `saxpy(int, float, float*, float*)` are `_Z5saxpyifPfS_`.
    ///
    /// Launched as it is, its variables begin with their initial values at each launch; those of an
    /// [`Instance`](crate::Instance) live longer.
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
    /// assert_eq!(unknown.to_string(), "there is no kernel `reduce`; there are nothing, copies");
    ///
    /// let refused = module.function("copies").unwrap_err();
    /// assert!(refused.to_string().starts_with("kernel `copies`: line 5, column "));
    /// # Ok::<(), simt::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// [`LoadError::NoSuchKernel`] when the module has no kernel of this name, [`LoadError::AmbiguousKernel`] when it is a
    /// part of several names, [`LoadError::Refused`] when the kernel can reach an instruction that this machine does not
    /// run; it names the first one.
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
