//! The functions of modules and of kernels.

use std::ffi::c_char;

use crate::abi::call::{In, Out, functions};
use crate::abi::error::{Code, Result};
use crate::abi::handles::Handle;
use crate::gpu::library::{get, on_device};
use crate::gpu::module::{self, MODULES};
use crate::gpu::queue::queue;
use crate::gpu::state::driver;
use crate::gpu::{context, function, hazards};

functions! {
    fn cuFuncGetAttribute(value: Out<i32>, attribute: u32, function: Handle) {
        value.check()?;
        value.set(get(function)?.attribute(attribute)?)
    }

    fn cuKernelGetAttribute(value: Out<i32>, attribute: u32, kernel: Handle, device: i32) {
        value.check()?;
        value.set(on_device(kernel, device)?.attribute(attribute)?)
    }

    fn cuFuncSetAttribute(function: Handle, attribute: u32, value: i32) {
        get(function)?.set_attribute(attribute, value)
    }

    fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: Handle, device: i32) {
        on_device(kernel, device)?.set_attribute(attribute, value)
    }

    fn cuFuncSetCacheConfig | cuFuncSetSharedMemConfig(function: Handle, _config: u32) {
        get(function).map(drop)
    }

    fn cuKernelSetCacheConfig(kernel: Handle, _config: u32, device: i32) {
        on_device(kernel, device).map(drop)
    }

    fn cuFuncGetModule(module: Out<Handle>, function: Handle) {
        module.set(get(function)?.module_handle)
    }

    fn cuFuncGetName | cuKernelGetName(name: Out<*const c_char>, function: Handle) {
        name.set(get(function)?.name.as_ptr())
    }

    fn cuFuncGetParamInfo | cuKernelGetParamInfo(function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        offset.check()?;
        let function = get(function)?;
        let param = function.kernel.program().params.get(index).ok_or(Code::INVALID_VALUE)?;
        offset.set(param.offset as usize)?;
        bytes.offer(param.bytes as usize);
        Ok(())
    }

    fn cuFuncIsLoaded(state: Out<u32>, function: Handle) {
        get(function)?;
        state.set(1)
    }

    fn cuFuncLoad(function: Handle) {
        get(function).map(drop)
    }

    fn cuModuleUnload(module: Handle) {
        context::current()?;
        hazards::check()?;
        queue()?.wait_for_all();
        driver()?.print_printed();
        function::unload(&*MODULES.remove(module)?)
    }

    fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: In<c_char>) {
        function.check()?;
        function.set(function::of(&module::get(module)?, name.text()?)?.handle)
    }

    fn cuModuleEnumerateFunctions(functions: Out<Handle>, capacity: u32, module: Handle) {
        let module = module::get(module)?;
        let names: Vec<String> = module.instance.module().kernels().map(str::to_owned).collect();
        let found: Result<Vec<Handle>> = names.iter().map(|name| Ok(function::of(&module, name)?.handle)).collect();
        functions.set_all(found?, capacity as usize);
        Ok(())
    }
}
