//! `ladder profile` of every ladder, and what Nsight Compute is run on. What it shows is in cli/profile.txt.

use crate::common::Fake;
use crate::common::program::{env, on, within};
use host::device::Sim;
use host::{Device, Error, KERNELS};

#[test]
fn what_ncu_is_run_on_launches_each_kernel_once_and_no_other() {
    let device = std::cell::RefCell::new(None);
    let open = || {
        let fake = Fake::new(None);
        *device.borrow_mut() = Some(fake.log());
        fake
    };
    let rungs = "reduce_neighbored reduce_shfl reduce_atomic";
    let args = format!("run reduce --rung {rungs} --n=4k --no-time --device gpu");
    on(open, &args).printed();
    let log = device.borrow().as_ref().unwrap().borrow().clone();
    let is_work = |what: &&String| what.contains("<<<") || what.starts_with("hold") || *what == "read";
    let launched: Vec<_> = log.iter().filter(is_work).map(|own| own.as_str()).collect();
    let three = "reduce_neighbored<<<8, 512, 0>>> reduce_shfl_128<<<32, 128, 0>>> reduce_atomic_512<<<1, 512, 0>>>";
    assert_eq!(launched.join(" "), three);
}

#[test]
fn every_ladder_has_a_profile() {
    let sim = |_| -> Result<Box<dyn Device>, Error> { Ok(Box::new(Sim::open(&KERNELS, 0)?)) };
    let out = within(&env(&sim), "profile --n=64 --m=32 --k=32 --rows=64 --cols=64 --device=sim").printed();
    for ladder in host::ladders() {
        assert!(out.contains(&format!("\n{}: ", ladder.name)) || out.starts_with(ladder.name));
        for rung in ladder.rungs {
            let row = format!("│ {} ", rung.name);
            assert!(out.contains(&row), "{}: {out}", rung.name);
        }
    }
    assert!(!out.contains("not known"), "{out}");
}
