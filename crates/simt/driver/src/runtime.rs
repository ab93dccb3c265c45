//! The private interface between NVIDIA's runtime library and the driver: tables of functions (`cuGetExportTable`).
//!
//! The tables and their contents are known from other open-source implementations of the driver (ZLUDA's `dark_api`).
//! Another source is a recording of the calls that a CUDA 13.0 program makes to the real driver. A slot that no
//! recorded program calls returns an error, and the log names the table and the slot.

use std::ffi::c_void;

use hmac::{Hmac, KeyInit as _, Mac as _};
use md2::Md2;

use crate::abi::call::{Function, In, Out, functions};
use crate::abi::error::{Code, Error, Result};
use crate::abi::handles::{Handle, lock};
use crate::abi::report;
use crate::gpu::attributes::{PCI_BUS, PCI_DEVICE, PCI_DOMAIN};
use crate::gpu::context::{self, Context, Destructor};
use crate::gpu::jit::JitOptions;
use crate::gpu::module;
use crate::gpu::state::{self, driver};
use crate::gpu::stream::{self, Stream};

/// A number that the runtime passes and whose meaning is unknown.
type Unknown = usize;

functions! {
    /// Loads the fatbin in a wrapper.
    fn load_fatbin(module: Out<Handle>, wrapper: In<c_void>) {
        module.check()?;
        // SAFETY: the runtime passes a wrapper that nvcc embedded in the program.
        module.set(unsafe { module::load(wrapper.as_ptr(), &JitOptions::default()) }?.handle)
    }

    /// Returns the primary context of a device.
    fn primary_context(context: Out<Handle>, device: i32) {
        context.set(Context::primary(device)?.handle)
    }

    /// Loads a fatbin, which is given with or without its wrapper.
    fn load_fatbin_with(module: Out<Handle>, image: In<c_void>, _first: Unknown, _second: Unknown, _third: u32) {
        module.check()?;
        // SAFETY: the runtime passes a wrapper or a fatbin that nvcc embedded in the program.
        module.set(unsafe { module::load(image.as_ptr(), &JitOptions::default()) }?.handle)
    }

    /// Loads a fatbin like `load_fatbin_with`, but takes the image as the first argument.
    fn load_container_with(image: In<c_void>, module: Out<Handle>, _first: Unknown, _second: Unknown, _third: u32) {
        module.check()?;
        // SAFETY: the runtime passes a wrapper or a fatbin that nvcc embedded in the program.
        module.set(unsafe { module::load(image.as_ptr(), &JitOptions::default()) }?.handle)
    }

    /// Accepts the runtime's notification that it is loaded.
    fn nothing(_unknown: Unknown) {
        Ok(())
    }

    /// Stores a value of the runtime in a context.
    fn put(context: Handle, key: usize, value: usize, destructor: Option<Destructor>) {
        lock(&Context::of(context)?.values).insert(key, (value, destructor));
        Ok(())
    }

    /// Removes a value of the runtime from a context.
    fn delete(context: Handle, key: usize) {
        lock(&Context::of(context)?.values).remove(&key);
        Ok(())
    }

    /// Returns a value that the runtime stored in a context.
    fn get(value: Out<usize>, context: Handle, key: usize) {
        let stored = lock(&Context::of(context)?.values).get(&key).map(|(value, _)| *value);
        value.set(stored.ok_or(Code::INVALID_HANDLE)?)
    }

    /// Returns whether a context is broken: always 0.
    fn check_context(_context: Handle, wrong: Out<u32>, _more: Out<usize>) {
        wrong.set(0)
    }

    /// Returns the current context. An H100's driver ignores the second argument.
    fn current_context(context: Out<Handle>, _unknown: Unknown) {
        context.set(context::current()?.handle)
    }

    /// Returns the number of a context, as `cuCtxGetId` does.
    fn context_id(context: Handle, id: Out<u64>) {
        id.set(Context::of(context)?.handle as u64)
    }

    /// Returns the driver's internal object for a stream. Here it is the handle of the stream, which is never 0.
    fn inner_stream(context: Handle, stream: Handle, inner: Out<Handle>, has_per_thread_default: u32) {
        Context::of(context)?;
        inner.set(match stream {
            0 if has_per_thread_default != 0 => stream::PER_THREAD,
            0 => stream::LEGACY,
            _ => stream,
        })
    }

    /// Returns the number of a stream that [`inner_stream`] returned, as `cuStreamGetId` does.
    fn inner_stream_id(context: Handle, inner: Handle, id: Out<u64>) {
        Context::of(context)?;
        id.set(Stream::of(inner)?.0.id)
    }

    /// Computes the proof that the driver and the runtime use the same tables and devices.
    fn prove(version: u32, seconds: u64, proof: Out<[u8; 16]>) {
        proof.set(self::proof(version, seconds)?)
    }

    fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) {
        table.check()?;
        let id = id.get()?;
        let found = TABLES.iter().find(|table| table.id == id);
        match found {
            Some(found) => table.set(found.slots.as_ptr().cast()),
            None => Err(Code::NOT_FOUND.into()),
        }
    }
}

