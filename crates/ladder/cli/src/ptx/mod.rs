//! `ladder ptx`: shows the kernels' PTX, SASS, LLVM IR and instruction counts.

mod diff;
mod highlight;
mod list;
mod llvm;
mod print;
mod sass;
mod select;
mod source;
mod stats;
mod style;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, FromArgMatches};
use toolkit::{Found, Tool, Usage, ptxas};

use self::source::Interleave;
use crate::command::{Command, Env};
use crate::error::Error;
use crate::output::Document;
use engine::{Catalog, Kernels};
use ptx::ast::{At, Function, Module};
use ptx::{ParseError, Source};

pub(crate) const PTX: Command = Command {
    name: "ptx",
    about: "Show the kernels' PTX, the Rust it comes from, their machine code and their instruction counts; \
            without a name, list the ladders",
    arguments: |command, _| Ptx::augment_args(command),
    execute: |matches, env, to| ptx(&Ptx::from_arg_matches(matches)?, env, to.out, to.err),
};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("form").args(["sass", "stats", "llvm", "diff", "json"])))]
struct Ptx {
    /// Kernels. A rung selects its default entry. An entry is selected by its name or a unique part of it. A ladder
    /// selects the entries of its rungs; without a form, they are listed
    #[arg(value_name = "LADDER|RUNG|ENTRY")]
    names: Vec<String>,
    /// Show the Rust lines that instructions come from
    #[arg(long, requires = "names", conflicts_with_all = ["stats", "llvm", "diff", "json"])]
    rust: bool,
    /// Show SASS, the GPU's machine instructions
    #[arg(long, requires = "names")]
    sass: bool,
    /// Count instructions by class, and memory operations by space and width
    #[arg(long, requires = "names")]
    stats: bool,
    /// Show LLVM IR
    #[arg(long, requires = "names", conflicts_with = "file")]
    llvm: bool,
    /// Compare two kernels
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "names")]
    diff: Option<Vec<String>>,
    /// Keep .loc directives, comments and unused labels
    #[arg(long, requires = "names", conflicts_with_all = ["form"])]
    verbatim: bool,
    /// The architecture, such as sm_75. For PTX, the kernels must be compiled for it; for SASS and registers, it may be
    /// newer [default: the newest one that the kernels are compiled for]
    #[arg(long, value_parser = Arch::parse)]
    arch: Option<Arch>,
    /// Read this PTX file instead of the kernels of this program
    #[arg(long, value_name = "PTX")]
    file: Option<PathBuf>,
    /// Show the PTX of all rungs of a ladder; without a name, list all kernels
    #[arg(long, conflicts_with_all = ["form"])]
    all: bool,
    /// Print the list of all kernels as JSON
    #[arg(long, conflicts_with = "names")]
    json: bool,
}

impl Ptx {
    /// Returns whether the user named a ladder without requesting a form that shows all of its kernels.
    fn is_list_of_ladders(&self, catalog: &Catalog) -> bool {
        let is_text = self.all || self.rust || self.sass || self.stats || self.llvm || self.verbatim;
        !is_text && catalog.ladders.iter().any(|ladder| self.names.iter().any(|name| name == ladder.name))
    }
}

/// An architecture, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arch {
    /// The name that `ptxas` accepts: `sm_90`, `sm_90a`.
    name: String,
    capability: (u32, u32),
}

impl Arch {
    /// The oldest architecture that NVIDIA's tools still support. Its GPUs also run PTX for older architectures.
    const TURING: (u32, u32) = (7, 5);

    /// Parses `sm_90`, `sm_90a` or `compute_90`.
    fn parse(text: &str) -> Result<Self, String> {
        let arch = || {
            let number = text.strip_prefix("sm_").or(text.strip_prefix("compute_"))?;
            let digits = number.trim_end_matches(['a', 'f']);
            let value: u32 = digits.parse().ok().filter(|_| digits.len() >= 2)?;
            let capability = (value / 10, value % 10);
            Some(Self { name: format!("sm_{number}"), capability })
        };
        arch().ok_or_else(|| "write an architecture as sm_90 or compute_90".to_owned())
    }

    fn of((major, minor): (u32, u32)) -> Self {
        Self { name: format!("sm_{major}{minor}"), capability: (major, minor) }
    }
}

#[derive(Debug)]
struct Listing<'a> {
    source: Source<'a>,
    tree: Module<'a>,
}

impl<'a> Listing<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        Ok(Self { source: Source::new(text), tree: ptx::parse(text)? })
    }

    /// Returns the line of a position, counted from 1.
    fn line(&self, at: At) -> u32 {
        self.source.line_column(at).0
    }
}

