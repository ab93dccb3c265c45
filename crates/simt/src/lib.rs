//! A SIMT machine: takes PTX text and runs it warp by warp on the CPU.
//!
//! Three rooms, as in a small compiler with an interpreter: [`ptx`] (text to AST), [`lower`] (AST to flat
//! [`code`] over numbered registers, with the place where each branch's ways meet), and [`run`] (warps of
//! 32 lanes, structure-of-arrays registers, a reconvergence stack, blocks spread over the host's cores).
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
pub use memory::global::MemoryError;
pub use module::{Function, LoadError, Module};
pub use run::{Arg, Buffer, Config, Element, Fault, FaultKind, Launch, LaunchError, Machine};
