//! What commands printed that need more than a machine of everybody has, kept in `docs/book/recorded`.

use std::fs;

use host::KERNELS;
use toolkit::Tool;

use crate::command::{CommandUse, OutputKind, ended};
use crate::{FOLDER, read};

/// A file of `docs/book/recorded`: comments that say what made it, the command, and what it printed.
#[derive(Debug)]
pub struct Recorded {
    /// The file, from the repository's root.
    pub path: String,
    /// The lines above the command, without `# `: the tools that made it.
    pub made_by: Vec<String>,
    /// The arguments of `ladder`.
    pub arguments: String,
    /// What it printed.
    pub printed: String,
}

impl Recorded {
    /// The file of this name.
    ///
    /// # Errors
    /// When there is none, or it has no command.
    pub(crate) fn read(name: &str) -> Result<Self, String> {
        let path = format!("{FOLDER}/recorded/{name}");
        let text = read(&path)?;
        let (head, rest) = text.split_once("$ ladder ").ok_or_else(|| format!("{path} has no `$ ladder `"))?;
        let (arguments, printed) = rest.split_once('\n').unwrap_or((rest, ""));
        let made_by = head.lines().filter_map(|line| line.strip_prefix("# ")).map(str::to_owned).collect();
        Ok(Self { path, made_by, arguments: arguments.to_owned(), printed: printed.to_owned() })
    }

    /// All files, below the process's folder.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn all() -> Result<Vec<Self>, String> {
        let files = fs::read_dir(format!("{FOLDER}/recorded")).map_err(|why| why.to_string())?;
        let mut names: Vec<String> =
            files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.iter().map(|name| Self::read(name)).collect()
    }

    /// What the command prints here and now; `None` where its tools are missing.
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn again(&self) -> Result<Option<Self>, String> {
        let Ok(ptxas) = toolkit::find(Tool::Ptxas) else { return Ok(None) };
        let ended = ended(&CommandUse { arguments: self.arguments.clone(), wanted: OutputKind::Text });
        if ended.code != 0 {
            return Err(format!("`ladder {}`: {}", self.arguments, ended.err.trim()));
        }
        // Without the host's compiler, which has no part in it.
        let compilers = KERNELS.toolchain(None);
        let device = compilers.split_once("device code by ").map_or(&*compilers, |(_, device)| device);
        let made_by = vec![format!("ptxas {}", ptxas.version), format!("device code by {device}")];
        let (path, arguments) = (self.path.clone(), self.arguments.clone());
        Ok(Some(Self { path, made_by, arguments, printed: ended.out }))
    }

    /// Writes the file anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> std::io::Result<()> {
        let head: String = self.made_by.iter().map(|line| format!("# {line}\n")).collect();
        fs::write(&self.path, format!("{head}$ ladder {}\n{}", self.arguments, self.printed))
    }
}