/// Memory that the runtime's hooks for tools write to.
#[repr(align(8))]
struct Scratch<const BYTES: usize>([std::sync::atomic::AtomicU8; BYTES]);

static HOOKS: Scratch<4096> = Scratch([const { std::sync::atomic::AtomicU8::new(0) }; 4096]);
static MORE_HOOKS: Scratch<64> = Scratch([const { std::sync::atomic::AtomicU8::new(0) }; 64]);

unsafe extern "C" fn hooks(memory: Out<*const c_void>, count: Out<usize>) {
    memory.offer(HOOKS.0.as_ptr().cast());
    count.offer(1024);
}

unsafe extern "C" fn more_hooks(memory: Out<*const c_void>, count: Out<usize>) {
    memory.offer(MORE_HOOKS.0.as_ptr().cast());
    count.offer(14);
}

extern "C" fn zero() -> u32 {
    0
}

/// Returns a table slot that holds the address of a function. Other slots hold the size of the table, or nothing.
const fn slot(function: *const ()) -> Function {
    Function(function)
}

/// Returns the first slot of most tables: the table's size in bytes.
const fn size(slots: usize) -> Function {
    Function(std::ptr::without_provenance(slots * 8))
}

const EMPTY: Function = Function(std::ptr::null());
/// The last slot of a table without a size.
const END: Function = Function(std::ptr::null());

/// Reports a call to a slot that no recorded program calls. Slot 0 stands for any slot.
extern "C" fn unknown<const TABLE: usize, const SLOT: usize>() -> u32 {
    let slot = if SLOT == 0 { "an unknown slot".to_owned() } else { format!("slot {SLOT}") };
    let what = format!("{slot} of the runtime's table {}", TABLES[TABLE].name);
    report::unsupported(&what, "");
    Code::NOT_SUPPORTED.0
}

macro_rules! unknown {
    ($table:literal, $slot:literal) => {
        slot(unknown::<$table, $slot> as extern "C" fn() -> u32 as *const ())
    };
}

/// The slots of the table of contexts and streams. Their effects were observed on an H100 (driver 580.159).
static INSIDE: [Function; 93] = {
    let mut slots = [unknown!(7, 0); 93];
    slots[0] = size(93);
    slots[4] = slot(context_id as *const ());
    slots[39] = slot(inner_stream_id as *const ());
    slots[51] = slot(inner_stream as *const ());
    slots
};

/// A table of functions.
struct Table {
    name: &'static str,
    id: [u8; 16],
    slots: &'static [Function],
}

/// The index of the table with [`prove`], and that of the table with [`load_fatbin`].
const PROOFS: usize = 5;
const RUNTIME: usize = 0;

