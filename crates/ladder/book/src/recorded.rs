//! Output of commands that need special hardware or tools, stored in `docs/book/recorded`.

use std::fs;

use host::KERNELS;
use toolkit::Tool;

use crate::command::{CommandUse, OutputKind, run_command};
use crate::{FOLDER, read};

/// A file of `docs/book/recorded`: comments that name the tools, then the command and its output.
#[derive(Debug)]
pub struct Recorded {
    /// The path, relative to the repository's root.
    pub path: String,
    /// The tools that produced the output: the lines above the command, without `# `.
    pub made_by: Vec<String>,
    /// The arguments of `ladder`.
    pub arguments: String,
    /// The output of the command.
    pub printed: String,
}

impl Recorded {
    /// Reads the file with this name.
    ///
    /// # Errors
    /// Returns a message when the file does not exist or has no command.
    pub(crate) fn read(name: &str) -> Result<Self, String> {
        let path = format!("{FOLDER}/recorded/{name}");
        let text = read(&path)?;
        let (head, rest) = text.split_once("$ ladder ").ok_or_else(|| format!("{path} has no `$ ladder `"))?;
        let (arguments, printed) = rest.split_once('\n').unwrap_or((rest, ""));
        let made_by = head.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
        Ok(Self { path, made_by, arguments: arguments.to_owned(), printed: printed.to_owned() })
    }

    /// Reads all files, relative to the process's folder.
    ///
    /// # Errors
    /// Returns a message when a file cannot be read.
    pub fn all() -> Result<Vec<Self>, String> {
        let files = fs::read_dir(format!("{FOLDER}/recorded")).map_err(|why| why.to_string())?;
        let mut names: Vec<String> =
            files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.iter().map(|name| Self::read(name)).collect()
    }

    /// Runs the command again and returns the new record, or `None` if its tools are missing.
    ///
    /// # Errors
    /// Returns a message when the command fails.
    pub fn rerun(&self) -> Result<Option<Self>, String> {
        let Ok(ptxas) = toolkit::find(Tool::Ptxas) else { return Ok(None) };
        let output = run_command(&CommandUse { arguments: self.arguments.clone(), kind: OutputKind::Text });
        if output.code != 0 {
            return Err(format!("`ladder {}`: {}", self.arguments, output.err.trim()));
        }
        // The host's compiler does not affect the output.
        let compilers = KERNELS.toolchain(None);
        let device = compilers.split_once("device code by ").map_or(&*compilers, |(_, device)| device);
        let made_by = vec![format!("ptxas {}", ptxas.version), format!("device code by {device}")];
        let (path, arguments) = (self.path.clone(), self.arguments.clone());
        Ok(Some(Self { path, made_by, arguments, printed: output.out }))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Returns the I/O error when the file cannot be written.
    pub fn write(&self) -> std::io::Result<()> {
        let head: String = self.made_by.iter().map(|line| format!("# {line}\n")).collect();
        fs::write(&self.path, format!("{head}$ ladder {}\n{}", self.arguments, self.printed))
    }
}
