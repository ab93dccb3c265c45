//! The steps of a build, from the crate to its PTX.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::builder::{CudaBuilder, EmitOption, LintLevel};
use crate::compile::{self, Paths};
use crate::error::CudaBuilderError;
use crate::limits;
use crate::link::{self, Modules};
use crate::llvm;
use crate::lower::{builtins, local_atomics, lower, signs, spaces, verify};
use crate::merge::merge;
use crate::module::{Piece, Program, join};
use crate::panics;
use crate::parts::{self, Part, Store, fingerprint, in_parallel};
use crate::ptx;
use crate::toolchain::{self, DeviceToolchain, NotFound};

/// The toolchain. The search for it runs once for all builds of a process, because it starts several programs.
static TOOLCHAIN: LazyLock<Result<DeviceToolchain, NotFound>> = LazyLock::new(toolchain::discover);

impl CudaBuilder {
    /// Builds the crate and returns the path of the PTX, which is the [`copy_to`](Self::copy_to) path if one is set.
    ///
    /// In a build script, this function also tells cargo which files the PTX depends on. The script then runs again
    /// only when one of these files changes.
    ///
    /// # Errors
    /// Returns [`CudaBuilderError`] when the folder contains no crate, this machine has no device compiler,
    /// the source does not compile, or a kernel cannot be lowered.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        if !self.path_to_crate().join("Cargo.toml").is_file() {
            return Err(CudaBuilderError::CratePathDoesntExist(self.path_to_crate().to_owned()));
        }
        compile::watch_environment();
        let toolchain = TOOLCHAIN.clone()?;
        let paths = Paths::of(&self)?;

        let store = Store::open(paths.parts.clone())?;
        let modules = link::to_modules(&self, &toolchain, &paths)?;
        let linked = modules.map(|modules| self.compile_modules(&toolchain, &store, modules)).transpose()?;
        let compiled = match linked.flatten() {
            Some(compiled) => Some(compiled),
            None => {
                let whole = link::to_one_module(&self, &toolchain, &paths)?;
                self.compile_modules(&toolchain, &store, whole)?
            }
        };
        let (parts, text) = compiled
            .filter(|(_, text)| text.contains(".entry "))
            .ok_or_else(|| CudaBuilderError::NoKernels { krate: self.path_to_crate().to_owned() })?;
        store.forget(parts.len() + 1);
        compile::write(&paths.ptx, &header(&self, &toolchain, &text))?;
        self.deliver(&toolchain, &paths, parts)
    }

    /// Returns the optimized parts of a program and its PTX, or `None` when its modules cannot be linked.
    fn compile_modules(
        &self,
        toolchain: &DeviceToolchain,
        store: &Store,
        Modules { mut texts, units }: Modules,
    ) -> Result<Option<Compiled>, CudaBuilderError> {
        let zeroed: Vec<_> = texts.iter().flat_map(|ir| spaces::zeroed(ir)).collect();
        panics::replace(&mut texts);
        for text in &mut texts {
            if let Some(lowered) = builtins::lower(text).map_err(|source| self.cannot_lower(source))? {
                *text = lowered;
            }
        }
        let program = Program::read(&texts, units);
        if program.is_none() && texts.len() > 1 {
            return Ok(None);
        }
        for name in zeroed {
            compile::warn(&format!(
                "shared static `{name}` has an initializer of zeros, but shared memory starts uninitialized: write the \
                 zeros in the kernel, or declare the static as MaybeUninit if it does not need them"
            ));
        }
        let fingerprints: Vec<_> = texts.iter().map(|text| fingerprint(text)).collect();
        let Some(program) = program else {
            let ir = || texts.concat().replace("\ndefine hidden ", "\ndefine internal ");
            let (roots, key) = ("", format!("{fingerprints:x?}"));
            return self.compile_parts(toolchain, store, &[Source { roots, key, ir: &ir }]);
        };
        let compile = |pieces: &[Piece<'_>]| {
            let texts: Vec<_> = pieces.iter().map(|piece| || piece.ir()).collect();
            let sources = pieces.iter().zip(&texts).map(|(piece, ir)| {
                let key = piece.key(|module| fingerprints[module]);
                Source { roots: &piece.roots, key, ir }
            });
            self.compile_parts(toolchain, store, &sources.collect::<Vec<_>>())
        };
        let pieces = program.pieces();
        let compiled = if pieces.is_empty() { None } else { compile(&pieces)? };
        match compiled {
            Some(compiled) => Ok(Some(compiled)),
            // The program has no kernels, or the parts' PTX cannot be merged.
            None => compile(&[program.whole()]),
        }
    }

    /// Returns the optimized parts and their PTX, or `None` when the parts' PTX cannot be merged.
    fn compile_parts(
        &self,
        toolchain: &DeviceToolchain,
        store: &Store,
        sources: &[Source<'_>],
    ) -> Result<Option<Compiled>, CudaBuilderError> {
        let tools = llvm::tools(self, toolchain);
        let parts = in_parallel(sources, |Source { roots, key, ir }| {
            store.part(&format!("{tools} {roots}"), key, ir, |ir, optimized| {
                let lowered = lower(ir, &self.arch.sm());
                let lowered = lowered.map_err(|source| self.cannot_lower(source))?;
                if let Some(writable) = verify::with_writable_constants(&lowered) {
                    llvm::optimize(self, toolchain, roots, &writable, optimized)?;
                    let written = verify::refuse_writes(&compile::read(optimized)?, &lowered);
                    written.map_err(|error| self.cannot_lower(error))?;
                }
                llvm::optimize(self, toolchain, roots, &lowered, optimized)?;
                let mut ir = compile::read(optimized)?;
                if let Some(plain) = local_atomics::lower(&ir) {
                    llvm::optimize(self, toolchain, roots, &plain, optimized)?;
                    ir = compile::read(optimized)?;
                }
                verify::refuse_tables(&ir).map_err(|error| self.cannot_lower(error))?;
                signs::lower(&ir).map_or(Ok(()), |ir| compile::write(optimized, &ir))
            })
        })?;
        self.report_generic_accesses(&parts)?;
        let Some(ptx) = merge(&ptx::generate(self, toolchain, &parts)?) else {
            return Ok(None);
        };
        limits::check_constants(&ptx)?;
        Ok(Some((parts, ptx)))
    }

    /// Warns about accesses that stayed generic, or returns an error, depending on the lint level. A part's messages
    /// are cached with the part.
    fn report_generic_accesses(&self, parts: &[Part]) -> Result<(), CudaBuilderError> {
        // Without optimization, most accesses are generic.
        if !self.release || self.generic_accesses == LintLevel::Allow {
            return Ok(());
        }
        let accesses = |part: &Part| -> Result<_, CudaBuilderError> {
            Ok(verify::generic_accesses(&compile::read(&part.optimized)?).into_iter())
        };
        for part in parts {
            let messages = part.cached("generic", |path| {
                let messages = accesses(part)?.map(|access| format!("{access}\0"));
                compile::write(path, &messages.collect::<String>())
            })?;
            if self.generic_accesses == LintLevel::Warn {
                messages.split_terminator('\0').for_each(compile::warn);
            } else if !messages.is_empty()
                && let Some(first) = accesses(part)?.next()
            {
                return Err(self.cannot_lower(first));
            }
        }
        Ok(())
    }

    fn deliver(
        self,
        toolchain: &DeviceToolchain,
        paths: &Paths,
        parts: Vec<Part>,
    ) -> Result<PathBuf, CudaBuilderError> {
        let mut module = String::new();
        if let Some(folder) = &self.final_modules_folder {
            parts::link_into(folder, &parts)?;
        }
        if self.final_module_path.is_some() || self.emit.is_some() {
            let parts = parts.iter().map(|part| compile::read(&part.optimized)).collect::<Result<_, _>>()?;
            module = join(parts).ok_or_else(|| CudaBuilderError::Tool {
                tool: toolchain.llvm.opt.clone(),
                problem: "wrote IR that this version of cuda_builder cannot read".to_owned(),
            })?;
        }
        if let Some(path) = &self.final_module_path {
            compile::write(path, &module)?;
        }
        let ptx = match &self.ptx_file_copy_path {
            Some(path) => {
                std::fs::copy(&paths.ptx, path)
                    .map_err(|source| CudaBuilderError::FailedToCopyPtxFile { path: path.clone(), source })?;
                path.clone()
            }
            None => paths.ptx.clone(),
        };
        match self.emit {
            None => {}
            Some(EmitOption::LlvmIr) => compile::write(&ptx.with_extension("ll"), &module)?,
            Some(EmitOption::Bitcode) => {
                compile::write(&paths.optimized, &module)?;
                llvm::assemble_bitcode(toolchain, &paths.optimized, &ptx.with_extension("bc"))?;
            }
        }
        Ok(ptx)
    }
}

/// Optimized parts, and their merged PTX.
type Compiled = (Vec<Part>, String);

/// The source of a part.
struct Source<'a> {
    /// The functions and variables that the part is compiled for, separated by commas. An empty list stands for all
    /// visible functions and variables.
    roots: &'a str,
    /// A key that identifies everything that the part's IR depends on.
    key: String,
    ir: &'a (dyn Fn() -> String + Sync),
}

/// Adds a first line to the PTX that names the tools that generated it. Also escapes all non-ASCII characters, such as
/// those in comments of an `asm!` block, because drivers reject them anywhere.
fn header(builder: &CudaBuilder, toolchain: &DeviceToolchain, ptx: &str) -> String {
    let ptx = match ptx.is_ascii() {
        true => Cow::Borrowed(ptx),
        false => Cow::Owned(
            ptx.bytes()
                .map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\{byte:03o}") })
                .collect(),
        ),
    };
    format!(
        "// cuda_builder {}: rustc {}, LLVM {}, {}\n{ptx}",
        env!("CARGO_PKG_VERSION"),
        toolchain.rustc.version,
        toolchain.llvm.version,
        builder.arch
    )
}
