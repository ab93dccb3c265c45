//! Whether this machine has an NVIDIA GPU that runs kernels: by loading the driver and asking it.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::Library;

/// The environment variable that names the driver's library, for `ladder` as for us.
const OVERRIDE: &str = "LADDER_LIBCUDA";

/// The names that a driver's own installation gives the library, the surest first.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// The oldest compute capability that the kernels are built for.
const OLDEST: (c_int, c_int) = (7, 5);

/// Of a link (`CUdevice_P2PAttribute`).
const NATIVE_ATOMICS: c_int = 3;

const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;

/// A driver that could be loaded.
#[derive(Debug)]
pub(crate) struct Driver {
    /// The library's name as it was opened.
    pub(crate) library: String,
    /// The CUDA version that it supports, `13.0`.
    pub(crate) version: String,
    /// Its GPUs that run the kernels, in words; or why there are none.
    pub(crate) gpus: Result<String, String>,
    /// How the GPUs reach each other's memory, in words; `None` with less than two.
    pub(crate) links: Option<Result<String, String>>,
}

/// A GPU that the driver knows: its name and its compute capability.
type Gpu = (String, (c_int, c_int));

/// The GPUs that run the kernels, in words; or why there are none.
fn usable(gpus: &[Gpu]) -> Result<String, String> {
    let named = |able: bool| -> Vec<String> {
        let own = gpus.iter().filter(|gpu| (gpu.1 >= OLDEST) == able);
        own.map(|(name, (major, minor))| format!("{name}, compute capability {major}.{minor}")).collect()
    };
    match (&named(true)[..], &named(false)[..]) {
        ([], []) => Err("the driver finds no GPU".to_owned()),
        ([], old) => Err(format!("older than the kernels run on (7.5): {}", old.join("; "))),
        (able, _) => Ok(able.join("; ")),
    }
}

/// How so many GPUs reach each other's memory, in words, or which do not: of each pair whether one can access the other's, and
/// whether with all atomic operations, which NVLink has.
fn linked(count: c_int, links: &[((c_int, c_int), [bool; 2])]) -> Result<String, String> {
    let pairs = |which: &dyn Fn(&[bool; 2]) -> bool| -> Vec<String> {
        let found = links.iter().filter(|(_, link)| which(link));
        found.map(|((one, other), _)| format!("{one}-{other}")).collect()
    };
    let (none, slow) = (pairs(&|link| !link[0]), pairs(&|link| link[0] && !link[1]));
    if !none.is_empty() {
        return Err(format!("no access to each other's memory: {}", none.join(", ")));
    }
    Ok(match slow.is_empty() {
        true => format!("all {count} GPUs access each other's memory, with atomics, as over NVLink"),
        false => format!(
            "all {count} GPUs access each other's memory, without atomics, as over PCI Express: {}",
            slow.join(", ")
        ),
    })
}

/// Loads the driver and asks it for its GPUs.
/// Fails when no library could be loaded, with each name that was tried and the loader's error.
pub(crate) fn driver() -> Result<Driver, String> {
    let named = std::env::var_os(OVERRIDE).filter(|name| !name.is_empty());
    let names = match &named {
        Some(name) => vec![name.to_string_lossy().into_owned()],
        None => NAMES.map(str::to_owned).to_vec(),
    };
    let mut reasons = Vec::new();
    for name in names {
        // SAFETY: opening a library runs its initializers. This is the system's own driver, or one that the
        // user names to be used as such.
        match unsafe { Library::new(&name) } {
            Ok(library) => return ask(&library, name),
            Err(error) => reasons.push(reason(&error)),
        }
    }
    Err(reasons.join("; "))
}

/// An error of the loader, without the words around the loader's own.
fn reason(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

fn ask(library: &Library, name: String) -> Result<Driver, String> {
    // SAFETY: the signatures are those that NVIDIA's cuda.h documents for these functions.
    let functions = unsafe { Functions::of(library) };
    let functions = functions.map_err(|error| format!("{name} is no CUDA driver: {error}"))?;
    let mut version = 0;
    // SAFETY: the pointer is to an integer that lives until the call returns.
    let known = unsafe { (functions.version)(&raw mut version) } == 0;
    Ok(Driver {
        library: name,
        version: match known {
            true => format!("{}.{}", version / 1000, version % 1000 / 10),
            false => "unknown".to_owned(),
        },
        gpus: functions.gpus().and_then(|gpus| usable(&gpus)),
        links: functions.links(),
    })
}

/// The driver's functions that are asked, as NVIDIA's cuda.h declares them. Each returns 0 or an error's code.
struct Functions {
    init: unsafe extern "C" fn(c_uint) -> c_int,
    version: unsafe extern "C" fn(*mut c_int) -> c_int,
    count: unsafe extern "C" fn(*mut c_int) -> c_int,
    device: unsafe extern "C" fn(*mut c_int, c_int) -> c_int,
    name: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int,
    can_access_peer: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int,
    peer_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int, c_int) -> c_int,
}

