//! Functions: the kernels of modules, with their attributes and parameters.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};

use simt::GeometryLimits;

use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, Handles, lock};
use crate::abi::report;
use crate::gpu::context;
use crate::gpu::device::Device;
use crate::gpu::module::{self, MODULES, Module};
use crate::gpu::state::driver;

static FUNCTIONS_BY_HANDLE: Handles<Function> = Handles::new();

/// The cluster size in blocks that every GPU with clusters supports.
const PORTABLE_CLUSTER: u32 = 8;

/// The assumed number of registers per thread.
const REGISTERS: u32 = 32;

/// `CUfunction_attribute`: the attributes that a program may set.
const MAX_DYNAMIC_SHARED: u32 = 8;
const CARVEOUT: u32 = 9;
const CLUSTER_MUST_BE_SET: u32 = 10;
const CLUSTER_WIDTH: u32 = 11;
const NON_PORTABLE_CLUSTER: u32 = 14;
const CLUSTER_SCHEDULING: u32 = 15;

/// A kernel of a loaded module.
pub(crate) struct Function {
    pub(crate) handle: Handle,
    module: Weak<Module>,
    pub(crate) module_handle: Handle,
    pub(crate) kernel: simt::Function,
    /// The NUL-terminated name of the kernel.
    pub(crate) name: std::ffi::CString,
    /// The attributes that a program set, indexed by number.
    set: [AtomicI32; 16],
}

/// Adds a kernel of a module.
fn add(kernel: simt::Function, module: &Arc<Module>) -> Result<Arc<Function>> {
    let limits = driver()?.devices[context::Context::of(module.context)?.device].limits;
    Ok(FUNCTIONS_BY_HANDLE.add(|handle| {
        let function = Function {
            handle,
            module: Arc::downgrade(module),
            module_handle: module.handle,
            name: std::ffi::CString::new(kernel.name()).unwrap_or_default(),
            kernel,
            set: Default::default(),
        };
        let shared = limits.shared_per_block.saturating_sub(function.kernel.program().shared_bytes);
        function.set[MAX_DYNAMIC_SHARED as usize].store(shared as i32, Ordering::Relaxed);
        function.set[CARVEOUT as usize].store(-1, Ordering::Relaxed);
        function
    }))
}

/// Returns the kernel with this name in a module.
pub(crate) fn of(module: &Arc<Module>, name: &str) -> Result<Arc<Function>> {
    let known = lock(&module.functions).get(name).copied();
    if let Some(known) = known.and_then(find) {
        return Ok(known);
    }
    let code = module.instance.module();
    if !code.kernels().any(|kernel| kernel == name) {
        let known: Vec<&str> = code.kernels().collect();
        let what = format!("the module has no kernel `{name}`; its kernels are {}", known.join(", "));
        return Err(Error::new(Code::NOT_FOUND, what));
    }
    let kernel = module.instance.function(name).map_err(|error| module::load_error(&error))?;
    let function = add(kernel, module)?;
    lock(&module.functions).insert(name.to_owned(), function.handle);
    Ok(function)
}

/// Returns the function with this handle, if there is one.
pub(crate) fn find(handle: Handle) -> Option<Arc<Function>> {
    FUNCTIONS_BY_HANDLE.find(handle)
}

/// Unloads a module and its functions.
pub(crate) fn unload(module: &Module) -> Result<()> {
    FUNCTIONS_BY_HANDLE.remove_where(|function| function.module_handle == module.handle);
    module.unload()
}

/// Unloads the modules of a context.
pub(crate) fn unload_all(context: Handle) {
    for module in MODULES.remove_where(|module| module.context == context) {
        if let Err(error) = unload(&module) {
            report::error("unloading a module", &error);
        }
    }
}

impl Function {
    /// Returns the maximum dynamic shared memory of a launch in bytes.
    pub(crate) fn max_dynamic_shared(&self) -> u32 {
        self.set[MAX_DYNAMIC_SHARED as usize].load(Ordering::Relaxed) as u32
    }

    /// Returns the handle of the module's context; 0 when the module is unloaded.
    pub(crate) fn context(&self) -> Handle {
        self.module.upgrade().map_or(0, |module| module.context)
    }

