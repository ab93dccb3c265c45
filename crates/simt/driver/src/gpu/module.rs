//! Modules: code that is loaded, and its variables.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex};

use simt::{Instance, LoadError};
use simt_check::diagnostic::Diagnostic;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, is_private, lock};
use crate::code::image;
use crate::gpu::context::{self, Context};
use crate::gpu::device::DEVICE;
use crate::gpu::jit::JitOptions;
use crate::gpu::ranges::{self, Kind, Range};
use crate::gpu::state::driver;

pub(crate) static MODULES: Handles<Module> = Handles::new();

/// A module that a context loaded.
pub(crate) struct Module {
    pub(crate) handle: Handle,
    /// The handle of the module's context.
    pub(crate) context: Handle,
    pub(crate) instance: Instance,
    /// The functions that programs requested, by name.
    pub(crate) functions: Mutex<HashMap<String, Handle>>,
}

impl Module {
    /// Loads PTX into a context.
    pub(crate) fn load(context: &Context, ptx: &simt::Module) -> Result<Arc<Self>> {
        let mut simulator = driver()?.simulator();
        let instance = simulator.load(ptx).map_err(|error| Error::new(Code::OUT_OF_MEMORY, error.to_string()))?;
        drop(simulator);
        for variable in ptx.variables() {
            let place = instance.address_of(&variable.name);
            if let Some(address) = place {
                ranges::add(Range::new(address, variable.bytes, Kind::Owned, context.handle));
            }
        }
        let functions = Mutex::default();
        Ok(MODULES.add(|handle| Self { handle, context: context.handle, instance, functions }))
    }

    /// Returns the address and size of a variable.
    pub(crate) fn variable(&self, name: &str) -> Result<(u64, u64)> {
        let found = self.instance.module().variables().find(|variable| variable.name == name);
        let place = found.and_then(|variable| Some((self.instance.address_of(name)?, variable.bytes)));
        place.ok_or_else(|| Error::new(Code::NOT_FOUND, format!("the module has no variable `{name}`")))
    }

    /// Frees the module's variables and code.
    pub(crate) fn unload(&self) -> Result<()> {
        for variable in self.instance.module().variables() {
            if let Some(address) = self.instance.address_of(&variable.name) {
                ranges::all().remove(&address);
            }
        }
        let unloaded = driver()?.simulator().unload(self.instance.clone());
        unloaded.map_err(|error| Error::new(Code::INVALID_HANDLE, error.to_string()))
    }
}

/// Returns the driver's error for PTX that cannot run.
pub(crate) fn load_error(error: &LoadError) -> Error {
    let code = match error {
        LoadError::Refused { is_valid: true, .. } => Code::NOT_SUPPORTED,
        LoadError::NoSuchKernel { .. } | LoadError::AmbiguousKernel { .. } => Code::NOT_FOUND,
        _ => Code::INVALID_PTX,
    };
    let diagnostic = Some(Box::new(Diagnostic::of_load_error(error, "PTX")));
    Error { diagnostic, ..Error::new(code, error.to_string()) }
}

/// Reads an image that a program passes.
///
/// # Safety
/// The caller must meet the requirements of [`image::ptx`] for the image.
pub(crate) unsafe fn read(image: *const c_void, options: &JitOptions) -> Result<simt::Module> {
    // SAFETY: the image is one of the driver's formats, as [`image::ptx`] requires.
    read_with(|capability| unsafe { image::ptx(image, capability) }, options)
}

/// Reads an image in a file.
pub(crate) fn read_file(path: &str, options: &JitOptions) -> Result<simt::Module> {
    let bytes = file(path)?;
    read_with(|capability| image::ptx_in(&bytes, capability), options)
}

