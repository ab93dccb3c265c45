//! Tests of the events of a launch that observers see.

use std::any::Any;
use std::fmt::Write as _;

use simt::observe::{Access, AsyncGroup, BarrierArrival, Boxed, DynObserver, Place, Places, Scope, Site, Step, WarpId};
use simt::{Config, Launch, Module, Simulator};

/// Records the events, one line each.
#[derive(Default)]
struct Notes(String);

impl DynObserver for Notes {
    fn fork(&self) -> Box<dyn DynObserver> {
        Box::new(Notes::default())
    }

    fn merge(&mut self, other: Box<dyn Any>) {
        self.0.push_str(&other.downcast::<Notes>().unwrap().0);
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn step(&mut self, step: &Step<'_>) {
        let values = step.registers.get("%r1").unwrap();
        let _ = writeln!(
            self.0,
            "warp {} at {}: lanes {:x}, %r1 of lane 1 {}, {} registers",
            step.warp_id.warp,
            step.site.pc,
            step.lanes,
            values[1],
            step.registers.names().count()
        );
    }

    fn barrier(&mut self, arrival: &BarrierArrival) {
        let BarrierArrival { id, count, lanes, waits, .. } = arrival;
        let _ = writeln!(self.0, "barrier {id} of {count:?}: lanes {lanes:x}, waits: {waits}");
    }

    fn released(&mut self, block: u64, id: u32) {
        let _ = writeln!(self.0, "block {block} released at barrier {id}");
    }

    fn synchronized(&mut self, site: Site, _: WarpId, lanes: u32) {
        let _ = writeln!(self.0, "lanes {lanes:x} met at {}", site.pc);
    }

    fn fence(&mut self, _: Site, _: WarpId, lanes: u32, scope: Scope) {
        let _ = writeln!(self.0, "fence of lanes {lanes:x} for {scope:?}");
    }

    fn async_group(&mut self, _: Site, _: WarpId, lanes: u32, group: AsyncGroup) {
        let _ = writeln!(self.0, "async copies of lanes {lanes:x}: {group:?}");
    }

    fn located(&mut self, _: Site, _: WarpId, access: &Access<'_>, places: &Places<'_>) {
        let [first, second] = [access.addresses[0], access.addresses[1]];
        let place = places.find(access.space, first);
        assert_eq!(places.find(access.space, 1 << 60), None);
        let Some(Place { variable, base, bytes }) = place else {
            return;
        };
        let _ = writeln!(
            self.0,
            "{:?} of {:?} {variable:?}, {bytes} bytes: lanes 0 and 1 at {} and {}",
            access.kind,
            access.space,
            first - base,
            second - base
        );
    }

    fn allocated(&mut self, _: u64, bytes: u64) {
        let _ = writeln!(self.0, "{bytes} bytes allocated");
    }

    fn written(&mut self, _: u64, bytes: u64) {
        let _ = writeln!(self.0, "{bytes} bytes written by the host");
    }

    fn read(&mut self, _: u64, bytes: u64) {
        let _ = writeln!(self.0, "{bytes} bytes read by the host");
    }

    fn freed(&mut self, _: u64) {
        let _ = writeln!(self.0, "freed");
    }

    fn exited(&mut self, _: Site, warp_id: WarpId, lanes: u32) {
        let _ = writeln!(self.0, "lanes {lanes:x} of warp {} exited", warp_id.warp);
    }

    fn block_ended(&mut self, block: u64) {
        let _ = writeln!(self.0, "block {block} ended");
    }
}

#[test]
fn observers_see_every_event() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<3>;\n.reg .pred %p;\n\
               mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p, %r1, 3;\n@%p exit;\n@!%p bar.warp.sync -1;\nfence.acq_rel.gpu;\n\
               barrier.sync 1, 32;\nadd.u32 %r1, %r1, 9;\nret;\n}\n";
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let launch = Launch::new(&function, [1, 1, 1], [4, 1, 1], &[]);
    let seen = simulator.launch_observed(&launch, Boxed(Box::new(Notes::default()))).unwrap();
    let notes = seen.0.into_any().downcast::<Notes>().unwrap();
    insta::assert_snapshot!(notes.0);
}

#[test]
fn memory_is_observed_on_the_host_and_by_its_variables() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b32 all[3];\n\
               .const .align 4 .b32 one = 1;\n.extern .shared .b32 rest[];\n\
               .entry k(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n.shared .b32 before;\n\
               .shared .align 8 .b32 tile[8];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n\
               mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nst.shared.b32 [before], 0;\n\
               ld.const.b32 %r2, [one];\natom.global.add.u32 %r2, [all+4], %r2;\nst.shared.b32 [rest+4], %r2;\n\
               shl.b32 %r2, %r1, 2;\nmov.u32 %r0, tile;\nadd.u32 %r2, %r2, %r0;\n\
               cp.async.ca.shared.global [%r2+4], [%rd1+8], 4;\ncp.async.commit_group;\ncp.async.wait_group 1;\n\
               cp.async.wait_all;\nret;\n}\n";
    let module = Module::from_ptx(ptx).unwrap();
    let mut simulator = Simulator::new(Config::default()).unwrap();
    let mut observed = simulator.observed(Boxed(Box::new(Notes::default())));
    let out = observed.upload(&[1u32, 2, 3, 4]).unwrap();
    let module_function = module.function("k").unwrap();
    let instance = observed.load(&module).unwrap();
    for function in [instance.function("k").unwrap(), module_function] {
        let args = [out.into()];
        let launch = Launch::new(&function, [1, 1, 1], [2, 1, 1], &args).with_shared_bytes(8);
        observed.launch(&launch).unwrap();
    }
    assert_eq!(observed.read(out).unwrap(), [1, 2, 3, 4]);
    observed.unload(instance).unwrap();
    observed.free(out).unwrap();
    assert!(observed.free(out).is_err());
    let notes = observed.observer.0.into_any().downcast::<Notes>().unwrap();
    insta::assert_snapshot!(notes.0);
}
