//! Tests loaded modules and their variables.

use simt::{Arg, Config, Function, InstanceError, Launch, LaunchError, MemoryError, Module, Simulator};

/// `copy` stores two 64-bit values: `load [where]` and the address `where`.
const POINTERS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .const .align 8 .u64 to_global = generic(second)+4;\n\
    .visible .const .align 4 .b8 pad[12] = {1, 2, 3};\n\
    .visible .const .align 4 .u32 value[2] = {5, 6};\n\
    .visible .global .align 8 .u64 to_constant = generic(value)+4;\n\
    .visible .global .align 4 .u32 offset_of_constant = value;\n\
    .visible .global .align 8 .u64 first[2] = {first, second};\n\
    .visible .global .align 4 .u32 second[2] = {8, 9};\n\
    .func nothing()\n{\nret;\n}\n.global .align 8 .u64 of_function[2] = {nothing, nothing+1};\n\
    .extern .global .align 4 .u32 elsewhere;\n\
    .entry copy(.param .u64 out)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<8>;\n\
    .global .align 8 .u64 mine = second;\n.global .align 8 .u64 of_mine = mine;\n\
    ld.param.u64 %rd1, [out];\n\
    ld.const.u64 %rd2, [to_global];\nld.u32 %r1, [%rd2];\nst.global.u32 [%rd1], %r1;\n\
    ld.global.u64 %rd3, [to_constant];\nld.u32 %r1, [%rd3];\nst.global.u32 [%rd1+4], %r1;\n\
    ld.global.u32 %r2, [offset_of_constant];\nld.const.u32 %r1, [%r2];\nst.global.u32 [%rd1+8], %r1;\n\
    ld.global.u64 %rd4, [first+8];\nld.global.u32 %r1, [%rd4];\nst.global.u32 [%rd1+12], %r1;\n\
    ld.global.u64 %rd5, [of_mine];\nld.global.u64 %rd6, [%rd5];\nld.global.u32 %r1, [%rd6+4];\n\
    st.global.u32 [%rd1+16], %r1;\nret;\n}\n\
    .entry load(.param .u64 from, .param .u64 out)\n{\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n\
    ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [out];\n\
    ld.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;\nret;\n}\n\
    .entry refused()\n{\n.reg .b64 %rd<2>;\nld.global.u32 %rd1, [elsewhere];\nret;\n}\n";

fn simulator(max_memory_bytes: u64) -> Simulator {
    let config = Config { threads: 1, max_memory_bytes, ..Config::default() };
    Simulator::new(config).unwrap()
}

fn run(simulator: &mut Simulator, kernel: &Function, args: &[Arg]) -> Result<(), LaunchError> {
    simulator.launch(&Launch::new(kernel, [1, 1, 1], [1, 1, 1], args))
}

#[test]
fn addresses_in_initial_values() {
    let module = Module::from_ptx(POINTERS).unwrap();
    let mut simulator = simulator(4096);
    let instance = simulator.load(&module).unwrap();
    let out = simulator.zeroed::<u32>(5).unwrap();
    for kernel in [module.function("copy"), instance.function("copy")] {
        simulator.write(out, &[0; 5]).unwrap();
        run(&mut simulator, &kernel.unwrap(), &[out.into()]).unwrap();
        assert_eq!(simulator.read(out).unwrap(), [9, 6, 5, 8, 9]);
    }
    let first = instance.variable::<u64>("first").unwrap();
    let second = instance.variable::<u32>("second").unwrap();
    let addresses = [first.address(), second.address()];
    assert_eq!(simulator.read(first).unwrap(), addresses);
    let functions = instance.variable::<u64>("of_function").unwrap();
    let functions = simulator.read(functions).unwrap();
    assert_ne!(functions[0], 0);
    assert_eq!(functions[1], functions[0] + 1);
    // A variable that no kernel can use is left out, and a kernel that uses it is refused.
    assert!(module.variables().all(|variable| variable.name != "elsewhere"));
    let refused = instance.function("refused").unwrap_err().to_string();
    assert!(refused.contains("`elsewhere`, which is declared here and defined in another module"), "{refused}");
}