/// Reads an image. `ptx` returns its PTX for a compute capability.
fn read_with(ptx: impl FnOnce((u32, u32)) -> Result<Vec<u8>>, options: &JitOptions) -> Result<simt::Module> {
    let driver = driver()?;
    let device = context::current().map_or(0, |context| context.device);
    let capability = driver.devices[device].capability;
    let text = String::from_utf8(ptx(capability)?)
        .map_err(|_| Error::new(Code::INVALID_IMAGE, "the image is neither PTX, a fatbin, a cubin nor a library"))?;
    if !text.contains(".version") {
        let what = "the image is not a fatbin or a cubin, and it is not PTX because it has no `.version`";
        return Err(Error::new(Code::INVALID_IMAGE, what));
    }
    // A private driver accepts all PTX that the simulator accepts.
    let check = match is_private() {
        true => Ok(()),
        false => image::check_version(&text).and_then(|()| check_target(&text, capability)),
    };
    check.and_then(|()| compile(text)).inspect_err(|error| options.tell(&error.reason))
}

/// Refuses PTX whose target does not run on this compute capability, as the driver's compiler does.
fn check_target(ptx: &str, capability: (u32, u32)) -> Result<()> {
    match image::other_target(ptx, capability) {
        Some(target) => {
            let (major, minor) = capability;
            let what = format!("PTX for {target} does not run on sm_{major}{minor}; set {DEVICE} to another device");
            Err(Error::new(Code::INVALID_PTX, what))
        }
        None => Ok(()),
    }
}

/// Compiles PTX. The most recent modules are cached, because programs load the same text into several contexts.
fn compile(text: String) -> Result<simt::Module> {
    const REMEMBERED: usize = 8;
    static LAST: Mutex<VecDeque<(String, simt::Module)>> = Mutex::new(VecDeque::new());
    if let Some((_, known)) = lock(&LAST).iter().find(|(known, _)| *known == text) {
        return Ok(known.clone());
    }
    let module = simt::Module::from_ptx(text.as_str()).map_err(|error| load_error(&error))?;
    if let Some(error) = module.invalid() {
        return Err(load_error(error));
    }
    let mut last = lock(&LAST);
    last.truncate(REMEMBERED - 1);
    last.push_front((text, module.clone()));
    Ok(module)
}

/// Returns the module with this handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Module>> {
    driver()?;
    MODULES.get(handle)
}

/// Loads an image into the current context.
///
/// # Safety
/// The caller must meet the requirements of [`image::ptx`] for the image.
pub(crate) unsafe fn load(image: *const c_void, options: &JitOptions) -> Result<Arc<Module>> {
    let context = context::current()?;
    // SAFETY: the image is one of the driver's formats, as [`image::ptx`] requires.
    Module::load(&context, &unsafe { read(image, options) }?)
}

functions! {
    fn cuModuleLoadData | cuModuleLoadFatBinary(module: Out<Handle>, image: In<c_void>) {
        module.check()?;
        // SAFETY: `cuda.h` requires that the program passes an image of a supported format.
        let loaded = unsafe { load(image.as_ptr(), &JitOptions::default()) }?;
        module.set(loaded.handle)
    }

    fn cuModuleLoadDataEx(module: Out<Handle>, image: In<c_void>, count: u32, names: In<u32>, values: In<usize>) {
        module.check()?;
        let options = JitOptions::read(count, names, values)?;
        // SAFETY: `cuda.h` requires that the program passes an image of a supported format.
        let loaded = unsafe { load(image.as_ptr(), &options) }?;
        module.set(loaded.handle)
    }

    fn cuModuleLoad(module: Out<Handle>, path: In<c_char>) {
        module.check()?;
        let context = context::current()?;
        let read = read_file(path.text()?, &JitOptions::default())?;
        module.set(Module::load(&context, &read)?.handle)
    }

    fn cuModuleGetLoadingMode(mode: Out<u32>) {
        // `CU_MODULE_LAZY_LOADING`, as in the real driver: the runtime loads a kernel when it is launched.
        mode.set(2)
    }

    fn cuModuleGetFunctionCount(count: Out<u32>, module: Handle) {
        count.set(get(module)?.instance.module().kernels().count() as u32)
    }

    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: In<c_char>) {
        let (at, size) = get(module)?.variable(name.text()?)?;
        address.offer(at);
        bytes.offer(size as usize);
        Ok(())
    }
}

/// Reads a file.
pub(crate) fn file(path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::new(Code::FILE_NOT_FOUND, format!("{path}: {error}")))
}
