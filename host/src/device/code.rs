//! The codes that a device has, each entry compiled when it is first launched.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use crate::Ptx;
use crate::error::Error;
use crate::launch::{Code, Launch};
use crate::ptx::{self, cut::Index, cut::SourceLines};

/// Codes, and what a device's compiler has made of their entries: an `M` for each compiled text.
pub(super) struct Codes<M> {
    /// The kernels first, then what was loaded.
    sources: Vec<Source>,
    /// By code and entry; without an entry, the whole code.
    compiled: BTreeMap<(usize, Option<String>), Compiled<M>>,
    capability: Option<(u32, u32)>,
    lines: SourceLines,
}

struct Source {
    ptx: Cow<'static, str>,
    /// Made on first use; `None` in it where the code has to be used whole.
    index: Arc<OnceLock<Option<Index>>>,
}

/// The index of each of [`KERNELS_PTX`](crate::KERNELS_PTX), for all devices of the process.
static KERNELS: LazyLock<Vec<Arc<OnceLock<Option<Index>>>>> =
    LazyLock::new(|| crate::KERNELS_PTX.iter().map(|_| Arc::default()).collect());

/// A text that was compiled.
pub(super) struct Compiled<M> {
    pub(super) module: M,
    /// The bytes of each parameter of its entries.
    pub(super) parameters: BTreeMap<String, Vec<u32>>,
}

impl<M> Codes<M> {
    /// The kernels for a device of this compute capability, or for none.
    pub(super) fn new(capability: Option<(u32, u32)>, lines: SourceLines) -> Self {
        // What is too old for all of them hears so from its driver.
        let newest = crate::kernels_for(capability).map(|ptx| ptx.capability);
        let is_it = |ptx: &Ptx| Some(ptx.capability) == newest;
        let place = crate::KERNELS_PTX.iter().position(is_it).unwrap_or(0);
        let kernels = Source {
            ptx: Cow::Borrowed(crate::KERNELS_PTX[place].text),
            index: Arc::clone(&KERNELS[place]),
        };
        Self {
            sources: vec![kernels],
            compiled: BTreeMap::new(),
            capability,
            lines,
        }
    }

    pub(super) fn load(&mut self, ptx: String) -> Code {
        let place = self.sources.len();
        self.sources.push(Source {
            ptx: Cow::Owned(ptx),
            index: Arc::default(),
        });
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
        let ptx = &*source.ptx;
        let index = source.index.get_or_init(|| Index::new(ptx));
        let is_there = match index {
            Some(index) => index.has_entry(&launch.entry),
            None => has_entry(ptx, &launch.entry),
        };
        if !is_there {
            return Err(match self.needs_newer(launch) {
                Some(error) => error,
                None => refused("the PTX has no such entry".to_owned()),
            });
        }
        let part = index
            .as_ref()
            .and_then(|index| index.cut(ptx, &launch.entry, self.lines));
        // A part that is not taken may have been cut out wrongly. If the whole is not taken either, that is to
        // be told.
        if let Some(part) = part
            && let Ok(module) = compile(&part)
        {
            self.compiled
                .insert(own.clone(), Compiled::new(module, &part));
            return Ok(own);
        }
        let whole = (own.0, None);
        if !self.compiled.contains_key(&whole) {
            let compiled = Compiled::new(compile(ptx)?, ptx);
            self.compiled.insert(whole.clone(), compiled);
        }
        Ok(whole)
    }

    /// The error for a kernel that newer devices have.
    fn needs_newer(&self, launch: &Launch) -> Option<Error> {
        let has = self.capability?;
        if launch.code != Code::Kernels {
            return None;
        }
        let needs = crate::KERNELS_PTX
            .iter()
            .find(|ptx| has_entry(ptx.text, &launch.entry))?
            .capability;
        Some(Error::NeedsNewer {
            entry: launch.entry.clone(),
            needs,
            has,
        })
    }
}

impl<M> Compiled<M> {
    fn new(module: M, ptx: &str) -> Self {
        let entries = ptx::entries(ptx);
        Self {
            module,
            parameters: entries
                .map(|entry| (entry.name.to_owned(), entry.parameter_bytes))
                .collect(),
        }
    }
}

fn has_entry(ptx: &str, name: &str) -> bool {
    ptx::entries(ptx).any(|entry| entry.name == name)
}
