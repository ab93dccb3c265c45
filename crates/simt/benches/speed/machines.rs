//! The two machines, each with a kernel and its buffers.

use ptoxide::{Argument, Context, LaunchParams};
use simt::counters::Value;
use simt::{Arg, Buffer, Config, Counters, Function, Launch, Machine, Module};

use crate::kernel::Kernel;

/// [`simt`] with a kernel.
pub(super) struct Simt {
    machine: Machine,
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
    output: Buffer<f32>,
}

impl Simt {
    /// On `threads` host threads, 0 for one each core.
    pub(super) fn new(kernel: &Kernel, threads: usize) -> Self {
        let config = Config { threads, ..Config::default() };
        let mut machine = Machine::new(config).expect("the host has threads");
        let module = Module::from_ptx(kernel.ptx).expect("the kernel is PTX");
        let function = module.function(kernel.name).expect("simt runs the kernel");
        let mut args = Vec::new();
        for input in &kernel.inputs {
            args.push(machine.upload(input).expect("a few megabytes").into());
        }
        let output = machine.zeroed(kernel.expected.len()).expect("a few megabytes");
        args.extend([output.into(), kernel.n.into()]);
        let [x, y] = kernel.grid;
        let [block_x, block_y] = kernel.block;
        Self { machine, function, grid: [x, y, 1], block: [block_x, block_y, 1], args, output }
    }

    pub(super) fn launch(&mut self) {
        self.machine.launch(&Launch::new(&self.function, self.grid, self.block, &self.args)).expect("the kernel runs");
    }

    pub(super) fn launch_counted(&mut self) -> Counters {
        self.machine
            .launch_counted(&Launch::new(&self.function, self.grid, self.block, &self.args))
            .expect("the kernel runs")
    }

    fn output(&self) -> Vec<f32> {
        self.machine.read(self.output).expect("a few megabytes")
    }
}

/// Copies the output to the host.
type Read = dyn Fn(&mut Context, &mut [f32]);

/// `ptoxide` with a kernel.
pub(super) struct Ptoxide<'k> {
    context: Context,
    // Its pointers' type has no public name; these know them.
    launch: Box<dyn Fn(&mut Context) + 'k>,
    read: Box<Read>,
}

impl<'k> Ptoxide<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Self {
        let mut context = Context::new_with_module(kernel.ptx).expect("ptoxide reads the kernel");
        let mut pointers = Vec::new();
        for input in &kernel.inputs {
            let pointer = context.alloc::<f32>(input.len());
            context.write(pointer, input);
            pointers.push(pointer);
        }
        let output = context.alloc::<f32>(kernel.expected.len());
        pointers.push(output);
        let launch = move |context: &mut Context| {
            let ([x, y], [block_x, block_y]) = (kernel.grid, kernel.block);
            let params = LaunchParams::func(kernel.name).grid2d(x, y).block2d(block_x, block_y);
            let mut args: Vec<Argument<'_>> = pointers.iter().map(|pointer| Argument::ptr(*pointer)).collect();
            args.push(Argument::U32(kernel.n));
            context.run(params, &args).expect("the kernel runs");
        };
        Self { context, launch: Box::new(launch), read: Box::new(move |context, data| context.read(output, data)) }
    }

    pub(super) fn launch(&mut self) {
        (self.launch)(&mut self.context);
    }

    fn output(&mut self, len: usize) -> Vec<f32> {
        let mut data = vec![0.0; len];
        (self.read)(&mut self.context, &mut data);
        data
    }
}

/// Runs a kernel on the machines that can, compares what they compute, and returns how many instructions its
/// threads execute.
pub(super) fn check(kernel: &Kernel) -> u64 {
    let mut simt = Simt::new(kernel, 1);
    simt.launch();
    assert!(simt.output() == kernel.expected, "simt: {}", kernel.name);
    if kernel.is_for_ptoxide() {
        let mut ptoxide = Ptoxide::new(kernel);
        ptoxide.launch();
        let output = ptoxide.output(kernel.expected.len());
        assert!(output == kernel.expected, "ptoxide: {}", kernel.name);
    }
    match simt.launch_counted().get("ptx_thread_inst_executed.sum") {
        Some(Value::Count(count)) => count,
        other => panic!("{other:?} is no number of instructions"),
    }
}
