//! The codes that a device has, each entry compiled when it is first launched.

use std::collections::BTreeMap;

use ptx::Outline;
use ptx::extract::{SourceLines, extract};

use crate::Ptx;
use crate::error::Error;
use crate::launch::{Code, Launch};

/// Codes, and what a device's compiler has made of their entries: an `M` for each compiled text.
pub(super) struct Codes<M> {
    kernels: &'static [Ptx],
    /// The kernels first, then what was loaded.
    sources: Vec<Source>,
    /// By code and entry; without an entry, the whole code.
    compiled: BTreeMap<(usize, Option<String>), Compiled<M>>,
    capability: Option<(u32, u32)>,
    lines: SourceLines,
}

enum Source {
    Kernels(&'static Ptx),
    Loaded(Outline<'static>),
}

/// A text that was compiled.
pub(super) struct Compiled<M> {
    pub(super) module: M,
    /// The bytes of each parameter of its entries.
    pub(super) parameters: BTreeMap<String, Vec<u32>>,
}

impl<M> Codes<M> {
    /// The newest of `kernels` for a device of this compute capability, or for none.
    pub(super) fn new(
        kernels: &'static [Ptx],
        capability: Option<(u32, u32)>,
        lines: SourceLines,
    ) -> Self {
        // What is too old for all of them hears so from its driver.
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

    /// What has the launch's entry, compiled now if it has not been.
    ///
    /// # Errors
    /// [`Error::Launch`] for a code or an entry that is not there, [`Error::NeedsNewer`] for one that only
    /// newer devices have, and what the compiler says.
    pub(super) fn get(
        &mut self,
        launch: &Launch,
        compile: impl Fn(&str) -> Result<M, Error>,
    ) -> Result<&Compiled<M>, Error> {
        let place = match launch.code {
            Code::Kernels => 0,
            Code::Loaded(index) => 1 + index as usize,
        };
        let own = (place, Some(launch.entry.clone()));
        let key = if self.compiled.contains_key(&own) {
            own
        } else {
            self.compile(launch, own, compile)?
        };
        Ok(&self.compiled[&key])
    }

    /// Compiles the entry, or the whole code where it cannot be had alone. Gives the place of the result.
    fn compile(
        &mut self,
        launch: &Launch,
        own: (usize, Option<String>),
        compile: impl Fn(&str) -> Result<M, Error>,
    ) -> Result<(usize, Option<String>), Error> {
        let refused = |reason| Error::Launch {
            launch: Box::new(launch.clone()),
            reason,
        };
        let source = self
            .sources
            .get(own.0)
            .ok_or_else(|| refused(format!("{:?} was not loaded into this device", launch.code)))?;
        let outline = source.outline();
        if !outline.has_entry(&launch.entry) {
            return Err(match self.check_supported(launch) {
                Some(error) => error,
                None => refused("the PTX has no such entry".to_owned()),
            });
        }
        let part = extract(outline, &launch.entry, self.lines);
        // A part that is not taken may have been cut out wrongly. If the whole is not taken either, that is to
        // be told.
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
        Some(Error::NeedsNewer {
            entry: launch.entry.clone(),
            needs: newer.capability,
            has,
        })
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
        Self {
            module,
            parameters: entries
                .map(|entry| (entry.name.to_owned(), entry.parameter_bytes))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
