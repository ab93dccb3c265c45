//! Replaces a linker: collects the codegen units of the crate and the library members that they use.
//!
//! rustc compiles one or two units per Rust module, and after an edit, it recompiles only the changed units. Link-time
//! optimization in rustc could join the units, but it would process every unit again after every edit.
//!
//! A library (`.rlib`) is an archive of bitcode with an index of symbols. A linker takes the members that define
//! missing symbols.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use object::ReadCache;
use object::read::archive::{ArchiveFile, ArchiveOffset};

use crate::builder::CudaBuilder;
use crate::compile::{self, Output, Paths, io, joined, read};
use crate::error::CudaBuilderError;
use crate::llvm;
use crate::module::{is_exported_name, undefined};
use crate::panics;
use crate::toolchain::DeviceToolchain;

/// The file extension of the objects that rustc would link. They contain bitcode.
const OBJECT: &str = ".rcgu.o";
const LOCK: &str = "lock";

/// The IR modules of a program.
pub(crate) struct Modules {
    /// The texts of the modules. Modules of libraries come last.
    pub(crate) texts: Vec<String>,
    /// The number of modules that belong to the crate itself.
    pub(crate) units: usize,
}

/// Compiles the crate and its dependencies into modules of unoptimized IR. Returns `None` if rustc would also link
/// files that do not contain IR.
pub(crate) fn to_modules(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    paths: &Paths,
) -> Result<Option<Modules>, CudaBuilderError> {
    let _lock = lock(paths)?;
    // An interrupted build can leave objects with other names.
    remove_files(&paths.units, is_object);
    compile::run_cargo(builder, toolchain, paths, Output::Units)?;
    let mut objects: Vec<PathBuf> = files(&paths.units).filter(|path| is_object(path)).collect();
    objects.sort_unstable();
    let mut used = vec![paths.units.join(LOCK)];
    let mut texts = Vec::new();
    for object in &objects {
        let mut ir = object.with_extension("ll");
        // rustc writes no IR for the additional unit of a crate with an allocator. It writes the IR of a single-unit
        // crate to another path.
        if !ir.is_file() {
            ir = joined(object, ".ll").into();
            llvm::disassemble(toolchain, object, &ir)?;
        }
        let Ok(text) = read(&ir) else {
            return Ok(None);
        };
        texts.push(text);
        used.push(ir);
    }
    let Some(krate) = objects.first().and_then(|object| object.file_name()?.to_str()?.split('.').next()) else {
        return Ok(None);
    };
    let libraries = paths.libraries(krate)?;
    let units = texts.len();
    let libraries = libraries.iter().map(|path| Library::open(path)).collect::<Result<Option<Vec<_>>, _>>()?;
    let Some(mut libraries) = libraries else {
        return Ok(None);
    };

    let mut missing: HashSet<String> = texts.iter().flat_map(|unit| undefined(unit)).map(str::to_owned).collect();
    // A symbol that a member needs can be defined in an earlier library.
    loop {
        let before = texts.len();
        for library in &mut libraries {
            for (name, bitcode) in library.take(&missing)? {
                let (path, text) = library.disassembled(toolchain, paths, &name, &bitcode)?;
                missing.extend(undefined(&text).map(str::to_owned));
                used.push(path);
                texts.push(text);
            }
        }
        if texts.len() == before {
            break;
        }
    }
    // Removes the objects and the files of earlier builds.
    remove_files(&paths.units, |path| !used.contains(&path.to_owned()));
    Ok(Some(Modules { texts, units }))
}

/// Locks the folder of units against other builds of the crate until the file is dropped. On a file system without
/// locks, the folder is not locked.
fn lock(paths: &Paths) -> Result<File, CudaBuilderError> {
    fs::create_dir_all(&paths.units).map_err(io(&paths.units))?;
    let path = paths.units.join(LOCK);
    let lock = File::create(&path).map_err(io(&path))?;
    let _ = lock.lock();
    Ok(lock)
}

