//! A SIMT machine: runs PTX on the CPU, warp by warp, and counts what a GPU would do.
//!
//! In go the text of a PTX module, buffers, and the geometry and arguments of a launch. Out come the buffers
//! as the kernel leaves them, a fault with its place in the text if the kernel does something that is not allowed,
//! and on request the [`counters`] that Nsight Compute would show, or the [`critical_path`] of the blocks.
//!
//! A kernel goes through these modules, each of which uses only those before it:
//!
//! - [`ptx`], a crate of its own, has the text as a syntax tree and knows PTX's opcodes.
//! - [`regs`], [`alu`], [`warp`] and [`memory`] are the operations on registers and memory, and execute them.
//!   Beside them, `vectors` asks questions about the addresses of a warp's lanes, and `traffic` says what an
//!   access costs.
//! - [`code`] is what a kernel is lowered to: instructions in a row, over numbered registers, each branch with
//!   the place where the lanes that it separates run together again.
//! - `decode` turns an instruction of the syntax tree into an operation; `layout` places variables; [`lower`]
//!   turns whole functions into code; [`Module`] holds the kernels of a text.
//! - `host_simd` compiles the hot parts for the instruction sets of the host's CPU.
//! - [`run`] executes blocks of warps with a reconvergence stack, spread over the host's threads, and tells
//!   an observer ([`observe`]) what happens. [`counters`] and [`critical_path`] are such observers.
//! - [`cli`] is the `simt` program.
//!
//! The crate must not know of ladders, rungs or problems, of real GPUs and their drivers, or of how many
//! multiprocessors or how much bandwidth a GPU has: it measures kernels, and a model of a device elsewhere combines
//! its numbers with the GPU's.
//!
//! ```
//! use simt::counters::Value;
//! use simt::{Config, Launch, Machine, Module};
//!
//! let module = Module::from_ptx(
//!     ".version 8.0
//!      .target sm_80
//!      .address_size 64
//!      // sum[i] = a[i] + b[i]
//!      .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n)
//!      {
//!          .reg .pred %p<2>;
//!          .reg .b32 %r<6>;
//!          .reg .f32 %f<4>;
//!          .reg .b64 %rd<8>;
//!          mov.u32 %r1, %ctaid.x;
//!          mov.u32 %r2, %ntid.x;
//!          mov.u32 %r3, %tid.x;
//!          mad.lo.u32 %r4, %r1, %r2, %r3;
//!          ld.param.u32 %r5, [n];
//!          setp.ge.u32 %p1, %r4, %r5;
//!          @%p1 ret;
//!          ld.param.u64 %rd1, [a];
//!          ld.param.u64 %rd2, [b];
//!          ld.param.u64 %rd3, [sum];
//!          mul.wide.u32 %rd4, %r4, 4;
//!          add.u64 %rd5, %rd1, %rd4;
//!          add.u64 %rd6, %rd2, %rd4;
//!          add.u64 %rd7, %rd3, %rd4;
//!          ld.global.f32 %f1, [%rd5];
//!          ld.global.f32 %f2, [%rd6];
//!          add.f32 %f3, %f1, %f2;
//!          st.global.f32 [%rd7], %f3;
//!          ret;
//!      }",
//! )?;
//! let add = module.function("add")?;
//!
//! let n = 1000;
//! let mut machine = Machine::new(Config::default())?;
//! let a = machine.upload(&vec![1.5f32; n])?;
//! let b = machine.upload(&vec![2.0f32; n])?;
//! let sum = machine.zeroed::<f32>(n)?;
//!
//! let args = [a.into(), b.into(), sum.into(), (n as u32).into()];
//! let counters = machine.launch_counted(&Launch::new(&add, [8, 1, 1], [128, 1, 1], &args))?;
//! assert_eq!(machine.read(sum)?, vec![3.5; n]);
//!
//! // 32 warps, each two loads; the last one's second half has nothing to load.
//! let loads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
//! let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
//! assert_eq!(counters.get(loads), Some(Value::Count(64)));
//! assert_eq!(counters.get(sectors), Some(Value::Count(250)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod alu;
pub mod cli;
pub mod code;
pub mod counters;
pub mod critical_path;
mod decode;
mod demangle;
mod error;
mod host_simd;
mod layout;
pub mod lower;
pub mod memory;
mod module;
pub mod observe;

pub mod regs;
pub mod run;
#[cfg(test)]
mod tests;
mod traffic;
mod vectors;
pub mod warp;

pub use counters::Counters;
pub use demangle::demangled;
pub use memory::global::MemoryError;
pub use module::{Function, LoadError, Module};
pub use run::{
    Arg, Buffer, Config, Element, Fault, FaultKind, Frame, Launch, LaunchError, Machine, Schedule,
};
