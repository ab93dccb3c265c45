//! Detects an NVIDIA GPU that runs the kernels, by loading and querying the driver.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::Library;

/// The environment variable that names the driver's library; the program `ladder` reads it too.
const OVERRIDE: &str = "LADDER_LIBCUDA";

/// The names of the library in a driver's installation, the most reliable first.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// The oldest compute capability for which the kernels are compiled.
const OLDEST: (c_int, c_int) = (7, 5);

/// The attribute of a link that reports native atomics (`CUdevice_P2PAttribute`).
const NATIVE_ATOMICS: c_int = 3;

const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const COMPUTE_CAPABILITY_MINOR: c_int = 76;

/// A loaded driver.
#[derive(Debug)]
pub(crate) struct Driver {
    /// The name under which the library was opened.
    pub(crate) library: String,
    /// The CUDA version that the driver supports, such as `13.0`.
    pub(crate) version: String,
    /// A description of the GPUs that run the kernels, or the reason why there are none.
    pub(crate) gpus: Result<String, String>,
    /// A description of how the GPUs access each other's memory; `None` for fewer than two GPUs.
    pub(crate) links: Option<Result<String, String>>,
}

/// A GPU that the driver reports: its name and its compute capability.
type Gpu = (String, (c_int, c_int));

/// Describes the GPUs that run the kernels, or returns the reason why there are none.
fn usable(gpus: &[Gpu]) -> Result<String, String> {
    let named = |able: bool| -> Vec<String> {
        let group = gpus.iter().filter(|gpu| (gpu.1 >= OLDEST) == able);
        group.map(|(name, (major, minor))| format!("{name}, compute capability {major}.{minor}")).collect()
    };
    match (&named(true)[..], &named(false)[..]) {
        ([], []) => Err("the driver finds no GPU".to_owned()),
        ([], old) => Err(format!("the kernels need compute capability 7.5 or newer: {}", old.join("; "))),
        (able, _) => Ok(able.join("; ")),
    }
}

/// Describes how `count` GPUs access each other's memory, or returns the pairs without access. `links` has two flags
/// for each pair: whether one GPU can access the other's memory, and whether this access supports all atomic
/// operations, as over NVLink.
fn linked(count: c_int, links: &[((c_int, c_int), [bool; 2])]) -> Result<String, String> {
    let pairs = |is_selected: &dyn Fn(&[bool; 2]) -> bool| -> Vec<String> {
        let found = links.iter().filter(|(_, link)| is_selected(link));
        found.map(|((one, other), _)| format!("{one}-{other}")).collect()
    };
    let (without_access, without_atomics) = (pairs(&|link| !link[0]), pairs(&|link| link[0] && !link[1]));
    if !without_access.is_empty() {
        return Err(format!("these GPUs cannot access each other's memory: {}", without_access.join(", ")));
    }
    Ok(match without_atomics.is_empty() {
        true => format!("all {count} GPUs access each other's memory, with atomics, as over NVLink"),
        false => format!(
            "all {count} GPUs access each other's memory, without atomics, as over PCI Express: {}",
            without_atomics.join(", ")
        ),
    })
}

/// Loads the driver and queries its GPUs.
///
/// # Errors
/// Returns the loader's error for each tried name when no library can be loaded.
pub(crate) fn driver() -> Result<Driver, String> {
    let named = std::env::var_os(OVERRIDE).filter(|name| !name.is_empty());
    let names = match &named {
        Some(name) => vec![name.to_string_lossy().into_owned()],
        None => NAMES.map(str::to_owned).to_vec(),
    };
    let mut reasons = Vec::new();
    for name in names {
        // SAFETY: opening a library runs its initializers. The library is the system's driver, or one that the user
        // names as the driver.
        match unsafe { Library::new(&name) } {
            Ok(library) => return query(&library, name),
            Err(error) => reasons.push(reason(&error)),
        }
    }
    Err(reasons.join("; "))
}