/// The text to show: a program's kernels, or a file.
struct Subject {
    text: Cow<'static, str>,
    /// The program's module that contains the text; `None` for a file.
    module: Option<&'static engine::Ptx>,
    /// The LLVM IR that the text was compiled from.
    llvm: Option<PathBuf>,
    /// The architecture to assemble for; `None` for the architecture that the file names.
    arch: Option<String>,
    /// The folders that relative paths of source files can start from. Paths are shown relative to the first one.
    roots: Vec<PathBuf>,
}

fn ptx(args: &Ptx, env: &Env<'_>, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, Error> {
    let subject = Subject::new(args, env.catalog)?;
    let file = args.file.as_deref().unwrap_or(Path::new("the kernels"));
    let not_ptx = |error| Error::Source(format!("{} is not valid PTX: {error}", file.display()));
    let listing = Listing::new(&subject.text).map_err(not_ptx)?;
    // The catalog does not describe the kernels of a file.
    let catalog = args.file.is_none().then_some(env.catalog);
    let mut text = String::new();
    if let Some(pair) = &args.diff {
        let function = |name: &String| select::select_one(&listing.tree, catalog, name);
        text += &diff::text(&listing, function(&pair[0])?, function(&pair[1])?);
    } else if let (true, false, false, Some(catalog)) = (args.names.is_empty(), args.all, args.json, catalog) {
        text += &list::ladders(&listing.tree, catalog).text(env.style());
    } else if args.names.is_empty() {
        let usages = |assembler: &Found, arch: &str| ptxas::usages(assembler, listing.source.text(), arch);
        let all = list(&subject, &listing, list::entries(&listing.tree), usages, err);
        text += &if args.json { all.json() } else { all.text(env.style()) };
    } else if let (true, Some(module)) = (args.is_list_of_ladders(env.catalog), subject.module) {
        let functions = select::select(&listing.tree, catalog, &args.names)?;
        let usages = |assembler: &Found, arch: &str| {
            let each = functions.iter().map(|function| ptxas::usages(assembler, &module.part(function.name), arch));
            Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        };
        let mut listed = list(&subject, &listing, functions.iter().copied(), usages, err);
        listed.note("`ladder ptx RUNG` shows one kernel, --all shows all of these");
        text += &listed.text(env.style());
    } else {
        let functions = select::select(&listing.tree, catalog, &args.names)?;
        for (index, function) in functions.into_iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text += &show(&subject, &listing, function, args, err)?;
        }
    }
    if !env.terminal {
        text = anstream::adapter::strip_str(&text).to_string();
    }
    out.write_all(text.as_bytes())?;
    Ok(0)
}

impl Subject {
    fn new(args: &Ptx, catalog: &Catalog) -> Result<Self, Error> {
        // `ptxas` assembles for the PTX's architecture and any newer one.
        let is_list = (args.names.is_empty() && args.diff.is_none()) || args.is_list_of_ladders(catalog);
        let is_assembled = args.sass || is_list;
        match &args.file {
            Some(file) => Self::of_file(file, args.arch.as_ref()),
            None => Self::of_kernels(catalog.kernels, args.arch.as_ref(), is_assembled),
        }
    }

    fn of_kernels(kernels: &'static Kernels, requested: Option<&Arch>, is_assembled: bool) -> Result<Self, Error> {
        let capability = requested.map(|arch| arch.capability);
        let module = kernels
            .newest_for(capability)?
            .filter(|module| is_assembled || capability.is_none_or(|requested| requested == module.capability))
            .ok_or_else(|| {
                let compiled: Vec<String> = kernels.modules.iter().map(|module| module.arch("sm")).collect();
                let (last, others) = compiled.split_last().map_or(("", &[][..]), |(last, others)| (&**last, others));
                Error::Request(format!(
                    "there are no kernels for {}: they are compiled for {} and {last}; --sass assembles them for these \
                     and newer architectures",
                    requested.map_or("", |arch| &arch.name),
                    others.join(", ")
                ))
            })?;
        let llvm = format!("kernels.{}.llvm", module.arch("compute"));
        Ok(Self {
            text: Cow::Borrowed(module.text()),
            module: Some(module),
            llvm: Some(Path::new(kernels.build_folder).join(llvm)),
            arch: Some(requested.map_or_else(|| module.arch("sm"), |arch| module.assembled_for(&arch.name))),
            roots: kernels.source_folders(),
        })
    }

    fn of_file(file: &Path, requested: Option<&Arch>) -> Result<Self, Error> {
        Ok(Self {
            text: Cow::Owned(read(file)?),
            module: None,
            llvm: None,
            arch: requested.map(|arch| arch.name.clone()),
            roots: file.parent().map(Path::to_owned).into_iter().collect(),
        })
    }

    /// Returns the architecture for which `ptxas` assembles.
    fn arch(&self, listing: &Listing<'_>) -> String {
        self.arch.clone().unwrap_or_else(|| {
            let target = listing.tree.target.first();
            let arch = target.and_then(|target| Arch::parse(target).ok());
            arch.filter(|arch| arch.capability >= Arch::TURING).map_or(Arch::of(Arch::TURING).name, |arch| arch.name)
        })
    }
}

