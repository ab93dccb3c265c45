//! Tensor cores: instructions that the lanes of a warp execute together on matrices, in registers and in memory (PTX
//! ISA §9.7.14, §9.7.15).
//!
//! What an instruction does is a function of registers and memory; it is done where it is issued, by each warp of a
//! warp group for its own rows.

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
// The tests, a package of their own, multiply without a machine.
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
    /// `wgmma.commit_group`, `wait_group`: nothing is left to do, because products are formed at once.
    Group(AsyncGroup),
    /// `wgmma.fence`: the same.
    Nothing,
}

impl Matrix {
    /// Whether it may be left out if one of its addresses cannot be accessed.
    pub(crate) fn may_be_skipped(&self) -> bool {
        matches!(self, Matrix::Rows(_) | Matrix::Tile(_))
    }

    /// Fills its destination registers with [`POISON`], because it is skipped.
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

    /// Runs it on all lanes of warp number `warp` of a block, and tells `observe` what it accesses. `add_product` is
    /// [`Product::add`](multiply::Product::add) for this CPU.
    ///
    /// # Errors
    /// An [`AccessFault`](crate::memory::AccessFault) when an address or a descriptor is misaligned or out of bounds.
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
