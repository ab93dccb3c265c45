//! Executing single instructions in unit tests.
//!
//! Registers are declared in a fixed order, so that a name says which one it is: `%r0` to `%r15` (.b32),
//! `%h0` to `%h15` (.b16), `%f0` to `%f15` (.f32), `%c0` to `%c15` (.b8), `%rd0` to `%rd15` (.b64), `%fd0` to `%fd15` (.f64), `%p0`
//! to `%p7`.

use crate::code::Program;
use crate::error::LowerError;
use crate::lower::lower;
use crate::regs::{ALL, LANES, Lanes32, Lanes64, Regs};

/// Registers of a warp, by the names above.
pub(crate) struct State {
    r32: Vec<Lanes32>,
    r64: Vec<Lanes64>,
    preds: Vec<u32>,
}

enum File {
    R32(usize),
    R64(usize),
    Pred(usize),
}

fn file(name: &str) -> File {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number: usize = digits.parse().expect("a register's number");
    match &name[..name.len() - digits.len()] {
        "%r" => File::R32(number),
        "%h" => File::R32(16 + number),
        "%f" => File::R32(32 + number),
        "%c" => File::R32(48 + number),
        "%rd" => File::R64(number),
        "%fd" => File::R64(16 + number),
        "%p" => File::Pred(number),
        other => panic!("no register file {other}"),
    }
}

/// The program of a kernel with this body, or why it is refused.
pub(crate) fn program(body: &str) -> Result<Program, LowerError> {
    let text = format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .b32 %r<16>;\n.reg .b16 %h<16>;\n.reg .f32 %f<16>;\n.reg .b8 %c<16>;\n.reg .b64 %rd<16>;\n\
         .reg .f64 %fd<16>;\n.reg .pred %p<8>;\n{body}\nret;\n}}\n"
    );
    let module = ptx::parse(&text).expect("the test's instruction is PTX");
    lower(&module).kernels.remove(0).1
}

impl State {
    /// All registers zero.
    pub(crate) fn new() -> Self {
        State { r32: vec![[0; LANES]; 64], r64: vec![[0; LANES]; 32], preds: vec![0; 8] }
    }

    /// Sets a register in all lanes; a predicate's value is its mask.
    pub(crate) fn set(self, name: &str, value: u64) -> Self {
        self.set_lanes(name, [value; LANES])
    }

    /// Sets a register lane by lane.
    pub(crate) fn set_lanes(mut self, name: &str, values: Lanes64) -> Self {
        match file(name) {
            File::R32(at) => self.r32[at] = values.map(|value| value as u32),
            File::R64(at) => self.r64[at] = values,
            File::Pred(at) => self.preds[at] = values[0] as u32,
        }
        self
    }

    /// Lane 0 of a register; a predicate's mask.
    pub(crate) fn get(&self, name: &str) -> u64 {
        self.lanes(name)[0]
    }

    /// All lanes of a register.
    pub(crate) fn lanes(&self, name: &str) -> Lanes64 {
        match file(name) {
            File::R32(at) => self.r32[at].map(u64::from),
            File::R64(at) => self.r64[at],
            File::Pred(at) => [u64::from(self.preds[at]); LANES],
        }
    }

    /// Runs instructions of the register-only families (not memory, branches, barriers) on all lanes.
    pub(crate) fn run(self, body: &str) -> Self {
        self.run_on(body, ALL)
    }

    /// The same on the lanes of `mask`.
    pub(crate) fn run_on(mut self, body: &str, mask: u32) -> Self {
        let program = program(body).expect("the test's instruction is known");
        let func = &program.functions[0];
        self.r32.resize(func.r32 as usize, [0; LANES]);
        self.r64.resize(func.r64 as usize, [0; LANES]);
        self.preds.resize(func.preds as usize, 0);
        let mut regs = Regs { r32: &mut self.r32, r64: &mut self.r64, preds: &mut self.preds };
        for filled in &func.frame_init {
            let crate::code::FrameInit::Number(value) = filled.init else {
                continue;
            };
            match filled.reg {
                crate::code::Reg::R32(reg) => regs.set32(reg, ALL, &[value as u32; LANES]),
                crate::code::Reg::R64(reg) => regs.set64(reg, ALL, &[value; LANES]),
                crate::code::Reg::Pred(reg) => {
                    regs.set_pred(reg, ALL, if value == 0 { 0 } else { ALL });
                }
            }
        }
        let mut pc = 0;
        while pc < func.code.len() {
            match &func.code[pc].op {
                crate::code::Op::Alu(_) => {
                    pc += (crate::host_simd::best().run_alu)(&func.code[pc..], &mut regs, mask);
                }
                crate::code::Op::Warp(op) => {
                    let active = regs.guarded(func.code[pc].guard, mask);
                    op.execute(&mut regs, active, active, None);
                    pc += 1;
                }
                crate::code::Op::Return => break,
                other => panic!("{other:?} is not for this test"),
            }
        }
        self
    }
}

/// The result `to` of an instruction with these inputs, in lane 0.
pub(crate) fn eval(instruction: &str, inputs: &[(&str, u64)], to: &str) -> u64 {
    let state = inputs.iter().fold(State::new(), |state, (name, value)| state.set(name, *value));
    state.run(instruction).get(to)
}
