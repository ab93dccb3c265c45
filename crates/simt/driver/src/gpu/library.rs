//! Libraries: code that is read once and loaded into each context that uses it.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex};

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::abi::report;
use crate::gpu::context::{self, Context};
use crate::gpu::function::{self, Function};
use crate::gpu::jit::JitOptions;
use crate::gpu::module::{self, MODULES, Module};
use crate::gpu::queue::queue;
use crate::gpu::state::driver;

static LIBRARIES: Handles<Library> = Handles::new();
static KERNELS: Handles<Kernel> = Handles::new();

/// A library.
struct Library {
    handle: Handle,
    /// The code, or an error if the driver does not know its format. As in the real driver, that error appears on first
    /// use.
    code: Result<simt::Module>,
    /// The modules that contexts loaded from this library, by context handle.
    loaded: Mutex<HashMap<Handle, Handle>>,
    /// The kernels that programs requested, by name.
    kernels: Mutex<HashMap<String, Handle>>,
}

/// A kernel of a library. Each context has a separate function for it.
struct Kernel {
    handle: Handle,
    library: Handle,
    name: String,
}

impl Library {
    /// Returns the code.
    fn ptx(&self) -> Result<&simt::Module> {
        self.code.as_ref().map_err(Clone::clone)
    }

    /// Returns the library's module in the current context.
    fn module(&self) -> Result<Arc<Module>> {
        self.module_in(&*context::current()?)
    }

    /// Returns the library's module in a context, which is loaded if necessary.
    fn module_in(&self, context: &Context) -> Result<Arc<Module>> {
        let mut loaded = lock(&self.loaded);
        if let Some(module) = loaded.get(&context.handle).and_then(|handle| module::get(*handle).ok()) {
            return Ok(module);
        }
        let module = Module::load(context, self.ptx()?)?;
        loaded.insert(context.handle, module.handle);
        Ok(module)
    }

    fn kernel(&self, name: &str) -> Result<Handle> {
        if !self.ptx()?.kernels().any(|kernel| kernel == name) {
            return Err(Error::new(Code::NOT_FOUND, format!("the library has no kernel `{name}`")));
        }
        let mut kernels = lock(&self.kernels);
        if let Some(known) = kernels.get(name) {
            return Ok(*known);
        }
        let handle = KERNELS.add(|handle| Kernel { handle, library: self.handle, name: name.to_owned() }).handle;
        kernels.insert(name.to_owned(), handle);
        Ok(handle)
    }
}

/// Returns the function with this handle, which may also be the handle of a library's kernel.
pub(crate) fn get(handle: Handle) -> Result<Arc<Function>> {
    driver()?;
    match function::find(handle) {
        Some(function) => Ok(function),
        None => in_current(handle),
    }
}

/// Returns a library kernel's function on a device: in the current context if that context belongs to the device,
/// otherwise in the primary context.
pub(crate) fn on_device(kernel: Handle, device: i32) -> Result<Arc<Function>> {
    let primary = Context::primary(device)?;
    if let Some(function) = function::find(kernel) {
        return Ok(function);
    }
    let current = context::current().ok().filter(|current| current.device == primary.device);
    function_in(kernel, &current.unwrap_or(primary))
}

/// Returns a kernel's function in the current context.
fn in_current(kernel: Handle) -> Result<Arc<Function>> {
    KERNELS.get(kernel)?;
    function_in(kernel, &*context::current()?)
}

/// Returns a kernel's function in a context.
fn function_in(kernel: Handle, context: &Context) -> Result<Arc<Function>> {
    let kernel = KERNELS.get(kernel)?;
    function::of(&LIBRARIES.get(kernel.library)?.module_in(context)?, &kernel.name)
}

fn add(library: Out<Handle>, code: Result<simt::Module>) -> Result<()> {
    if let Err(error) = &code {
        match error.code {
            Code::INVALID_IMAGE => report::error("cuLibraryLoadData", error),
            _ => return Err(error.clone()),
        }
    }
    let created = LIBRARIES.add(|handle| Library { handle, code, loaded: Mutex::default(), kernels: Mutex::default() });
    library.set(created.handle)
}

functions! {
    fn cuLibraryLoadData(
        library: Out<Handle>, image: In<c_void>, options: In<u32>, values: In<usize>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        library.check()?;
        let options = JitOptions::read(count, options, values)?;
        // SAFETY: `cuda.h` requires that the program passes an image of a supported format.
        add(library, unsafe { module::read(image.as_ptr(), &options) })
    }

    fn cuLibraryLoadFromFile(
        library: Out<Handle>, path: In<c_char>, options: In<u32>, values: In<usize>, count: u32,
        _library_options: In<u32>, _library_values: In<usize>, _library_count: u32,
    ) {
        library.check()?;
        let options = JitOptions::read(count, options, values)?;
        add(library, module::read_file(path.text()?, &options))
    }

    fn cuLibraryUnload(library: Handle) {
        driver()?;
        let library = LIBRARIES.remove(library)?;
        queue()?.wait_for_all();
        for kernel in lock(&library.kernels).values() {
            KERNELS.remove(*kernel)?;
        }
        for module in lock(&library.loaded).values() {
            function::unload(&*MODULES.remove(*module)?)?;
        }
        Ok(())
    }

    fn cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: In<c_char>) {
        kernel.check()?;
        kernel.set(LIBRARIES.get(library)?.kernel(name.text()?)?)
    }

    fn cuLibraryGetKernelCount(count: Out<u32>, library: Handle) {
        count.set(LIBRARIES.get(library)?.ptx()?.kernels().count() as u32)
    }

    fn cuLibraryEnumerateKernels(kernels: Out<Handle>, capacity: u32, library: Handle) {
        let library = LIBRARIES.get(library)?;
        let found: Result<Vec<Handle>> = library.ptx()?.kernels().map(|name| library.kernel(name)).collect();
        kernels.set_all(found?, capacity as usize);
        Ok(())
    }

    fn cuLibraryGetModule(module: Out<Handle>, library: Handle) {
        module.set(LIBRARIES.get(library)?.module()?.handle)
    }

    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: In<c_char>) {
        let (at, size) = LIBRARIES.get(library)?.module()?.variable(name.text()?)?;
        address.offer(at);
        bytes.offer(size as usize);
        Ok(())
    }

    fn cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: Handle, name: In<c_char>) {
        let library = LIBRARIES.get(library)?;
        let name = name.text()?;
        if !library.ptx()?.variables().any(|variable| variable.name == name && variable.is_managed) {
            return Err(Code::NOT_FOUND.into());
        }
        // The runtime calls this before a context exists, and is about to use the context of the first device.
        let context = context::current().or_else(|error| match error.code {
            Code::INVALID_CONTEXT => Context::primary(0),
            _ => Err(error),
        })?;
        let (at, size) = library.module_in(&context)?.variable(name)?;
        address.offer(at);
        bytes.offer(size as usize);
        Ok(())
    }

    fn cuKernelGetFunction(found: Out<Handle>, kernel: Handle) {
        found.check()?;
        found.set(in_current(kernel)?.handle)
    }

    fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) {
        library.set(KERNELS.get(kernel)?.library)
    }
}