/// Shows one function in the requested form.
fn show(
    subject: &Subject,
    listing: &Listing<'_>,
    function: &Function<'_>,
    args: &Ptx,
    err: &mut dyn Write,
) -> Result<String, Error> {
    let name = function.name;
    let interleave = args.rust.then(|| Interleave::new(&subject.roots));
    if args.sass {
        let assembler = toolkit::find(Tool::Ptxas)?;
        let disassembler = toolkit::find(Tool::Nvdisasm)?;
        let arch = subject.arch(listing);
        let what = format!("{name} for {arch} with ptxas {}", assembler.version);
        style::status(err, "Assembling", &what);
        let (text, lines) = (listing.source.text(), args.rust);
        let code = ptxas::sass(&assembler, &disassembler, text, name, &arch, lines)?;
        return sass::function(&code, name, interleave);
    }
    if args.stats {
        return Ok(stats::text(function));
    }
    if args.llvm {
        // clap refuses --llvm with --file, so there is a folder.
        let folder = subject.llvm.as_deref().unwrap_or(Path::new(""));
        return llvm::function_in(folder, name);
    }
    let verbatim = args.verbatim;
    Ok(print::function(listing, function, verbatim, interleave))
}

/// Returns the kernels of a PTX text with the Rust lines that the instructions come from, in color on a terminal.
pub(crate) fn with_rust(text: &str, env: &Env<'_>) -> Result<String, Error> {
    let listing = Listing::new(text).map_err(|error| Error::Source(format!("the text is not valid PTX: {error}")))?;
    let kernels = listing.tree.functions.iter().filter(|function| function.entry);
    let roots = env.catalog.kernels.source_folders();
    let rust = || Some(Interleave::new(&roots));
    let text = kernels.map(|kernel| print::function(&listing, kernel, false, rust())).collect::<Vec<_>>().join("\n");
    Ok(if env.terminal { text } else { anstream::adapter::strip_str(&text).to_string() })
}

/// The texts of a module's entries, with terminal colors.
pub(crate) struct Texts {
    module: &'static engine::Ptx,
    roots: Vec<PathBuf>,
    listing: Listing<'static>,
    /// `ptxas` and `nvdisasm`.
    tools: Result<[Found; 2], toolkit::Error>,
}

impl Texts {
    pub(crate) fn of(kernels: &'static Kernels, module: &'static engine::Ptx) -> Result<Self, Error> {
        let listing = Listing::new(module.text());
        let listing = listing.map_err(|error| Error::Source(format!("the kernels are not valid PTX: {error}")))?;
        let tools = toolkit::find(Tool::Ptxas).and_then(|ptxas| Ok([ptxas, toolkit::find(Tool::Nvdisasm)?]));
        Ok(Self { module, roots: kernels.source_folders(), listing, tools })
    }

    /// Returns an entry's PTX, with the Rust lines that instructions come from; `None` if the module does not have the
    /// entry.
    pub(crate) fn ptx(&self, entry: &str) -> Option<String> {
        let mut functions = self.listing.tree.functions.iter();
        let function = functions.find(|function| function.entry && function.name == entry)?;
        Some(print::function(&self.listing, function, false, Some(Interleave::new(&self.roots))))
    }

    /// Returns an entry's machine code for an architecture.
    pub(crate) fn sass(&self, entry: &str, arch: &str) -> Result<String, Error> {
        let [assembler, disassembler] = self.tools.as_ref().map_err(|error| error.clone())?;
        let arch = self.module.assembled_for(arch);
        let code = ptxas::sass(assembler, disassembler, &self.module.part(entry), entry, &arch, false)?;
        sass::function(&code, entry, None)
    }
}

fn read(path: &Path) -> Result<String, Error> {
    let failed = |error| Error::Source(format!("cannot read {}: {error}", path.display()));
    std::fs::read_to_string(path).map_err(failed)
}

/// Lists these kernels, with their registers if `ptxas` is installed. `usages` runs `ptxas` for an architecture.
fn list<'m, 'a: 'm>(
    subject: &Subject,
    listing: &Listing<'a>,
    kernels: impl Iterator<Item = &'m Function<'a>>,
    usages: impl Fn(&Found, &str) -> Result<BTreeMap<String, Usage>, toolkit::Error>,
    err: &mut dyn Write,
) -> Document {
    let arch = subject.arch(listing);
    let assembled = toolkit::find(Tool::Ptxas).and_then(|assembler| Ok((&*arch, usages(&assembler, &arch)?)));
    if let Err(error) = &assembled {
        let what = format!("registers, shared memory and spills: {error}");
        style::status(err, "Without", &what);
    }
    list::document(&list::rows(kernels, assembled.ok()))
}
