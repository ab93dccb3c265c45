//! The linker, which merges several PTX modules into one.

use std::ffi::{c_char, c_void};
use std::sync::Mutex;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::code::{image, merge};
use crate::gpu::jit::JitOptions;
use crate::gpu::state::driver;
use crate::gpu::{context, module};

static LINKERS: Handles<Linker> = Handles::new();

/// `CUjitInputType`.
const CUBIN: u32 = 0;
const PTX: u32 = 1;
const FATBINARY: u32 = 2;
const OBJECT: u32 = 3;
const LIBRARY: u32 = 4;
const LAST_KIND: u32 = 5;

/// A linker.
struct Linker {
    handle: Handle,
    options: JitOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The texts that were added.
    texts: Vec<String>,
    /// The merged text and a NUL, which the program loads as a cubin.
    linked: Option<Vec<u8>>,
}

impl Linker {
    /// Adds an image.
    fn add(&self, kind: u32, bytes: &[u8]) -> Result<()> {
        let capability = driver()?.devices[context::current()?.device].capability;
        match kind {
            // A "cubin" here is the PTX that another linker produced.
            PTX | CUBIN | FATBINARY => self.add_text(image::ptx_in(bytes, capability)?),
            OBJECT | LIBRARY => {
                let texts = image::ptx_of_objects(bytes, capability)?;
                texts.into_iter().try_for_each(|text| self.add_text(text))
            }
            _ => Err(Error::new(Code::NOT_SUPPORTED, "NVVM code must be compiled to PTX before it is linked")),
        }
    }

    /// Adds a module's text.
    fn add_text(&self, text: Vec<u8>) -> Result<()> {
        let text = String::from_utf8(text).ok().filter(|text| text.contains(".version"));
        let text =
            text.ok_or_else(|| Error::new(Code::INVALID_IMAGE, "the input is neither PTX nor a fatbin with PTX"))?;
        image::check_version(&text)?;
        let mut state = lock(&self.state);
        if state.linked.is_some() {
            return Err(Error::new(Code::INVALID_VALUE, "the modules have already been linked"));
        }
        ptx::parse(&text).map_err(|error| module::load_error(&error.into()))?;
        merge::check(&state.texts, &text).map_err(|problem| Error::new(Code::INVALID_SOURCE, problem))?;
        state.texts.push(text);
        Ok(())
    }

    /// Writes the error of a result to the program's error buffer.
    fn logged(&self, result: Result<()>) -> Result<()> {
        result.inspect_err(|error| self.options.tell(&error.reason))
    }

    fn complete(&self, linked: Out<*const c_void>, bytes: Out<usize>) -> Result<()> {
        let mut state = lock(&self.state);
        if state.linked.is_some() {
            return Err(Code::INVALID_HANDLE.into());
        }
        let merged = merge::merge(&state.texts).map_err(|problem| Error::new(Code::INVALID_SOURCE, problem))?;
        simt::Module::from_ptx(merged.as_str()).map_err(|error| module::load_error(&error))?;
        let text = state.linked.insert(merged.into_bytes());
        text.push(0);
        linked.offer(text.as_ptr().cast());
        bytes.offer(text.len());
        Ok(())
    }
}

fn get(linker: Handle) -> Result<std::sync::Arc<Linker>> {
    driver()?;
    LINKERS.get(linker)
}

functions! {
    fn cuLinkCreate_v2 | cuLinkCreate(count: u32, names: In<u32>, values: In<usize>, linker: Out<Handle>) {
        linker.check()?;
        context::current()?;
        let options = JitOptions::read(count, names, values)?;
        linker.set(LINKERS.add(|handle| Linker { handle, options, state: Mutex::default() }).handle)
    }

    fn cuLinkAddData_v2 | cuLinkAddData(
        linker: Handle, kind: u32, data: In<u8>, bytes: usize, _name: In<c_char>, count: u32, names: In<u32>,
        values: In<usize>,
    ) {
        let linker = get(linker)?;
        JitOptions::read(count, names, values)?;
        if kind > LAST_KIND || bytes == 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        linker.logged(linker.add(kind, &data.all(bytes)?))
    }

    fn cuLinkAddFile_v2 | cuLinkAddFile(
        linker: Handle, kind: u32, path: In<c_char>, count: u32, names: In<u32>, values: In<usize>,
    ) {
        let linker = get(linker)?;
        JitOptions::read(count, names, values)?;
        if kind > LAST_KIND {
            return Err(Code::INVALID_VALUE.into());
        }
        linker.logged(linker.add(kind, &module::file(path.text()?)?))
    }

    fn cuLinkComplete(linker: Handle, linked: Out<*const c_void>, bytes: Out<usize>) {
        let linker = get(linker)?;
        linker.logged(linker.complete(linked, bytes))
    }

    fn cuLinkDestroy(linker: Handle) {
        driver()?;
        LINKERS.remove(linker).map(drop)
    }
}
