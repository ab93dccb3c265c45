//! What observers are told of a launch.

use std::any::Any;
use std::fmt::Write as _;

use simt::observe::{BarrierArrival, Boxed, DynObserver, Scope, Site, Step, WarpId};
use simt::{Config, Launch, Machine, Module};

/// Notes what happens, a line each.
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
        let BarrierArrival {
            id,
            count,
            lanes,
            waits,
            ..
        } = arrival;
        let _ = writeln!(
            self.0,
            "barrier {id} of {count:?}: lanes {lanes:x}, waits: {waits}"
        );
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

    fn exited(&mut self, _: Site, warp_id: WarpId, lanes: u32) {
        let _ = writeln!(self.0, "lanes {lanes:x} of warp {} exited", warp_id.warp);
    }

    fn block_ended(&mut self, block: u64) {
        let _ = writeln!(self.0, "block {block} ended");
    }
}

#[test]
fn everything_that_happens_is_told() {
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<3>;\n.reg .pred %p;\n\
               mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p, %r1, 3;\n@%p exit;\n@!%p bar.warp.sync -1;\nfence.acq_rel.gpu;\n\
               barrier.sync 1, 32;\nadd.u32 %r1, %r1, 9;\nret;\n}\n";
    let function = Module::from_ptx(ptx).unwrap().function("k").unwrap();
    let mut machine = Machine::new(Config::default()).unwrap();
    let launch = Launch::new(&function, [1, 1, 1], [4, 1, 1], &[]);
    let seen = machine
        .launch_observed(&launch, Boxed(Box::new(Notes::default())))
        .unwrap();
    let notes = seen.0.into_any().downcast::<Notes>().unwrap();
    insta::assert_snapshot!(notes.0);
}
