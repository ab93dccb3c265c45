//! The PTX modules that a device knows, with each entry compiled when it is first launched.

use std::collections::BTreeMap;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

use crate::Ptx;
use crate::error::Error;
use crate::launch::{Code, Launch};

/// PTX sources, and the result `M` of compiling each of their entries.
pub(super) struct Codes<M> {
    kernels: &'static [Ptx],
    /// The program's own kernels first, then the sources that were loaded later.
    sources: Vec<Source>,
    /// The results by source and entry. The entry is `None` when the whole source was compiled at once.
    compiled: BTreeMap<(usize, Option<String>), Compiled<M>>,
    capability: Option<(u32, u32)>,
    lines: SourceLines,
}

enum Source {
    Kernels(&'static Ptx),
    Loaded(Outline<'static>),
}

/// The result of compiling one text.
pub(super) struct Compiled<M> {
    pub(super) module: M,
    /// The size in bytes of each parameter, by entry.
    pub(super) parameters: BTreeMap<String, Vec<u32>>,
}

impl<M> Codes<M> {
    /// Takes the newest of `kernels` that a device of this compute capability can run.
    pub(super) fn new(kernels: &'static [Ptx], capability: Option<(u32, u32)>, lines: SourceLines) -> Self {
        // A device too old for all modules gets the oldest, so that its driver reports why it cannot run it.
        let own = Ptx::newest(kernels, capability).or(kernels.first());
        Self {
            kernels,
            sources: own.map(Source::Kernels).into_iter().collect(),
            compiled: BTreeMap::new(),
            capability,
            lines,
        }
    }

    pub(super) fn load(&mut self, text: String) -> Code {
        let place = self.sources.len();
        self.sources.push(Source::Loaded(Outline::new(text)));
        Code::Loaded(u32::try_from(place - 1).unwrap_or(u32::MAX))
    }

    /// Returns the compiled module that has the launch's entry, and compiles it first if necessary.
    ///
    /// # Errors
    /// [`Error::Launch`] when the code or the entry does not exist, [`Error::NeedsNewer`] when only newer devices have
    /// the entry, and the compiler's error when the entry does not compile.
    pub(super) fn get(
        &mut self,
        launch: &Launch,
        compile: impl FnMut(&str) -> Result<M, Error>,
    ) -> Result<&Compiled<M>, Error> {
        let place = match launch.code {
            Code::Kernels => 0,
            Code::Loaded(index) => 1 + index as usize,
        };
        let own = (place, Some(launch.entry.clone()));
        let key = if self.compiled.contains_key(&own) { own } else { self.compile(launch, own, compile)? };
        Ok(&self.compiled[&key])
    }

    /// Compiles the entry alone, or the whole source when the entry cannot be extracted. Returns the key of the
    /// result.
    fn compile(
        &mut self,
        launch: &Launch,
        own: (usize, Option<String>),
        mut compile: impl FnMut(&str) -> Result<M, Error>,
    ) -> Result<(usize, Option<String>), Error> {
        let source = self
            .sources
            .get(own.0)
            .ok_or_else(|| Error::launch(launch, format!("{:?} was not loaded into this device", launch.code)))?;
        let outline = source.outline();
        if !outline.has_entry(&launch.entry) {
            let missing = || Error::launch(launch, "the PTX has no such entry");
            return Err(self.check_supported(launch).unwrap_or_else(missing));
        }
        let part = extract(outline, &launch.entry, self.lines);
        // The compiler may reject an extracted entry because the extraction was wrong. The error is only reported if
        // the compiler rejects the whole source too.
        if let Some(part) = part
            && let Ok(module) = compile(&part)
        {
            let compiled = Compiled::new(module, &Outline::new(part));
            self.compiled.insert(own.clone(), compiled);
            return Ok(own);
        }
        let whole = (own.0, None);
        if !self.compiled.contains_key(&whole) {
            let compiled = Compiled::new(compile(outline.text())?, outline);
            self.compiled.insert(whole.clone(), compiled);
        }
        Ok(whole)
    }

    /// The error for a kernel that only newer devices have.
    pub(super) fn check_supported(&self, launch: &Launch) -> Option<Error> {
        let has = self.capability?;
        if launch.code != Code::Kernels || self.sources[0].outline().has_entry(&launch.entry) {
            return None;
        }
        let kernels: &'static [Ptx] = self.kernels;
        let has_it = |ptx: &&'static Ptx| ptx.outline().has_entry(&launch.entry);
        let newer = kernels.iter().find(has_it)?;
        Some(Error::NeedsNewer { entry: launch.entry.clone(), needs: newer.capability, has })
    }
}

impl Source {
    fn outline(&self) -> &Outline<'static> {
        match self {
            Self::Kernels(ptx) => ptx.outline(),
            Self::Loaded(outline) => outline,
        }
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