impl Functions {
    /// # Safety
    /// The library's functions of these names must have these signatures, and it must stay open for as long
    /// as they are called.
    unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Self {
                init: *library.get(b"cuInit\0")?,
                version: *library.get(b"cuDriverGetVersion\0")?,
                count: *library.get(b"cuDeviceGetCount\0")?,
                device: *library.get(b"cuDeviceGet\0")?,
                name: *library.get(b"cuDeviceGetName\0")?,
                attribute: *library.get(b"cuDeviceGetAttribute\0")?,
                can_access_peer: *library.get(b"cuDeviceCanAccessPeer\0")?,
                peer_attribute: *library.get(b"cuDeviceGetP2PAttribute\0")?,
            })
        }
    }

    fn gpus(&self) -> Result<Vec<Gpu>, String> {
        let done = |function: &str, code: c_int| match code {
            0 => Ok(()),
            // CUDA_ERROR_NO_DEVICE
            100 => Err("the driver finds no GPU".to_owned()),
            code => Err(format!("the driver's {function} fails with error {code}")),
        };
        let mut count = 0;
        // SAFETY: cuInit takes no pointer.
        done("cuInit", unsafe { (self.init)(0) })?;
        // SAFETY: the pointer is to an integer that lives until the call returns.
        done("cuDeviceGetCount", unsafe { (self.count)(&raw mut count) })?;
        (0..count)
            .map(|index| {
                let mut device = 0;
                // SAFETY: as above.
                let code = unsafe { (self.device)(&raw mut device, index) };
                done("cuDeviceGet", code)?;
                let attribute = |which| {
                    let mut value = 0;
                    // SAFETY: as above, and the device is one that the driver gave.
                    let code = unsafe { (self.attribute)(&raw mut value, which, device) };
                    done("cuDeviceGetAttribute", code).map(|()| value)
                };
                let major = attribute(COMPUTE_CAPABILITY_MAJOR)?;
                let minor = attribute(COMPUTE_CAPABILITY_MINOR)?;
                Ok((self.name_of(device), (major, minor)))
            })
            .collect()
    }

    /// How the GPUs reach each other's memory. The driver has been initialized.
    fn links(&self) -> Option<Result<String, String>> {
        let mut count = 0;
        // SAFETY: the pointer is to an integer that lives until the call returns.
        let code = unsafe { (self.count)(&raw mut count) };
        if code != 0 || count < 2 {
            return None;
        }
        let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let links = pairs.filter(|(one, other)| one != other).map(|(one, other)| {
            let mut values = [0; 2];
            let [can, atomics] = &mut values;
            // SAFETY: the pointers are to integers that live until the calls return; devices are numbered from 0.
            let codes = unsafe {
                [(self.can_access_peer)(can, one, other), (self.peer_attribute)(atomics, NATIVE_ATOMICS, one, other)]
            };
            ((one, other), values.map(|value| value != 0 && codes == [0; 2]))
        });
        Some(linked(count, &links.collect::<Vec<_>>()))
    }

    fn name_of(&self, device: c_int) -> String {
        const LENGTH: c_int = 256;
        let mut text = [0 as c_char; LENGTH as usize];
        // SAFETY: the driver writes at most the length that it is told, with a zero at the end.
        let code = unsafe { (self.name)(text.as_mut_ptr(), LENGTH, device) };
        if code != 0 {
            return "GPU".to_owned();
        }
        // SAFETY: the array has a zero in it: it began as zeros, and the driver writes one at the end.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) };
        name.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn links_in_words() {
        let linked = |links: [[bool; 2]; 2]| super::linked(2, &[((0, 1), links[0]), ((1, 0), links[1])]);
        assert!(linked([[true; 2]; 2]).is_ok_and(|all| all.contains("as over NVLink")));
        assert!(linked([[true; 2], [true, false]]).is_ok_and(|all| all.ends_with("PCI Express: 1-0")));
        assert!(linked([[false; 2], [true; 2]]).is_err_and(|none| none.ends_with("memory: 0-1")));
    }

    #[test]
    fn only_a_gpu_that_is_new_enough_runs_kernels() {
        let usable = |capabilities: &[(i32, i32)]| {
            let gpus = capabilities.iter().map(|own| ("NVIDIA".to_owned(), *own));
            super::usable(&gpus.collect::<Vec<_>>())
        };
        assert!(usable(&[]).is_err());
        assert!(usable(&[(6, 1)]).is_err_and(|why| why.contains("6.1")));
        let one = usable(&[(6, 1), (9, 0)]);
        assert_eq!(one.as_deref(), Ok("NVIDIA, compute capability 9.0"));
    }
}