    /// Returns the device of the function's context.
    pub(crate) fn device(&self) -> Result<&'static Device> {
        let module = self.module.upgrade().ok_or(Code::INVALID_HANDLE)?;
        Ok(&driver()?.devices[context::Context::of(module.context)?.device])
    }

    /// Returns the device's limits on launches of this function. Clusters may be larger if the function allows
    /// nonportable cluster sizes.
    pub(crate) fn limits(&self) -> Result<GeometryLimits> {
        let limits = self.device()?.limits;
        let is_non_portable = self.set[NON_PORTABLE_CLUSTER as usize].load(Ordering::Relaxed) != 0;
        let cluster_blocks = match is_non_portable {
            _ if limits.capability < (9, 0) => 1,
            true => GeometryLimits::LARGEST.cluster_blocks,
            false => PORTABLE_CLUSTER,
        };
        let (threads, shared_bytes) = (limits.threads_per_block, limits.shared_opt_in);
        Ok(GeometryLimits { threads, shared_bytes, cluster_blocks })
    }

    /// Returns `CUDA_ERROR_INVALID_CLUSTER_SIZE` when a launch cannot have this cluster size.
    pub(crate) fn check_cluster(&self, grid: [u32; 3], cluster: [u32; 3]) -> Result<()> {
        let checked = self.limits()?.check_cluster(grid, cluster);
        checked.map_err(|problem| Error::new(Code::INVALID_CLUSTER_SIZE, problem))
    }

    /// Returns the maximum number of threads per block. As in the real driver, this ignores a required block size.
    pub(crate) fn max_threads(&self) -> u32 {
        let max = GeometryLimits::LARGEST.threads;
        self.kernel.program().max_threads.map_or(max, |limit| limit.min(max))
    }

    /// Returns the assumed number of registers per thread, because PTX does not specify how many registers a GPU uses.
    /// The number is the same for all kernels, except that a kernel can request a lower limit. The largest block always
    /// fits with this number.
    pub(crate) fn registers(&self) -> u32 {
        self.kernel.program().max_registers.map_or(REGISTERS, |limit| limit.min(REGISTERS))
    }

    /// Returns the architecture of the kernel's PTX as a number, such as 80.
    fn ptx_version(&self) -> Option<i32> {
        let module = self.module.upgrade()?;
        let digits = module.instance.module().target().trim_start_matches("sm_").trim_end_matches(['a', 'f']);
        digits.parse().ok()
    }

    /// Returns the size in bytes of the constants (`.const`) that the kernel can access.
    fn constant_bytes(&self) -> u64 {
        let constants = self.kernel.variables().filter(|variable| variable.constant_at.is_some());
        constants.fold(0, |end, constant| end.next_multiple_of(u64::from(constant.align.max(1))) + constant.bytes)
    }

    /// Returns the size of a thread's local memory in bytes.
    pub(crate) fn local_bytes(&self) -> u32 {
        self.kernel.program().functions[0].frame_bytes
    }

    /// Returns an attribute by number (`CUfunction_attribute`).
    pub(crate) fn attribute(&self, attribute: u32) -> Result<i32> {
        let (major, minor) = self.device()?.capability;
        let program = self.kernel.program();
        Ok(match attribute {
            0 => self.max_threads() as i32,
            1 => program.shared_bytes as i32,
            2 => self.constant_bytes() as i32,
            3 => self.local_bytes() as i32,
            4 => self.registers() as i32,
            5 => self.ptx_version().unwrap_or((major * 10 + minor) as i32),
            6 => (major * 10 + minor) as i32,
            7 => 0,
            CLUSTER_WIDTH..=13 => {
                let side = attribute - CLUSTER_WIDTH;
                program.required_cluster.map_or(0, |sides| sides[side as usize] as i32)
            }
            CLUSTER_MUST_BE_SET => i32::from(program.explicit_cluster),
            MAX_DYNAMIC_SHARED | CARVEOUT | NON_PORTABLE_CLUSTER | CLUSTER_SCHEDULING => {
                self.set[attribute as usize].load(Ordering::Relaxed)
            }
            _ => return Err(Code::INVALID_VALUE.into()),
        })
    }

    pub(crate) fn set_attribute(&self, attribute: u32, value: i32) -> Result<()> {
        match attribute {
            MAX_DYNAMIC_SHARED => {
                let limit = self.limits()?.shared_bytes;
                let fixed = self.kernel.program().shared_bytes;
                let fits = u32::try_from(value).is_ok_and(|value| value.saturating_add(fixed) <= limit);
                if !fits {
                    let what = format!(
                        "{value} bytes of dynamic and {fixed} of static shared memory exceed a block's limit of {limit}"
                    );
                    return Err(Error::new(Code::INVALID_VALUE, what));
                }
            }
            CARVEOUT if !(-1..=100).contains(&value) => return Err(Code::INVALID_VALUE.into()),
            CARVEOUT | NON_PORTABLE_CLUSTER | CLUSTER_SCHEDULING => {}
            _ => return Err(Code::INVALID_VALUE.into()),
        }
        self.set[attribute as usize].store(value, Ordering::Relaxed);
        Ok(())
    }
}