static TABLES: [Table; 8] = [
    Table {
        name: "runtime interface",
        id: 0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9_u128.to_be_bytes(),
        slots: &[
            size(13),
            slot(load_fatbin as *const ()),
            slot(primary_context as *const ()),
            unknown!(0, 3),
            unknown!(0, 4),
            unknown!(0, 5),
            slot(load_fatbin_with as *const ()),
            slot(nothing as *const ()),
            slot(load_container_with as *const ()),
            unknown!(0, 9),
            unknown!(0, 10),
            unknown!(0, 11),
            slot(zero as *const ()),
        ],
    },
    Table {
        name: "callback hooks",
        id: 0xa094_798c_2e74_2e74_93f2_0800_200c_0a66_u128.to_be_bytes(),
        slots: &[
            size(7),
            unknown!(1, 1),
            slot(hooks as *const ()),
            unknown!(1, 3),
            unknown!(1, 4),
            unknown!(1, 5),
            slot(more_hooks as *const ()),
        ],
    },
    Table {
        name: "tools",
        id: 0x42d8_5a81_23f6_cb47_8298_f6e7_8a3a_ecdc_u128.to_be_bytes(),
        slots: &[size(3), unknown!(2, 1), slot(current_context as *const ())],
    },
    Table {
        name: "storage in contexts",
        id: 0xc693_336e_1121_df11_a8c3_68f3_55d8_9593_u128.to_be_bytes(),
        slots: &[slot(put as *const ()), slot(delete as *const ()), slot(get as *const ()), END],
    },
    Table {
        name: "checks of contexts",
        id: 0x263e_8860_7cd2_6143_92f6_bbd5_006d_fa7e_u128.to_be_bytes(),
        slots: &[
            size(15),
            EMPTY,
            slot(check_context as *const ()),
            slot(zero as *const ()),
            unknown!(4, 4),
            unknown!(4, 5),
            unknown!(4, 6),
            unknown!(4, 7),
            unknown!(4, 8),
            unknown!(4, 9),
            unknown!(4, 10),
            unknown!(4, 11),
            unknown!(4, 12),
            unknown!(4, 13),
            unknown!(4, 14),
        ],
    },
    Table {
        name: "proofs",
        id: 0xd408_2055_bde6_704b_8d34_ba12_3c66_e1f2_u128.to_be_bytes(),
        slots: &[size(3), slot(prove as *const ()), unknown!(5, 2)],
    },
    Table {
        name: "log of the runtime",
        id: 0xf8cf_f951_2146_8b4e_b9e2_fb46_9e7c_0dd9_u128.to_be_bytes(),
        // The slots receive what the runtime logs: a component, a level, and a format string with its arguments as for
        // `vprintf`.
        slots: &[size(3), slot(zero as *const ()), slot(zero as *const ())],
    },
    // Runtimes since CUDA 13.4 check that this table exists, and cuBLAS calls it.
    Table {
        name: "contexts and streams",
        id: 0x2131_8c60_9714_3248_8ca6_41ff_7324_c8f2_u128.to_be_bytes(),
        slots: &INSIDE,
    },
];

/// The key of the proof.
const KEY: [u8; 16] = [0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f];

/// Computes a keyed hash of the versions, the process, the thread, the tables, the time and the devices. The runtime
/// computes the same hash and compares the two.
fn proof(version: u32, seconds: u64) -> Result<[u8; 16]> {
    let driver = driver()?;
    let mut hash = Hmac::<Md2>::new_from_slice(&KEY).map_err(|error| Error::new(Code::UNKNOWN, error.to_string()))?;
    let numbers = [state::version()? as u32, version, std::process::id(), crate::abi::platform::thread() as u32];
    numbers.iter().for_each(|number| hash.update(&number.to_le_bytes()));
    let proofs = TABLES[PROOFS].slots;
    let addresses = [TABLES[RUNTIME].slots.as_ptr().addr(), proofs.as_ptr().addr(), proofs[1].0.addr()];
    addresses.iter().for_each(|address| hash.update(&(*address as u64).to_le_bytes()));
    hash.update(&seconds.to_le_bytes());
    for device in &driver.devices {
        hash.update(&device.uuid);
        for attribute in [PCI_DOMAIN, PCI_BUS, PCI_DEVICE] {
            hash.update(&device.attribute(attribute)?.to_le_bytes());
        }
    }
    Ok(hash.finalize().into_bytes().into())
}
