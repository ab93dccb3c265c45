//! A pass over LLVM IR text that adds to rustc's output what Rust cannot express.
//!
//! rustc compiles for the device with all LLVM passes disabled (`-Cno-prepopulate-passes`). This pass rewrites the
//! text, and then `opt` optimizes it. Therefore no optimization treats a shared variable as an ordinary global of one
//! thread, or a warp operation as code that can be moved.
//!
//! The pass rewrites:
//! - **address spaces** ([`spaces`]): a static in the section `.shared` or `.constant` moves to that address space, and
//!   any other static to global memory. Each use goes through an `addrspacecast`, which `opt` then folds into the
//!   access (`ld.shared`, `st.shared`);
//! - **launch bounds** ([`bounds`]): in a kernel's `asm!` block, the comment `// launch_bounds MAX_THREADS
//!   [MIN_BLOCKS]` becomes `.maxntid` and `.minnctapersm`. `// cluster BLOCKS` becomes `.reqnctapercluster`;
//! - **parameters** ([`parameters`]): a parameter with `#[grid_constant]` becomes a value that is not copied;
//! - **convergence** ([`convergent`]): an `asm!` block that synchronizes threads is marked as convergent;
//! - **the shared window** ([`window`]): an `asm!` block that consists of the instruction `cvta.to.shared` becomes a
//!   cast that `opt` folds;
//! - **remainders and 128-bit conversions** ([`builtins`]): float instructions that PTX lacks become calls;
//! - **architecture**: functions that were compiled in other crates get the kernel's `target-cpu`, because LLVM inlines
//!   only between functions with the same `target-cpu`.
//!
//! [`verify`] reads the optimized IR. It reports accesses that stayed generic, and rejects tables of shared addresses
//! and writes to constants. After optimization, [`local_atomics`] turns atomic operations on local variables into plain
//! operations, and [`signs`] works around an LLVM bug.

pub mod bounds;
pub mod builtins;
pub mod convergent;
pub mod ir;
pub mod local_atomics;
pub mod parameters;
pub mod place;
pub mod signs;
pub mod spaces;
pub mod verify;
pub mod window;

use place::Place;

/// The reasons why a module cannot be lowered. Each variant names the item at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// A shared static has an initial value, which shared memory cannot have.
    #[error(
        "shared static `{name}` has an initial value ({value}), but shared memory starts uninitialized: declare the \
         static as MaybeUninit and write it in the kernel{place}"
    )]
    Initialized {
        /// The static, demangled.
        name: String,
        /// The start of its initializer, as LLVM writes it.
        value: String,
        /// The static's first use.
        place: Place,
    },
    /// Another static or a constant holds the address of a marked static.
    #[error(
        "{holder} holds the address of {space} static `{name}`, which is unknown before a kernel runs{place}\n\
         help: take the address inside the kernel"
    )]
    AddressInStatic {
        /// `shared` or `constant`.
        space: &'static str,
        /// The marked static, demangled.
        name: String,
        /// The static (with its name) or constant that holds the address.
        holder: String,
        /// The first use of the holder.
        place: Place,
    },
    /// The pass cannot parse a static's declaration.
    #[error("cannot parse the declaration of static `{name}`: {line}{place}")]
    UnknownForm {
        /// The static, demangled.
        name: String,
        /// The line of the declaration in the IR.
        line: String,
        /// The static's first use.
        place: Place,
    },
    /// After optimization, an access to a marked static uses a generic address.
    /// [`CudaBuilder::generic_accesses`](crate::CudaBuilder::generic_accesses) makes this a warning or an error.
    #[error(
        "an access to {space} static `{name}` in `{function}` stays generic: {line}{place}\n\
         note: its address is stored in memory, passed to a call that is not inlined, selected between address spaces, \
         or used by asm!, so the access is slower than an access to {space} memory\n\
         help: index the static itself, or mark the function in between #[inline(always)]"
    )]
    StaysGeneric {
        /// `shared` or `constant`.
        space: &'static str,
        /// The static, demangled.
        name: String,
        /// The function with the access, demangled.
        function: String,
        /// The instruction, as LLVM writes it.
        line: String,
        /// The line of Rust code.
        place: Place,
    },
    /// A kernel writes to constant memory, which only the host can do.
    #[error(
        "`{function}` writes to constant static `{name}`: {line}{place}\n\
         note: kernels can only read constant memory; the host writes it before a launch\n\
         help: remove #[address_space(constant)] to move the static to global memory"
    )]
    WritesConstant {
        /// The static, demangled.
        name: String,
        /// The function with the write, demangled.
        function: String,
        /// The instruction, as LLVM writes it.
        line: String,
        /// The line of Rust code.
        place: Place,
    },
    /// A remainder of a float type for which there is no remainder function.
    #[error("`{function}` takes a remainder of a float type other than f16, f32 and f64: {line}{place}")]
    Remainder {
        /// The function, demangled.
        function: String,
        /// The instruction, as LLVM writes it.
        line: String,
        /// The line of Rust code.
        place: Place,
    },
    /// Launch bounds that no launch can satisfy, or that are not numbers.
    #[error("launch bounds of `{function}`: {problem}{place}")]
    Bounds {
        /// The function with the marker, demangled.
        function: String,
        /// A description of the problem.
        problem: String,
        /// The line of Rust code with the launch bounds.
        place: Place,
    },
    /// A parameter that is marked as a grid constant but cannot be one.
    #[error("#[grid_constant] in `{function}` is invalid: {problem}{place}")]
    Parameter {
        /// The function with the marker, demangled.
        function: String,
        /// A description of the problem.
        problem: String,
        /// The line of Rust code with the marker.
        place: Place,
    },
}

/// Rewrites rustc's unoptimized IR for the architecture `sm` (`sm_75`). [`builtins`] must already have processed the
/// IR.
///
/// # Errors
/// Returns [`LowerError`] when a static or a kernel cannot be lowered. The error names the static or kernel and the
/// reason.
pub fn lower(ir: &str, sm: &str) -> Result<String, LowerError> {
    let ir = spaces::lower(ir)?;
    let ir = bounds::lower(&ir)?;
    let ir = parameters::lower(&ir)?;
    let ir = convergent::lower(&ir);
    let ir = window::lower(&ir);
    Ok(retarget(&ir, sm))
}

fn retarget(ir: &str, sm: &str) -> String {
    const KEY: &str = "\"target-cpu\"=\"";
    let mut out = String::with_capacity(ir.len());
    let mut rest = ir;
    while let Some(at) = rest.find(KEY) {
        let (before, value) = rest.split_at(at + KEY.len());
        out.push_str(before);
        out.push_str(sm);
        rest = &value[value.find('"').unwrap_or(0)..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_gets_the_architecture() {
        let ir = "attributes #0 = { nounwind \"target-cpu\"=\"sm_30\" }\n\
                  attributes #1 = { \"target-cpu\"=\"sm_75\" \"x\" }\n";
        assert_eq!(
            retarget(ir, "sm_90"),
            "attributes #0 = { nounwind \"target-cpu\"=\"sm_90\" }\n\
             attributes #1 = { \"target-cpu\"=\"sm_90\" \"x\" }\n"
        );
    }
}
