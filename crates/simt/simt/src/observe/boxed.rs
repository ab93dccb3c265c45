//! Observers as trait objects.

use std::any::Any;

use super::{
    Access, AsyncGroup, BarrierArrival, FrameChange, Issue, MbarrierEvent, Mistake, Observer, Places, Requests, Scope,
    Site, Step, WarpId,
};

/// An [`Observer`] that can be chosen at run time. Each method corresponds to the [`Observer`] method of the same name.
///
/// ```
/// use simt::observe::{Boxed, DynObserver, Step};
///
/// /// Prints the value of `%r1` in each thread before each instruction.
/// #[derive(Default)]
/// struct Trace(String);
///
/// impl DynObserver for Trace {
///     fn fork(&self) -> Box<dyn DynObserver> {
///         Box::new(Trace::default())
///     }
///     fn merge(&mut self, other: Box<dyn std::any::Any>) {
///         if let Ok(other) = other.downcast::<Trace>() {
///             self.0.push_str(&other.0);
///         }
///     }
///     fn into_any(self: Box<Self>) -> Box<dyn std::any::Any> {
///         self
///     }
///     fn step(&mut self, step: &Step<'_>) {
///         let values = step.registers.get("%r1").unwrap();
///         self.0.push_str(&format!("{}: {:?}\n", step.site.pc, &values[..2]));
///     }
/// }
///
/// let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\n\
///            add.u32 %r1, %r1, 5;\nret;\n}\n";
/// let function = simt::Module::from_ptx(ptx)?.function("k")?;
/// let mut simulator = simt::Simulator::new(simt::Config::default())?;
/// let launch = simt::Launch::new(&function, [1, 1, 1], [2, 1, 1], &[]);
/// let seen = simulator.launch_observed(&launch, Boxed(Box::new(Trace::default())))?;
/// let trace = seen.0.into_any().downcast::<Trace>().unwrap();
/// assert_eq!(trace.0, "0: [0, 0]\n1: [0, 1]\n2: [5, 6]\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[allow(missing_docs, reason = "the methods are the observer's")]
pub trait DynObserver: Send {
    fn fork(&self) -> Box<dyn DynObserver>;
    /// Merges into this observer an observer that [`fork`](Self::fork) created and [`into_any`](Self::into_any)
    /// converted.
    fn merge(&mut self, other: Box<dyn Any>);
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    every_event!(nothing);
}

/// A [`DynObserver`] as an [`Observer`].
pub struct Boxed(pub Box<dyn DynObserver>);

/// Defines methods that forward a call to the trait object.
macro_rules! forward {
    ($($(#[$doc:meta])* $method:ident($($arg:ident: $ty:ty),+);)*) => {$(
        fn $method(&mut self, $($arg: $ty),+) {
            self.0.$method($($arg),+);
        }
    )*};
}

impl Observer for Boxed {
    const REQUESTS: Requests =
        Requests::STEPS.and(Requests::PLACES).and(Requests::ASYNCHRONOUS).and(Requests::MISTAKES);

    fn fork(&self) -> Self {
        Self(self.0.fork())
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0.into_any());
    }

    every_event!(forward);
}
