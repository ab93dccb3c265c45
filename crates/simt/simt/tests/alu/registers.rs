//! Executes single instructions.
//!
//! Registers are declared in a fixed order, so a name identifies a register: `%r0` to `%r15` (.b32), `%h0` to `%h15`
//! (.b16), `%f0` to `%f15` (.f32), `%c0` to `%c15` (.b8), `%rd0` to `%rd15` (.b64), `%fd0` to `%fd15` (.f64), `%p0` to
//! `%p7`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use simt::code::Program;
use simt::lower::{LowerError, lower};
use simt::regs::{ALL, LANES, Lanes64};
use simt::{Config, Launch, Module, Simulator};

/// The register files: the letters of their names, their type, and the number of registers.
const FILES: [(&str, &str, usize); 7] = [
    ("r", "b32", 16),
    ("h", "b16", 16),
    ("f", "f32", 16),
    ("c", "b8", 16),
    ("rd", "b64", 16),
    ("fd", "f64", 16),
    ("p", "pred", 8),
];

/// The nonzero registers of a warp, by name without the `%`. A predicate is 0 or 1 in each lane.
#[derive(Default)]
pub struct State(BTreeMap<String, Lanes64>);

/// Returns a kernel that declares all registers and then runs `body`.
fn kernel(target: &str, parameters: &str, body: &str) -> String {
    let mut text = format!(".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k({parameters})\n{{\n");
    for (name, ty, count) in FILES {
        let _ = writeln!(text, ".reg .{ty} %{name}<{count}>;");
    }
    text + body + "\nret;\n}\n"
}

/// Returns the program of a kernel with this body, or the reason why the kernel is refused.
pub fn program(body: &str) -> Result<Program, LowerError> {
    let text = kernel("sm_90", "", body);
    let module = ptx::parse(&text).expect("the test's instruction is PTX");
    lower(&module).kernels.remove(0).1
}

impl State {
    /// Returns a state in which all registers are zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a register in all lanes; the value of a predicate is its lane mask.
    pub fn set(self, name: &str, value: u64) -> Self {
        let values = std::array::from_fn(|lane| if name.starts_with("%p") { value >> lane & 1 } else { value });
        self.set_lanes(name, values)
    }

    /// Sets a register lane by lane.
    pub fn set_lanes(mut self, name: &str, values: Lanes64) -> Self {
        self.0.insert(name[1..].to_owned(), values);
        self
    }

    /// Returns lane 0 of a register, or the lane mask of a predicate.
    pub fn get(&self, name: &str) -> u64 {
        let lanes = self.lanes(name);
        let mask = || (0..LANES).map(|lane| lanes[lane] << lane).sum();
        if name.starts_with("%p") { mask() } else { lanes[0] }
    }

    /// Returns a register in all lanes.
    pub fn lanes(&self, name: &str) -> Lanes64 {
        self.0.get(&name[1..]).copied().unwrap_or_default()
    }

    /// Runs instructions on all lanes.
    pub fn run(self, body: &str) -> Self {
        self.run_on(body, ALL)
    }

    /// Runs instructions on the lanes of `mask`; the other lanes branch around them.
    pub fn run_on(self, body: &str, mask: u32) -> Self {
        // Each register has a row with 8 bytes per lane; the first row says which lanes run.
        let mut rows = vec![std::array::from_fn(|lane| u64::from(mask >> lane & 1))];
        let (mut loads, mut stores) = (String::new(), String::new());
        let names =
            FILES.iter().flat_map(|(letters, ty, count)| (0..*count).map(move |at| (format!("{letters}{at}"), ty)));
        for (name, ty) in names.clone() {
            let at = format!("[%address+{}]", rows.len() * 8 * LANES);
            rows.push(self.0.get(&name).copied().unwrap_or_default());
            let _ = match *ty {
                "pred" => write!(loads, "ld.global.u32 %word, {at};\nsetp.ne.u32 %{name}, %word, 0;\n")
                    .and_then(|()| write!(stores, "selp.u32 %word, 1, 0, %{name};\nst.global.u32 {at}, %word;\n")),
                ty => writeln!(loads, "ld.global.{ty} %{name}, {at};")
                    .and_then(|()| writeln!(stores, "st.global.{ty} {at}, %{name};")),
            };
        }
        let text = kernel(
            "sm_100",
            ".param .u64 rows",
            &format!(
                ".reg .b64 %address;\n.reg .b64 %lane;\n.reg .b32 %word;\n.reg .pred %away;\nld.param.u64 %address, [rows];\n\
                 mov.u32 %word, %tid.x;\nmul.wide.u32 %lane, %word, 8;\nadd.s64 %address, %address, %lane;\n{loads}\
                 ld.global.u32 %word, [%address];\nsetp.eq.u32 %away, %word, 0;\n@%away bra AFTER;\n{{\n{body}\n}}\n\
                 AFTER:\n{stores}"
            ),
        );
        let module = Module::from_ptx(text).expect("the test's instruction is PTX");
        let function = module.function("k").unwrap_or_else(|error| panic!("{error}\n{body}"));
        let mut simulator = Simulator::new(Config { threads: 1, ..Config::default() }).unwrap();
        let buffer = simulator.upload(rows.as_flattened()).unwrap();
        simulator.launch(&Launch::new(&function, [1; 3], [LANES as u32, 1, 1], &[buffer.into()])).unwrap();
        let found = simulator.read(buffer).unwrap();
        let rows = found.chunks_exact(LANES).skip(1).map(|row| row.try_into().expect("a value a lane"));
        State(names.map(|(name, _)| name).zip(rows).collect())
    }
}

/// Returns lane 0 of the result `to` of an instruction with these inputs.
pub fn eval(instruction: &str, inputs: &[(&str, u64)], to: &str) -> u64 {
    let state = inputs.iter().fold(State::new(), |state, (name, value)| state.set(name, *value));
    state.run(instruction).get(to)
}
