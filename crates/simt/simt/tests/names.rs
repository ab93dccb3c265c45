//! Tests that kernels and variables are found by the names that users write.

use simt::{LoadError, Module, Simulator, demangled};

const KERNELS: [&str; 6] = [
    "_Z5saxpyifPfS_",
    "_ZN4math5scaleIfEEvPT_i",
    "_ZN4math5scaleIdEEvPT_i",
    "_ZN4math3addEii",
    "_ZN7kernels6reduce4shfl17h0123456789abcdefE",
    "plain",
];

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

#[test]
fn a_kernel_is_found_by_each_of_its_names() {
    let kernels: String = KERNELS.iter().map(|name| format!(".visible .entry {name}()\n{{\nret;\n}}\n")).collect();
    let module = Module::from_ptx(format!("{HEAD}{kernels}")).unwrap();
    let find = |name: &str| match module.function(name) {
        Ok(function) => Ok(KERNELS.iter().position(|name| function.name() == *name).unwrap()),
        Err(LoadError::AmbiguousKernel { meant, .. }) => Err(meant),
        Err(LoadError::NoSuchKernel { .. }) => Err(Vec::new()),
        Err(error) => panic!("{error}"),
    };
    for (name, at) in [
        ("_Z5saxpyifPfS_", 0),
        ("saxpy(int, float, float*, float*)", 0),
        ("saxpy(int,float,float*,float*)", 0),
        ("saxpy", 0),
        ("void math::scale<float>(float*, int)", 1),
        ("math::scale<double>(double*, int)", 2),
        ("math::scale<double>", 2),
        ("math::add", 3),
        ("add", 3),
        ("kernels::reduce::shfl", 4),
        ("shfl", 4),
        ("plain", 5),
    ] {
        assert_eq!(find(name), Ok(at), "{name}");
    }
    let several =
        Err(vec!["math::scale<float>(float*, int)".to_owned(), "math::scale<double>(double*, int)".to_owned()]);
    assert_eq!(find("math::scale"), several);
    assert_eq!(find("scale"), several);
    assert_eq!(find("scal"), Err(Vec::new()));
    assert_eq!(find(""), Err(Vec::new()));
}

#[test]
fn the_nearest_name_is_demangled() {
    let variables: String = KERNELS.iter().map(|name| format!(".visible .global .u32 {name};\n")).collect();
    let module = Module::from_ptx(format!("{HEAD}{variables}.entry k()\n{{\nret;\n}}\n")).unwrap();
    let instance = Simulator::new(Default::default()).unwrap().load(&module).unwrap();
    for (name, nearest) in [("saxpi", "saxpy(int, float, float*, float*)"), ("plan", "plain")] {
        let error = instance.variable::<u32>(name).unwrap_err().to_string();
        assert_eq!(error, format!("there is no variable `{name}`; the nearest name is `{nearest}`"));
    }
}

#[test]
fn names_that_expand_too_far_stay_mangled() {
    // Each parameter is a template whose two arguments are the previous parameter.
    let doubled = ('0'..='9')
        .chain('A'..='V')
        .fold("_Z1f1aIiiE".to_owned(), |name, before| name + &format!("S_IS{before}_S{before}_E"));
    for name in ["_Z", "_R", "_ZN", "_Z5", "_ZN9E", "_Z5saxpyifPfS_$extra", &doubled] {
        assert_eq!(demangled(name), name);
    }
    assert_eq!(demangled("_Z1f1aIiiES_IS0_S0_E").matches("int").count(), 6);
}
