//! Fuzzes parsing and lowering of arbitrary text, which may be rejected.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simt::Module;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match Module::from_ptx(text.clone().into_owned()) {
        Ok(module) => {
            for name in module.kernels() {
                assert!(!simt::demangled(name).is_empty());
                if let Err(error) = module.function(name) {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
