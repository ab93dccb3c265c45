#![allow(clippy::unwrap_used)]

use std::cell::RefCell;

use super::*;

static KERNELS: [Ptx; 2] = [
    Ptx::new((7, 5), ".version 6.3\n.target sm_75\n.entry old(.param .u64 a)\n{ ret; }\n.entry other() { ret; }\n"),
    Ptx::new((9, 0), ".version 7.8\n.target sm_90\n.entry old(.param .u64 a)\n{ ret; }\n.entry new() { ret; }\n"),
];

const SHARING: &str = ".version 7.8\n.target sm_90\n.global .u32 count;\n.entry alone() { ret; }\n\
    .entry adds() { atom.global.add.u32 %r1, [count], 1; }\n\
    .entry clears() { st.global.u32 [count], 0; }\n";

fn launch(code: Code, entry: &str) -> Launch {
    Launch { code, entry: entry.to_owned(), grid: [1, 1, 1], block: [1, 1, 1], shared_bytes: 0, args: Vec::new() }
}

/// A device whose compiler records each text and rejects the texts that contain `refuses`.
struct Device {
    codes: Codes<usize>,
    texts: RefCell<Vec<String>>,
    refuses: &'static str,
}

impl Device {
    fn new(capability: Option<(u32, u32)>, refuses: &'static str) -> Self {
        Self { codes: Codes::new(&KERNELS, capability, SourceLines::Drop), texts: RefCell::default(), refuses }
    }

    /// Returns the number of the module that a launch gets.
    fn get(&mut self, code: Code, entry: &str) -> Result<usize, Error> {
        let (texts, refuses) = (&self.texts, self.refuses);
        let compile = |text: &str| {
            texts.borrow_mut().push(text.to_owned());
            if text.contains(refuses) {
                return Err(Error::Ptx { reason: "InvalidPtx".to_owned(), log: String::new() });
            }
            Ok(texts.borrow().len() - 1)
        };
        let compiled = self.codes.get(&launch(code, entry), compile)?;
        assert!(compiled.parameters.contains_key(entry));
        Ok(compiled.module)
    }
}

const NOTHING: &str = "\0";

#[test]
fn each_entry_is_compiled_once_in_a_separate_module() {
    let mut device = Device::new(Some((9, 0)), NOTHING);
    for (entry, module) in [("old", 0), ("new", 1), ("old", 0), ("new", 1)] {
        assert_eq!(device.get(Code::Kernels, entry).unwrap(), module);
    }
    let texts = device.texts.borrow();
    assert_eq!(texts.len(), 2);
    assert!(texts.iter().all(|text| text.contains(".target sm_90")));
    assert!(texts.iter().all(|text| text.matches(".entry").count() == 1));
}

#[test]
fn entries_that_share_a_variable_are_in_one_module() {
    let mut device = Device::new(None, NOTHING);
    let code = device.codes.load(SHARING.to_owned());
    assert_eq!(code, Code::Loaded(0));
    for (entry, module) in [("adds", 0), ("clears", 0), ("alone", 1), ("adds", 0)] {
        assert_eq!(device.get(code, entry).unwrap(), module, "{entry}");
    }
    assert_eq!(device.texts.borrow()[0], SHARING);
}

#[test]
fn the_whole_source_is_compiled_when_an_extracted_entry_is_rejected() {
    // The compiler rejects every extracted entry, as if the extraction were wrong, and accepts only the whole source.
    let mut device = Device::new(None, NOTHING);
    let whole = KERNELS[1].text();
    let compile = |text: &str| match text == whole {
        true => Ok(5),
        false => Err(Error::Device { doing: "compiling", reason: String::new() }),
    };
    let compiled = device.codes.get(&launch(Code::Kernels, "old"), compile);
    assert_eq!(compiled.unwrap().module, 5);

    let mut device = Device::new(None, "ret");
    let error = device.get(Code::Kernels, "old").unwrap_err();
    assert!(matches!(error, Error::Ptx { .. }), "{error}");
    assert_eq!(device.texts.borrow().last().unwrap(), whole);
}

#[test]
fn an_old_device_reports_the_compute_capability_it_needs() {
    let mut turing = Device::new(Some((8, 6)), NOTHING);
    assert_eq!(turing.get(Code::Kernels, "other").unwrap(), 0);
    let error_text = |device: &Device, code, entry| {
        let error = device.codes.check_supported(&launch(code, entry));
        error.map(|error| error.to_string())
    };
    assert_eq!(error_text(&turing, Code::Kernels, "old"), None);
    let why = "new needs compute capability 9.0, the device has 8.6; --device sim runs it";
    assert_eq!(error_text(&turing, Code::Kernels, "new").unwrap(), why);
    let error = turing.get(Code::Kernels, "new").unwrap_err();
    assert_eq!((&*error.to_string(), error.is_failure()), (why, false));

    // No device has the entry `none`, and the simulator runs the newest module.
    let mut newest = Device::new(None, NOTHING);
    for device in [&mut turing, &mut newest] {
        let error = device.get(Code::Kernels, "none").unwrap_err().to_string();
        assert!(error.ends_with("the PTX has no such entry"), "{error}");
    }
    assert_eq!(error_text(&newest, Code::Kernels, "other"), None);
    // The device's compute capability is not checked for loaded code.
    let code = turing.codes.load(KERNELS[0].text().to_owned());
    assert_eq!(error_text(&turing, code, "new"), None);
}

#[test]
fn ptx_for_one_compute_capability_does_not_run_on_newer_ones() {
    static KERNELS: [Ptx; 3] = [
        Ptx::new((7, 5), ".version 6.3\n.target sm_75\n.entry old() { ret; }\n"),
        Ptx::new((8, 0), ".version 7.0\n.target sm_80\n.entry old() { ret; }\n"),
        Ptx::new((9, 0), ".version 8.0\n.target sm_90a\n.entry old() { ret; }\n.entry hopper() { ret; }\n").only(),
    ];
    let newest = |capability| Ptx::newest(&KERNELS, capability).map(|ptx| ptx.arch("sm"));
    let cases = [
        (Some((7, 0)), None),
        (Some((7, 5)), Some("sm_75")),
        (Some((8, 9)), Some("sm_80")),
        (Some((9, 0)), Some("sm_90a")),
        (Some((10, 0)), Some("sm_80")),
        (None, Some("sm_90a")),
    ];
    for (capability, right) in cases {
        assert_eq!(newest(capability).as_deref(), right, "{capability:?}");
    }
    assert_eq!([&KERNELS[1], &KERNELS[2]].map(|ptx| ptx.assembled_for("sm_90")), ["sm_90", "sm_90a"]);
    let error_text = |capability| {
        let codes: Codes<()> = Codes::new(&KERNELS, Some(capability), SourceLines::Drop);
        codes.check_supported(&launch(Code::Kernels, "hopper")).map(|error| error.to_string())
    };
    assert_eq!(error_text((9, 0)), None);
    for (has, words) in [((10, 0), "10.0"), ((8, 6), "8.6")] {
        let why = format!("hopper needs a GPU of compute capability 9.0; this one has {words}; --device sim runs it");
        assert_eq!(error_text(has), Some(why));
    }
}
