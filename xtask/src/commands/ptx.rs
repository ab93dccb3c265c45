//! `cargo xtask ptx`.

use std::path::PathBuf;

use comfy_table::Table;
use cuda_builder::NvvmArch;
use toolkit::Tool;

use crate::cli::Ptx;
use crate::failure::{Failure, Result};
use crate::kernels;
use crate::ptx::{Function, Module};
use crate::show::source::{Interleave, Sources};
use crate::show::{diff, list, llvm, print, sass, select, stats};
use crate::style::status;
use crate::tools::{assemble, root};

/// What is looked at: the kernels as built, or a file.
struct Subject {
    module: Module,
    ptx: PathBuf,
    llvm: Option<PathBuf>,
    /// The architecture to assemble for.
    arch: String,
}

/// Shows kernels.
///
/// # Errors
/// When they do not compile, when none or several match, and when a tool is missing.
pub fn ptx(options: &Ptx) -> Result<()> {
    let subject = subject(options)?;
    let module = &subject.module;
    let text = if let Some(pair) = &options.diff {
        let [a, b] = [&pair[0], &pair[1]].map(|pattern| select::select(module, pattern));
        let layout = match options.unified {
            true => diff::Layout::Unified,
            false => diff::Layout::for_width(Table::new().width().map(usize::from)),
        };
        diff::text(module, a?, b?, layout)
    } else if let Some(pattern) = &options.pattern {
        one(&subject, select::select(module, pattern)?, options)?
    } else {
        listed(&subject, options.json)
    };
    anstream::print!("{text}");
    Ok(())
}

fn subject(options: &Ptx) -> Result<Subject> {
    let Some(file) = &options.file else {
        let arch = options.arch.unwrap_or(kernels::NEWEST);
        let built = kernels::build(arch)?;
        return Ok(Subject {
            module: built.module,
            ptx: built.ptx,
            llvm: Some(built.llvm),
            arch: assembled(arch),
        });
    };
    let module = kernels::read(file)?;
    // What the file was made for, unless it should be assembled for something newer.
    let target = module
        .target
        .first()
        .and_then(|target| target.parse::<NvvmArch>().ok());
    let arch = assembled(options.arch.or(target).unwrap_or_default());
    Ok(Subject {
        module,
        ptx: file.clone(),
        llvm: None,
        arch,
    })
}

/// The GPU to assemble for. NVIDIA's tools have left those before Turing behind; PTX for them runs on it.
fn assembled(arch: NvvmArch) -> String {
    arch.max(NvvmArch::Compute75).sm()
}

fn one(subject: &Subject, function: &Function, options: &Ptx) -> Result<String> {
    let Subject {
        module,
        ptx,
        llvm,
        arch,
    } = subject;
    let mut sources = sources(ptx);
    if options.sass {
        let (ptxas, nvdisasm) = (need(Tool::Ptxas)?, need(Tool::Nvdisasm)?);
        status(
            "Assembling",
            format_args!("{} for {arch} with ptxas {}", function.name, ptxas.version),
        );
        let disassembly =
            assemble::sass(&ptxas, &nvdisasm, ptx, &function.name, arch, options.rust)?;
        let interleave = options.rust.then(|| Interleave::new(module, &mut sources));
        return sass::function(&disassembly, &function.name, interleave);
    }
    if options.stats {
        return Ok(stats::text(function));
    }
    if options.llvm {
        let path = llvm
            .as_ref()
            .ok_or_else(|| Failure::request("a PTX file has no LLVM IR"))?;
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
        return llvm::function(&text, &function.name);
    }
    let how = print::Options {
        verbatim: options.verbatim,
    };
    Ok(print::function(
        module,
        function,
        how,
        options.rust.then_some(&mut sources),
    ))
}

fn need(tool: Tool) -> Result<toolkit::Found> {
    toolkit::find(tool).map_err(|error| Failure::new(error.to_string()))
}

/// Paths in PTX are relative to this repository, to the kernels' crate (rustc's own are), or to the file.
fn sources(ptx: &std::path::Path) -> Sources {
    let beside = ptx.parent().map(std::path::Path::to_owned);
    Sources::new(
        [root(), kernels::krate()]
            .into_iter()
            .chain(beside)
            .collect(),
    )
}

/// The list, with the registers where `ptxas` is to be had.
fn listed(subject: &Subject, json: bool) -> String {
    let Subject {
        module, ptx, arch, ..
    } = subject;
    let usages = need(Tool::Ptxas).and_then(|ptxas| assemble::usages(&ptxas, ptx, arch));
    let rows = match &usages {
        Ok(usages) => list::rows(module, Some((arch, usages))),
        Err(failure) => {
            let reason = failure.message.lines().next().unwrap_or_default();
            status(
                "Without",
                format_args!("registers, shared memory and spills: {reason}"),
            );
            list::rows(module, None)
        }
    };
    if json {
        list::json(&rows)
    } else {
        list::text(&rows)
    }
}
