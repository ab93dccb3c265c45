//! The pass over LLVM IR text that adds to rustc's output what Rust has no notation for.
//!
//! rustc compiles for the device with every pass of LLVM's held back (`-Cno-prepopulate-passes`), this
//! pass rewrites the text, and only then `opt` optimizes it. So no optimization ever sees a shared
//! variable as an ordinary global of one thread, or a warp operation as code that may be moved.
//!
//! The pass rewrites:
//! - **address spaces** ([`spaces`]): a static in the section `.shared` or `.constant` moves to that
//!   address space, any other to global memory, and each use goes through an `addrspacecast`, which `opt` then folds into the
//!   access (`ld.shared`, `st.shared`);
//! - **launch bounds** ([`bounds`]): the comment `// launch_bounds MAX_THREADS [MIN_BLOCKS]` in an
//!   `asm!` block of a kernel becomes the kernel's `.maxntid` and `.minnctapersm`, and `// cluster BLOCKS` its
//!   `.reqnctapercluster`;
//! - **parameters** ([`parameters`]): one with `#[grid_constant]` is a value that is not copied;
//! - **convergence** ([`convergent`]): an `asm!` block that synchronizes threads is marked so;
//! - **the shared window** ([`window`]): an `asm!` block of the instruction `cvta.to.shared` becomes a cast
//!   that `opt` folds;
//! - **remainders and 128-bit conversions** ([`builtins`]): floats' instructions that PTX lacks become calls;
//! - **architecture**: functions that come compiled from other crates take the kernel's
//!   `target-cpu`, for LLVM inlines only between functions of one.
//!
//! [`verify`] reads the optimized IR: it reports accesses that stayed generic, and refuses tables of shared addresses and
//! writes to constants. [`local_atomics`] makes atomic operations on local variables plain ones, and [`signs`] works around a mistake of LLVM's there.

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
        "shared static `{name}` has an initial value ({value}): shared memory starts uninitialized. \
         Declare it as MaybeUninit and write it in the kernel{place}"
    )]
    Initialized {
        /// The static, demangled.
        name: String,
        /// The start of its initializer, as LLVM writes it.
        value: String,
        /// Its first use.
        place: Place,
    },
    /// Another static, or a constant, holds the address of a marked static.
    #[error(
        "{holder} holds the address of {space} static `{name}`, which is not known before a kernel runs{place}\n\
         help: take the address inside the kernel"
    )]
    AddressInStatic {
        /// `shared` or `constant`.
        space: &'static str,
        /// The marked static, demangled.
        name: String,
        /// What holds the address: a static, with its name, or a constant.
        holder: String,
        /// The first use of that one.
        place: Place,
    },
    /// The pass cannot read the form of a static's declaration.
    #[error("the declaration of static `{name}` has a form that the pass does not know: {line}{place}")]
    UnknownForm {
        /// The static, demangled.
        name: String,
        /// Its line in the IR.
        line: String,
        /// Its first use.
        place: Place,
    },
    /// After optimization, an access to a marked static uses a generic address. This is a warning, or an error:
    /// [`CudaBuilder::generic_accesses`](crate::CudaBuilder::generic_accesses).
    #[error(
        "an access to {space} static `{name}` in `{function}` stays generic: {line}{place}\n\
         note: its address reaches memory, a call that is not inlined, a choice between address spaces, or asm!, so the \
         access is slower than one in {space} memory\n\
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
        /// Its line of Rust.
        place: Place,
    },
    /// A kernel writes to constant memory, which only the host can do.
    #[error(
        "`{function}` writes to constant static `{name}`: {line}{place}\n\
         Kernels can only read constant memory; the host writes it before a launch. Leave \
         #[address_space(constant)] away to have the static in global memory"
    )]
    WritesConstant {
        /// The static, demangled.
        name: String,
        /// The function with the write, demangled.
        function: String,
        /// The instruction, as LLVM writes it.
        line: String,
        /// Its line of Rust.
        place: Place,
    },
    /// A remainder of floats for which there is no function.
    #[error("`{function}` takes a remainder of a type of floats other than f16, f32 and f64: {line}{place}")]
    Remainder {
        /// The function, demangled.
        function: String,
        /// The instruction, as LLVM writes it.
        line: String,
        /// Its line of Rust.
        place: Place,
    },
    /// Launch bounds that no launch can meet, or that are not numbers.
    #[error("launch bounds of `{function}`: {problem}{place}")]
    Bounds {
        /// The function with the marker, demangled.
        function: String,
        /// The reason, in words.
        problem: String,
        /// The line of Rust that states them.
        place: Place,
    },
    /// A parameter that is marked to stay among the launch's arguments and cannot.
    #[error("#[grid_constant] in `{function}`: {problem}{place}")]
    Parameter {
        /// The function with the marker, demangled.
        function: String,
        /// The reason, in words.
        problem: String,
        /// The line of Rust that marks it.
        place: Place,
    },
}

/// Rewrites rustc's unoptimized IR, of which [`builtins`] has been through the whole, for the architecture `sm` (`sm_75`).
///
/// # Errors
/// [`LowerError`] when a static or a kernel cannot be lowered. It names the static or kernel and says
/// why.
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
    fn every_function_takes_the_architecture() {
        let ir = "attributes #0 = { nounwind \"target-cpu\"=\"sm_30\" }\n\
                  attributes #1 = { \"target-cpu\"=\"sm_75\" \"x\" }\n";
        assert_eq!(
            retarget(ir, "sm_90"),
            "attributes #0 = { nounwind \"target-cpu\"=\"sm_90\" }\n\
             attributes #1 = { \"target-cpu\"=\"sm_90\" \"x\" }\n"
        );
    }
}