#[test]
fn instances_have_separate_variables_in_one_address_space() {
    let module = Module::from_ptx(POINTERS).unwrap();
    let mut simulator = simulator(4096);
    let (one, other) = (simulator.load(&module).unwrap(), simulator.load(&module).unwrap());
    let out = simulator.zeroed::<u32>(5).unwrap();
    let mine = one.variable::<u32>("second").unwrap();
    simulator.write(mine, &[80]).unwrap();
    simulator.write(one.variable("value").unwrap(), &[50u32, 60]).unwrap();
    for (instance, expected) in [(&one, [9, 60, 50, 80, 9]), (&other, [9, 6, 5, 8, 9])] {
        run(&mut simulator, &instance.function("copy").unwrap(), &[out.into()]).unwrap();
        assert_eq!(simulator.read(out).unwrap(), expected);
    }
    // Constants have an address in global memory too.
    let load = other.function("load").unwrap();
    for (from, expected) in [(mine, 80), (one.variable("value").unwrap(), 50)] {
        run(&mut simulator, &load, &[from.into(), out.into()]).unwrap();
        assert_eq!(simulator.read(out).unwrap()[0], expected);
    }
    simulator.unload(one).unwrap();
    let fault = run(&mut simulator, &load, &[mine.into(), out.into()]).unwrap_err();
    assert!(matches!(fault, LaunchError::Fault(_)), "{fault}");
    run(&mut simulator, &other.function("copy").unwrap(), &[out.into()]).unwrap();
}

#[test]
fn unloading_frees_the_memory_of_the_variables() {
    let module = Module::from_ptx(POINTERS).unwrap();
    let bytes: u64 = module.variables().map(|variable| variable.bytes).sum();
    let mut simulator = simulator(bytes);
    let instance = simulator.load(&module).unwrap();
    let full = simulator.load(&module).unwrap_err().to_string();
    assert!(full.starts_with("the module's variable `to_global`: requested 8 bytes of device memory"), "{full}");
    simulator.unload(instance).unwrap();
    assert!(simulator.zeroed::<u8>(bytes as usize).is_ok());
}

#[test]
fn misuse_is_reported_with_help() {
    let module = Module::from_ptx(POINTERS).unwrap();
    let (mut simulator, mut other) = (simulator(4096), simulator(4096));
    let instance = simulator.load(&module).unwrap();
    let text = |error: InstanceError| error.to_string();
    assert_eq!(
        text(instance.variable::<u8>("secund").unwrap_err()),
        "there is no variable `secund`; the nearest name is `second`"
    );
    for (error, bytes) in
        [(instance.variable::<u64>("pad").unwrap_err(), 8), (instance.variable::<[u8; 0]>("pad").unwrap_err(), 0)]
    {
        assert_eq!(
            text(error),
            format!(
                "variable `pad` has 12 bytes, which is not a multiple of the element size of {bytes}; use u8 or the \
                 kernel's type"
            )
        );
    }
    let pad = instance.variable::<u8>("pad").unwrap();
    let address = pad.address();
    assert_eq!(simulator.free(pad), Err(MemoryError::Variable { address }));
    assert!(matches!(simulator.write(pad, &[0; 13]), Err(MemoryError::TooLong { .. })));
    assert_eq!(other.read(pad), Err(MemoryError::Foreign { address }));
    assert_eq!(other.unload(instance.clone()), Err(InstanceError::Foreign));

    let load = instance.function("load").unwrap();
    let args = [Arg::U64(0), Arg::U64(0)];
    let foreign = run(&mut other, &load, &args).unwrap_err().to_string();
    assert!(foreign.contains("load it on this one too"), "{foreign}");
    simulator.unload(instance.clone()).unwrap();
    let unloaded = run(&mut simulator, &load, &args).unwrap_err().to_string();
    assert!(unloaded.starts_with("kernel `load`: the module was unloaded"), "{unloaded}");
    assert_eq!(simulator.unload(instance), Err(InstanceError::Unloaded));
    assert_eq!(simulator.read(pad), Err(MemoryError::Freed { address }));

    let empty = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\nret;\n}\n";
    let empty = simulator.load(&Module::from_ptx(empty).unwrap()).unwrap();
    assert_eq!(text(empty.variable::<u8>("x").unwrap_err()), "there is no variable `x`; the module has none");
}