/// Returns the loader's message, without the text that `libloading` adds to it.
fn reason(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

fn query(library: &Library, name: String) -> Result<Driver, String> {
    // SAFETY: the signatures are those of NVIDIA's cuda.h for these functions, and `library` stays open until this
    // function returns.
    let functions = unsafe { Functions::load(library) };
    let functions = functions.map_err(|error| format!("{name} is not a CUDA driver: {error}"))?;
    let mut version = 0;
    // SAFETY: the pointer points to an integer that lives until the call returns.
    let is_known = unsafe { (functions.version)(&raw mut version) } == 0;
    Ok(Driver {
        library: name,
        version: match is_known {
            true => format!("{}.{}", version / 1000, version % 1000 / 10),
            false => "unknown".to_owned(),
        },
        gpus: functions.gpus().and_then(|gpus| usable(&gpus)),
        links: functions.links(),
    })
}

/// The required functions of the driver, as NVIDIA's cuda.h declares them. Each returns 0 or an error code.
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
    /// Looks up the functions in a library.
    ///
    /// # Safety
    /// The caller must ensure that the library's functions of these names have these signatures, and that the library
    /// stays open while they are called.
    unsafe fn load(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller ensures that the functions have these signatures.
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
        let check = |function: &str, code: c_int| match code {
            0 => Ok(()),
            // CUDA_ERROR_NO_DEVICE
            100 => Err("the driver finds no GPU".to_owned()),
            code => Err(format!("the driver's {function} fails with error {code}")),
        };
        let mut count = 0;
        // SAFETY: cuInit has no pointer argument.
        check("cuInit", unsafe { (self.init)(0) })?;
        // SAFETY: the pointer points to an integer that lives until the call returns.
        check("cuDeviceGetCount", unsafe { (self.count)(&raw mut count) })?;
        (0..count)
            .map(|index| {
                let mut device = 0;
                // SAFETY: the pointer points to an integer that lives until the call returns.
                let code = unsafe { (self.device)(&raw mut device, index) };
                check("cuDeviceGet", code)?;
                let attribute = |id| {
                    let mut value = 0;
                    // SAFETY: the pointer points to an integer that lives until the call returns, and `device` is from
                    // cuDeviceGet.
                    let code = unsafe { (self.attribute)(&raw mut value, id, device) };
                    check("cuDeviceGetAttribute", code).map(|()| value)
                };
                let major = attribute(COMPUTE_CAPABILITY_MAJOR)?;
                let minor = attribute(COMPUTE_CAPABILITY_MINOR)?;
                Ok((self.name_of(device), (major, minor)))
            })
            .collect()
    }

    /// Describes how the GPUs access each other's memory. The driver must be initialized.
    fn links(&self) -> Option<Result<String, String>> {
        let mut count = 0;
        // SAFETY: the pointer points to an integer that lives until the call returns.
        let code = unsafe { (self.count)(&raw mut count) };
        if code != 0 || count < 2 {
            return None;
        }
        let pairs = (0..count).flat_map(|one| (0..count).map(move |other| (one, other)));
        let links = pairs.filter(|(one, other)| one != other).map(|(one, other)| {
            let mut values = [0; 2];
            let [can, atomics] = &mut values;
            // SAFETY: the pointers point to integers that live until the calls return; devices are numbered from 0.
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
        // SAFETY: `text` has `LENGTH` characters, and the driver writes at most `LENGTH` characters, including the zero
        // at the end.
        let code = unsafe { (self.name)(text.as_mut_ptr(), LENGTH, device) };
        if code != 0 {
            return "GPU".to_owned();
        }
        // SAFETY: the array contains a zero: it is initialized with zeros, and the driver writes a zero at the end.
        let name = unsafe { CStr::from_ptr(text.as_ptr()) };
        name.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn link_summary() {
        let linked = |links: [[bool; 2]; 2]| super::linked(2, &[((0, 1), links[0]), ((1, 0), links[1])]);
        assert!(linked([[true; 2]; 2]).is_ok_and(|all| all.contains("as over NVLink")));
        assert!(linked([[true; 2], [true, false]]).is_ok_and(|all| all.ends_with("PCI Express: 1-0")));
        assert!(linked([[false; 2], [true; 2]]).is_err_and(|none| none.ends_with("memory: 0-1")));
    }

    #[test]
    fn old_gpus_are_refused() {
        let usable = |capabilities: &[(i32, i32)]| {
            let gpus = capabilities.iter().map(|capability| ("NVIDIA".to_owned(), *capability));
            super::usable(&gpus.collect::<Vec<_>>())
        };
        assert!(usable(&[]).is_err());
        assert!(usable(&[(6, 1)]).is_err_and(|why| why.contains("6.1")));
        let one = usable(&[(6, 1), (9, 0)]);
        assert_eq!(one.as_deref(), Ok("NVIDIA, compute capability 9.0"));
    }
}
