//! The PTX modules that a device can run. Each entry is compiled when it is first launched.

use std::collections::{BTreeMap, HashMap};

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

use crate::Ptx;
use crate::error::{Error, Needs};
use crate::launch::{Code, Launch};

/// PTX sources, and the result `M` of compiling each of their entries.
pub(super) struct Codes<M> {
    kernels: &'static [Ptx],
    /// The module of the program's kernels that the device runs.
    chosen_ptx: Option<&'static Ptx>,
    loaded: Vec<Outline<'static>>,
    /// The results by source and entry. The entry is `None` if the source was compiled as a whole.
    compiled: HashMap<(Code, Option<String>), Compiled<M>>,
    capability: Option<(u32, u32)>,
    lines: SourceLines,
}

/// The result of compiling one PTX text.
pub(super) struct Compiled<M> {
    pub(super) module: M,
    /// The size in bytes of each parameter, by entry.
    pub(super) parameters: BTreeMap<String, Vec<u32>>,
}

impl<M> Codes<M> {
    /// Selects the newest of `kernels` that a device with this compute capability can run.
    pub(super) fn new(kernels: &'static [Ptx], capability: Option<(u32, u32)>, lines: SourceLines) -> Self {
        // A device too old for all modules gets the oldest module, so that the driver reports why it cannot run that
        // module.
        let chosen_ptx = Ptx::newest(kernels, capability).or(kernels.first());
        Self { kernels, chosen_ptx, loaded: Vec::new(), compiled: HashMap::new(), capability, lines }
    }

    pub(super) fn load(&mut self, text: String) -> Code {
        self.loaded.push(Outline::new(text));
        Code::Loaded(u32::try_from(self.loaded.len() - 1).unwrap_or(u32::MAX))
    }

    fn outline(&self, code: Code) -> Result<Option<&Outline<'static>>, Error> {
        match code {
            Code::Kernels => self.chosen_ptx.map(Ptx::read).transpose(),
            Code::Loaded(index) => Ok(self.loaded.get(index as usize)),
        }
    }

    /// Returns the compiled module that contains the launch's entry. Compiles the module first if necessary. The module
    /// holds only this entry, or the whole source when the entry cannot be extracted.
    ///
    /// # Errors
    /// Returns [`Error::Launch`] when the code or the entry does not exist, and [`Error::NeedsNewer`] when only other
    /// devices have the entry. Also returns the errors of [`Ptx::read`], and the compiler's error when the entry does
    /// not compile.
    pub(super) fn get(
        &mut self,
        launch: &Launch,
        mut compile: impl FnMut(&str) -> Result<M, Error>,
    ) -> Result<&Compiled<M>, Error> {
        let (mut key, whole) = ((launch.code, Some(launch.entry.clone())), (launch.code, None));
        if !self.compiled.contains_key(&key) {
            let not_loaded = || Error::launch(launch, format!("{:?} was not loaded into this device", launch.code));
            let outline = self.outline(launch.code)?.ok_or_else(not_loaded)?;
            if !outline.has_entry(&launch.entry) {
                let missing = || Error::launch(launch, "the PTX has no such entry");
                return Err(self.check_supported(launch).unwrap_or_else(missing));
            }
            // The compiler can reject an extracted entry because the extraction is wrong. The compiler's error is only
            // reported if the compiler rejects the whole source too.
            let extracted = extract(outline, &launch.entry, self.lines);
            let extracted = extracted.and_then(|text| Some(Compiled::new(compile(&text).ok()?, &Outline::new(text))));
            let new = match extracted {
                None if self.compiled.contains_key(&whole) => return Ok(&self.compiled[&whole]),
                None => {
                    key = whole;
                    Compiled::new(compile(outline.text())?, outline)
                }
                Some(extracted) => extracted,
            };
            self.compiled.insert(key.clone(), new);
        }
        Ok(&self.compiled[&key])
    }

    /// Returns the error for a kernel that only other devices have.
    pub(super) fn check_supported(&self, launch: &Launch) -> Option<Error> {
        let has = self.capability?;
        let has_entry = |ptx: &&'static Ptx| ptx.has_entry(&launch.entry);
        if launch.code != Code::Kernels || self.chosen_ptx.as_ref().is_some_and(has_entry) {
            return None;
        }
        let other = self.kernels.iter().find(has_entry)?;
        let needs = Needs { entry: launch.entry.clone(), capability: other.capability, only: other.only, has };
        Some(Error::NeedsNewer { needs, instead: None })
    }
}

impl<M> Compiled<M> {
    fn new(module: M, ptx: &Outline<'_>) -> Self {
        let entries = ptx.entries();
        Self { module, parameters: entries.map(|entry| (entry.name.to_owned(), entry.parameter_bytes)).collect() }
    }
}

#[cfg(test)]
mod tests;
