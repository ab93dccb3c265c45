//! A loaded module: what [`Machine::launch`](crate::Machine::launch) takes its kernels from.

use std::sync::Arc;

use crate::code::Program;
use crate::lower::lower;
use ptx::{ParseError, Source};

/// PTX that cannot be loaded, or a kernel that cannot be run.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A kernel, or a function that it can reach, needs something that this machine does not support.
    #[error("kernel `{entry}`: line {}, column {}: {}\n  {}", .error.line, .error.column, .error.message, .error.source_line.trim())]
    Refused {
        /// The kernel.
        entry: String,
        /// The reason, and its place in the text.
        error: ParseError,
    },
    /// The module has no kernel of this name.
    #[error("there is no kernel `{name}`; there are {}", if .known.is_empty() { "none".to_owned() } else { .known.join(", ") })]
    NoSuchKernel {
        /// The name that was asked for.
        name: String,
        /// The names of the module's kernels.
        known: Vec<String>,
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
}

impl Function {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.program.functions[0].name
    }

    /// The program that the kernel was lowered to.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A module's text.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) ptx: String,
}

/// A PTX module.
#[derive(Debug, Clone)]
pub struct Module {
    text: Arc<Text>,
    kernels: Vec<(String, Result<Arc<Program>, LoadError>)>,
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
    /// [`LoadError::Parse`] when the text is not PTX, [`LoadError::AddressSize`] when it is for 32-bit addresses.
    /// [`Module::function`] reports what this machine does not run, for one kernel.
    pub fn from_ptx(ptx: impl Into<String>) -> Result<Self, LoadError> {
        let ptx = ptx.into();
        let ast = ptx::parse(&ptx)?;
        if ast.address_size != 64 {
            return Err(LoadError::AddressSize);
        }
        let source = Source::new(&ptx);
        let kernels = ast
            .functions
            .iter()
            .filter(|function| function.entry && function.body.is_some())
            .map(|function| {
                let program = lower(&ast, function).map(Arc::new);
                let program = program.map_err(|error| LoadError::Refused {
                    entry: function.name.to_owned(),
                    error: ParseError::new(&source, error.at, error.message),
                });
                (function.name.to_owned(), program)
            })
            .collect();
        Ok(Self {
            text: Arc::new(Text { ptx: ptx.clone() }),
            kernels,
        })
    }

    /// The names of the module's kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|(name, _)| name.as_str())
    }

    /// A kernel by name.
    ///
    /// ```
    /// let module = simt::Module::from_ptx(
    ///     ".version 8.0
    ///      .target sm_80
    ///      .address_size 64
    ///      .entry nothing() { ret; }
    ///      .entry copies() { cp.async.bulk.commit_group; }",
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
    /// [`LoadError::NoSuchKernel`] when the module has no kernel of this name, [`LoadError::Refused`] when the
    /// kernel can reach an instruction that this machine does not run; it names the first one.
    pub fn function(&self, name: &str) -> Result<Function, LoadError> {
        let (_, program) = self
            .kernels
            .iter()
            .find(|(known, _)| known == name)
            .ok_or_else(|| LoadError::NoSuchKernel {
                name: name.to_owned(),
                known: self.kernels().map(str::to_owned).collect(),
            })?;
        Ok(Function {
            program: program.clone()?,
            module: self.text.clone(),
        })
    }
}
