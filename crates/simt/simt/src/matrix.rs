//! Tensor cores: instructions that the lanes of a warp execute together on matrices, in registers and in memory (PTX
//! ISA §9.7.14, §9.7.15).
//!
//! Each instruction is executed completely when it is issued. In a warp group, each warp computes the rows that it
//! holds.

pub(crate) mod layout;
pub(crate) mod memory;
pub mod multiply;
pub(crate) mod number;
pub(crate) mod sparse;
pub(crate) mod warp_group;

use crate::memory::{Accessed, Env, Observe, POISON};
use crate::observe::AsyncGroup;
use crate::regs::{ALL, LANES, Regs};
use memory::{Rows, Tile, Transpose};
// `Arithmetic`, `Product` and `Element` are public for the tests, which are a separate package and compute products
// without a simulator.
use multiply::{AddProduct, Multiply};
#[doc(hidden)]
pub use multiply::{Arithmetic, Product};
#[doc(hidden)]
pub use number::Element;
use warp_group::GroupMultiply;
pub use warp_group::Operand as GroupOperand;

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Matrix {
    /// `mma`, `wmma.mma`
    Multiply(Multiply),
    /// `wgmma.mma_async`
    GroupMultiply(GroupMultiply),
    /// `ldmatrix`, `stmatrix`
    Rows(Rows),
    /// `wmma.load`, `wmma.store`
    Tile(Tile),
    /// `movmatrix`
    Transpose(Transpose),
    /// `wgmma.commit_group`, `wait_group`: no operation, because products are computed immediately.
    Group(AsyncGroup),
    /// `wgmma.fence`: no operation, because products are computed immediately.
    Nothing,
}

impl Matrix {
    /// Returns whether the instruction may be skipped when one of its addresses cannot be accessed.
    pub(crate) fn may_be_skipped(&self) -> bool {
        matches!(self, Matrix::Rows(_) | Matrix::Tile(_))
    }

    /// Fills the destination registers of a skipped instruction with [`POISON`].
    #[cold]
    pub(crate) fn poison(&self, regs: &mut Regs<'_>) {
        match self {
            Matrix::Rows(op) if !op.stores => {
                op.registers.iter().for_each(|register| regs.set32(*register, ALL, &[POISON as u32; LANES]));
            }
            Matrix::Tile(op) if !op.stores => {
                op.fragment.registers.iter().for_each(|register| regs.set(*register, ALL, &[POISON; LANES]));
            }
            _ => {}
        }
    }

    /// Runs the instruction on all lanes of warp number `warp` of a block, and reports its accesses to `observe`.
    /// `add_product` is [`Product::add`](multiply::Product::add) for this CPU.
    ///
    /// # Errors
    /// Returns an [`AccessFault`](crate::memory::AccessFault) when an address or a descriptor is misaligned or out of
    /// bounds.
    #[inline(never)]
    pub(crate) fn execute(
        &self,
        env: &mut Env<'_, '_>,
        warp: u32,
        add_product: AddProduct,
        observe: &mut Observe<'_>,
    ) -> Accessed {
        match self {
            Matrix::Multiply(op) => op.execute(&mut env.regs, add_product),
            Matrix::GroupMultiply(op) => op.execute(env, warp, add_product)?,
            Matrix::Rows(op) => op.execute(env, observe)?,
            Matrix::Tile(op) => op.execute(env, observe)?,
            Matrix::Transpose(op) => op.execute(&mut env.regs),
            Matrix::Group(_) | Matrix::Nothing => {}
        }
        Ok(())
    }
}
