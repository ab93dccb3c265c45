#![allow(clippy::unwrap_used)]

use super::*;
use crate::Ptx;
use crate::device::Device;
use crate::launch::Arg;

#[test]
fn variables_keep_their_values_from_launch_to_launch() {
    const COUNTS: &str = ".version 7.8\n.target sm_90\n.address_size 64\n.global .u32 count = 5;\n\
        .entry adds() { .reg .b32 %r1; atom.global.add.u32 %r1, [count], 1; ret; }\n\
        .entry reads(.param .u64 to) { .reg .b32 %r1; .reg .b64 %to; ld.param.u64 %to, [to];\n\
        ld.global.u32 %r1, [count]; st.global.u32 [%to], %r1; ret; }\n";
    static OWN: [Ptx; 1] = [Ptx::new((7, 5), ".version 6.3\n.target sm_75\n")];
    static KERNELS: Kernels = Kernels { modules: &OWN, host_compiler: "", build_folder: "", package_folder: "" };
    let mut sim = Sim::open(&KERNELS, 1).unwrap();
    let to = sim.alloc(4).unwrap();
    let code = sim.load(COUNTS.to_owned()).unwrap();
    for (entry, args) in [("adds", vec![]), ("adds", vec![]), ("reads", vec![Arg::Buffer(0)])] {
        let launch = Launch { code, entry: entry.to_owned(), grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, args };
        // SAFETY: it is the simulator.
        unsafe { sim.launch(&launch, &[to]) }.unwrap();
    }
    let mut count = [0; 4];
    sim.download(to, &mut count).unwrap();
    assert_eq!(u32::from_le_bytes(count), 7);
}
