//! Register liveness: the registers that an instruction or a later instruction reads before they are written.

use simt::code::Func;
use simt::regs::{Pred, R32, R64, Reg};

/// The live registers of a function before each of its instructions.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// The index of the first 64-bit register; `preds` is the index of the first predicate.
    wide: u32,
    preds: u32,
    /// The number of words in a row.
    words: usize,
    /// A row for each instruction, with a bit for each register.
    rows: Vec<u64>,
}

impl Liveness {
    pub(crate) fn new(func: &Func) -> Self {
        let (wide, preds) = (func.r32, func.r32 + func.r64);
        let words = ((preds + func.preds) as usize).div_ceil(64);
        let mut liveness = Self { wide, preds, words, rows: vec![0; words * func.code.len()] };
        let mut changed = true;
        let mut row = vec![0; words];
        while std::mem::take(&mut changed) {
            for pc in (0..func.code.len()).rev() {
                let inst = &func.code[pc];
                row.fill(0);
                for next in func.successors(pc) {
                    let next = liveness.rows.get(next * words..(next + 1) * words);
                    for (to, from) in row.iter_mut().zip(next.unwrap_or_default()) {
                        *to |= from;
                    }
                }
                let operands = func.operands_of(pc);
                if inst.guard.is_none() {
                    for reg in operands.writes {
                        let (word, bit) = liveness.place(*reg);
                        row[word] &= !bit;
                    }
                }
                for reg in operands.reads {
                    let (word, bit) = liveness.place(*reg);
                    row[word] |= bit;
                }
                let known = &mut liveness.rows[pc * words..][..words];
                if *known != row[..] {
                    known.copy_from_slice(&row);
                    changed = true;
                }
            }
        }
        liveness
    }

    fn place(&self, reg: Reg) -> (usize, u64) {
        let index = match reg {
            Reg::R32(reg) => reg.0,
            Reg::R64(reg) => self.wide + reg.0,
            Reg::Pred(reg) => self.preds + reg.0,
        };
        (index as usize / 64, 1 << (index % 64))
    }

    /// Returns whether the instruction or a later one reads the value that a register has before the instruction.
    pub(super) fn is_read(&self, pc: u32, reg: Reg) -> bool {
        let (word, bit) = self.place(reg);
        self.rows.get(pc as usize * self.words + word).is_some_and(|row| row & bit != 0)
    }

    /// Returns the registers that may be read before they are written, except the registers that a new frame
    /// initializes.
    fn unwritten(&self, func: &Func) -> Vec<Reg> {
        let all = (0..self.preds + func.preds).map(|index| match index {
            _ if index < self.wide => Reg::R32(R32(index)),
            _ if index < self.preds => Reg::R64(R64(index - self.wide)),
            _ => Reg::Pred(Pred(index - self.preds)),
        });
        let is_filled = |reg: &Reg| {
            func.frame_init.iter().any(|entry| entry.reg == *reg) || func.stack_top.map(Reg::R32) == Some(*reg)
        };
        all.filter(|reg| self.is_read(0, *reg) && !is_filled(reg)).collect()
    }
}

/// The liveness of all registers of a program.
#[derive(Debug)]
pub(crate) struct RegisterLives {
    /// The liveness of each function's registers.
    pub(super) functions: Vec<Liveness>,
    /// For each function, the registers that may be read before they are written. Register numbers are unique across
    /// all functions.
    pub(super) unwritten: Vec<Vec<(u32, Reg)>>,
}

impl RegisterLives {
    pub(crate) fn new(functions: &[Func]) -> Self {
        let lives: Vec<Liveness> = functions.iter().map(Liveness::new).collect();
        let mut numbers = 0..;
        let of_function =
            |(liveness, func): (&Liveness, &Func)| numbers.by_ref().zip(liveness.unwritten(func)).collect();
        let unwritten = lives.iter().zip(functions).map(of_function).collect();
        Self { functions: lives, unwritten }
    }
}