/// Compiles the crate and its dependencies into one module of unoptimized IR.
pub(crate) fn to_one_module(
    builder: &CudaBuilder,
    toolchain: &DeviceToolchain,
    paths: &Paths,
) -> Result<Modules, CudaBuilderError> {
    let _lock = lock(paths)?;
    compile::run_cargo(builder, toolchain, paths, Output::Module)?;
    remove_files(&paths.units, is_object);
    Ok(Modules { texts: vec![read(&paths.raw)?], units: 1 })
}

struct Library {
    path: PathBuf,
    cache: ReadCache<File>,
    /// The members that have not been taken yet, by the symbols that they define.
    index: HashMap<String, ArchiveOffset>,
}

impl Library {
    /// Opens a library. Returns `None` if it has members but no index of their symbols.
    fn open(path: &Path) -> Result<Option<Self>, CudaBuilderError> {
        let cache = ReadCache::new(File::open(path).map_err(io(path))?);
        let mut library = Self { path: path.to_owned(), cache, index: HashMap::new() };
        let index = library.symbols().map_err(|error| library.unreadable(error))?;
        Ok(index.map(|index| {
            library.index = index;
            library
        }))
    }

    fn unreadable(&self, error: object::read::Error) -> CudaBuilderError {
        io(&self.path)(std::io::Error::other(error))
    }

    fn symbols(&self) -> object::read::Result<Option<HashMap<String, ArchiveOffset>>> {
        let archive = ArchiveFile::parse(&self.cache)?;
        let Some(symbols) = archive.symbols()? else {
            let mut members = archive.members();
            let has_code = members.any(|member| member.is_ok_and(|member| member.name().ends_with(b".o")));
            return Ok((!has_code).then(HashMap::new));
        };
        let named = symbols.map(|symbol| {
            let symbol = symbol?;
            Ok((String::from_utf8_lossy(symbol.name()).into_owned(), symbol.offset()))
        });
        named.collect::<object::read::Result<_>>().map(Some)
    }

    /// Takes the members that define a missing symbol or a symbol that every program contains. Returns the members'
    /// names and bitcode.
    fn take(&mut self, missing: &HashSet<String>) -> Result<Vec<(String, Vec<u8>)>, CudaBuilderError> {
        let file = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // Only compilers insert calls to these symbols, so no program exports them.
        let are_exports = !file.starts_with("libcompiler_builtins-");
        let is_required = |name: &String| {
            missing.contains(name) || panics::is_replacement(name) || are_exports && is_exported_name(name)
        };
        let required = self.index.iter().filter(|(name, _)| is_required(name));
        let mut offsets: Vec<_> = required.map(|(_, offset)| offset.0).collect();
        offsets.sort_unstable();
        offsets.dedup();
        self.index.retain(|_, offset| offsets.binary_search(&offset.0).is_err());
        let read = |offset: &u64| {
            let archive = ArchiveFile::parse(&self.cache)?;
            let member = archive.member(ArchiveOffset(*offset))?;
            let name = String::from_utf8_lossy(member.name()).into_owned();
            Ok((name, member.data(&self.cache)?.to_owned()))
        };
        let members: object::read::Result<_> = offsets.iter().map(read).collect();
        members.map_err(|error| self.unreadable(error))
    }

    /// Returns the IR of a member. A file of an earlier build is reused if its modification time equals the library's.
    fn disassembled(
        &self,
        toolchain: &DeviceToolchain,
        paths: &Paths,
        name: &str,
        bitcode: &[u8],
    ) -> Result<(PathBuf, String), CudaBuilderError> {
        let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
        let age = modified(&self.path).map_err(io(&self.path))?;
        let path = paths.units.join(format!("{name}.ll"));
        if modified(&path).ok() != Some(age) {
            let from = paths.units.join(format!("{name}.bc"));
            fs::write(&from, bitcode).map_err(io(&from))?;
            llvm::disassemble(toolchain, &from, &path)?;
            let file = File::options().append(true).open(&path);
            file.and_then(|file| file.set_modified(age)).map_err(io(&path))?;
        }
        let text = read(&path)?;
        Ok((path, text))
    }
}

fn is_object(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(OBJECT))
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Removes files from a folder. A file that cannot be removed takes up space but is harmless.
fn remove_files(folder: &Path, is_removed: impl Fn(&Path) -> bool) {
    for path in files(folder).filter(|path| is_removed(path)) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests;
