#![allow(clippy::unwrap_used)]

use super::*;
use crate::Error;

/// Returns the tool, or `None` if it is not installed. In CI, where `cargo xtask setup --nvidia` runs first, a missing
/// tool is an error.
pub(crate) fn tool(tool: Tool) -> Option<Found> {
    match crate::find(tool) {
        Ok(found) => Some(found),
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("not tested: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

const TWO: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\
    .visible .entry first(.param .u64 p)\n{\n\t.reg .b64 %rd<3>;\n\t.reg .b32 %r<2>;\n\
    \tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd2, %rd1;\n\tld.global.u32 %r1, [%rd2];\n\
    \tst.global.u32 [%rd2+4], %r1;\n\tret;\n}\n\
    .visible .entry second()\n{\n\t.shared .align 4 .b8 tile[256];\n\t.reg .b32 %r<2>;\n\
    \tmov.u32 %r1, %tid.x;\n\tst.volatile.shared.u32 [tile], %r1;\n\tbar.sync 0;\n\tret;\n}\n";

#[test]
fn usage_of_each_entry() {
    let Some(ptxas) = tool(Tool::Ptxas) else {
        return;
    };
    let usages = usages(&ptxas, TWO, "sm_90").unwrap();
    let names: Vec<&str> = usages.keys().map(String::as_str).collect();
    assert_eq!(names, ["first", "second"]);
    assert!(usages["first"].registers > 0);
    assert_eq!(usages["first"].shared_bytes, 0);
    assert_eq!(usages["second"].barriers, 1);
    assert_eq!(usages["second"].shared_bytes, 256);
}

#[test]
fn an_unknown_architecture_is_reported_with_the_known_ones() {
    let Some(ptxas) = tool(Tool::Ptxas) else {
        return;
    };
    let known = architectures(&ptxas).unwrap();
    assert!(known.contains(&"sm_75".to_owned()) && known.contains(&"sm_90a".to_owned()));
    let at = |name: &str| known.iter().position(|known| known == name);
    assert!(at("sm_90") < at("sm_100"), "{known:?}");
    for arch in ["sm_12", "volta", "", "sm_90 -o /"] {
        let Err(error @ Error::UnknownArch { .. }) = usages(&ptxas, TWO, arch) else {
            panic!("{arch} is known");
        };
        let (text, why) = (error.to_string(), format!("does not know {arch}; it knows sm_75, "));
        assert!(text.contains(&why), "{text}");
    }
}

#[test]
fn invalid_ptx_is_reported_with_its_line() {
    let Some(ptxas) = tool(Tool::Ptxas) else {
        return;
    };
    let wrong = TWO.replace("ld.global.u32 %r1, [%rd2]", "ld.global.u32 %r9, [%rd2]");
    let Err(Error::Refused { said, .. }) = usages(&ptxas, &wrong, "sm_90") else {
        panic!("invalid PTX was assembled");
    };
    assert!(said.starts_with("ptxas kernels.ptx, line 10"), "{said}");
    let of_nothing = usages(&ptxas, "", "sm_90");
    assert!(matches!(of_nothing, Err(Error::Refused { .. })));
}

#[test]
fn machine_code_of_one_entry() {
    let (Some(ptxas), Some(nvdisasm)) = (tool(Tool::Ptxas), tool(Tool::Nvdisasm)) else {
        return;
    };
    let code = sass(&ptxas, &nvdisasm, TWO, "second", "sm_80", false).unwrap();
    let has = [".text.second:", "STS", ".text.first:"].map(|part| code.contains(part));
    assert_eq!(has, [true, true, false], "{code}");
    assert!(sass(&ptxas, &nvdisasm, TWO, "third", "sm_80", false).is_err());
}
#[test]
fn a_missing_program_is_named() {
    let nowhere = Found { path: "/nowhere/ptxas".into(), version: "13.5".into(), origin: "nowhere".into() };
    let error = usages(&nowhere, TWO, "sm_90").unwrap_err().to_string();
    assert!(error.starts_with("cannot run /nowhere/ptxas: "), "{error}");
}

#[test]
fn architectures_are_parsed_from_the_help() {
    let help = "--gpu-name <gpu name>  (-arch)\n PTX for .target sm_XY to sm_MN\n values: 'compute_90',\n \
                'sm_100','lto_90','sm_90a','sm_90'.\n Default value: 'sm_90'.\n\n--help  sm_99\n";
    assert_eq!(parse_architectures(help), ["sm_90", "sm_90a", "sm_100"]);
    assert!(parse_architectures("").is_empty());
}
