//! Tests the page in Chromium: its results equal those of the native simulator, and the page is usable.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use browser_test::{Appearance, Browser, Server, Value, json};
use engine::device::{Device, Sim};
use engine::options::Options;
use engine::{DeviceProperties, Session, dims};
use host::{KERNELS, ladders};

use crate::states::LOOP;

/// Returns the folder of the page, which is built once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let mut xtask = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let xtask = xtask.args(["xtask", "playground"]).arg(&folder).arg("--for-tests").current_dir(root);
        let output = xtask.output().expect("cargo can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder
    })
}

/// Returns a browser that has opened the page from disk with these parameters.
fn open(parameters: &str) -> Option<Browser> {
    let mut browser = Browser::start()?;
    reopen(&mut browser, parameters);
    Some(browser)
}

fn reopen(browser: &mut Browser, parameters: &str) {
    browser.open(&format!("file://{}/index.html{parameters}", folder().display()));
    browser.wait_for("document.documentElement.dataset.ready !== undefined");
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let script = format!("document.querySelector({}).textContent", Value::from(selector));
    browser.evaluate(&script).as_str().unwrap_or_default().to_owned()
}

/// Sets the PTX and waits until the page has read it.
fn paste(browser: &mut Browser, ptx: &str) {
    browser.evaluate(&format!("setup.setPtx({})", Value::from(ptx)));
}

/// Asserts that all requests of the page go to this address.
fn requests_only_from(browser: &mut Browser, address: &str) {
    browser.evaluate("0");
    let requests = browser.requests();
    assert!(!requests.is_empty());
    let others: Vec<_> = requests.iter().filter(|url| !url.starts_with(address) && !url.starts_with("data:")).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn every_rung_has_the_native_results_and_counters() {
    let Some(mut browser) = open("") else { return };
    let catalog = browser.evaluate("simulator.ask({ask: 'catalog'})");
    for (ladder, shown) in ladders().iter().zip(catalog.as_array().expect("a list")) {
        assert_eq!(shown["name"], ladder.name);
        let options = ladder.options.iter().zip(shown["options"].as_array().expect("a list"));
        let options = options.fold(Options::default(), |all, (option, shown)| {
            all.with(option.name, shown["first"].as_str().expect("a text"))
        });
        let problem = ladder.problem(&options).expect("the page offers a valid problem");
        let mut sim = Sim::open(&KERNELS, 1).expect("a simulator");
        sim.set_counting(true);
        for rung in ladder.rungs.iter().filter(|rung| rung.computes(&problem.facts().variant)) {
            let launch = ladder.launch(rung, &*problem, None, DeviceProperties::default()).expect("the default block");
            let checked =
                Session::new(&mut sim, &*problem, false).and_then(|mut session| session.launch_checked(rung, &launch));
            let checked = checked.expect("it runs");
            let request = json!({ "ask": "rung", "rung": rung.name, "block": dims(launch.block) });
            let run = browser.evaluate(&format!("simulator.ask({request})"));
            assert_eq!(run["right"], checked.verdict.is_right(), "{launch}: {}", run["wrong"]);
            assert_eq!(run["launch"], launch.to_string());
            let file = run["listing"]["kernel"][0].as_u64().expect("a file") as usize;
            assert_eq!(run["listing"]["files"][file]["name"], rung.source);
            let counters = run["counters"].as_array().expect("a list");
            assert_eq!(counters.len(), checked.ran.counters.len());
            for (found, right) in counters.iter().zip(&checked.ran.counters) {
                assert_eq!(found["name"], right.name);
                let (found, value) = (found["value"].as_f64(), right.value.number());
                // JSON may lose the last digit of a quotient. Counts are integers, so they stay exact.
                let is_same = match found.zip(value) {
                    Some((found, value)) => (found - value).abs() <= value.abs() * 1e-15,
                    None => found == value,
                };
                assert!(is_same, "{launch}: {} is {found:?} instead of {value:?}", right.name);
            }
            // The counters include the recorded block. They are equal if the launch has only one block.
            let steps = run["steps"].as_f64().expect("a number");
            let executed = counter_value(counters, "ptx_inst_executed.sum");
            assert!(if launch.blocks() == 1 { steps == executed } else { 0.0 < steps && steps < executed }, "{launch}");
        }
    }
}

fn counter_value(counters: &[Value], name: &str) -> f64 {
    let counter = counters.iter().find(|counter| counter["name"] == name);
    counter.and_then(|counter| counter["value"].as_f64()).expect("a counter")
}

#[test]
fn keys_step_the_page_without_foreign_requests() {
    let Some(mut browser) = open("?rung=reduce_smem&n=1024&block=128") else { return };
    let address = format!("file://{}/", folder().display());
    assert_eq!(text(&mut browser, "#verdict"), "right");
    browser.press("Home");
    assert!(text(&mut browser, "#place").starts_with("instruction 1 of"));
    for key in ["ArrowRight", "ArrowRight", "ArrowLeft"] {
        browser.press(key);
    }
    assert!(text(&mut browser, "#place").starts_with("instruction 2 of"));
    browser.press("m");
    assert!(text(&mut browser, "#operation").contains(".shared"));
    assert!(browser.evaluate("document.querySelectorAll('#requests svg .bank.used').length").as_u64() >= Some(32));
    browser.press("b");
    assert!(text(&mut browser, "#operation").contains("bar"));
    for key in ["Shift+ArrowRight", "ArrowDown", "PageDown", "End", "Home"] {
        browser.press(key);
    }
    assert_eq!(browser.evaluate("[app.state.lane, app.state.warp]"), json!([1, 2]));
    assert!(!text(&mut browser, "#source .here .text").is_empty(), "the source line is marked");
    browser.wait_for("document.querySelector('#finding-count').textContent === '0'");
    assert_eq!(browser.errors(), [""; 0]);
    requests_only_from(&mut browser, &address);

    // The page from a server, in a dark and narrow window, embedded in a frame, with parameters.
    let server = Server::of(folder());
    browser.look(Appearance { dark: true, print: false });
    browser.window(420, 800);
    browser.open(&format!(
        "{}?rung=transpose_smem&rows=64&cols=64&step=40&warp=2&lane=5&tab=shared&embed",
        server.address()
    ));
    browser.wait_for("document.documentElement.dataset.ready !== undefined");
    assert_eq!(browser.evaluate("[app.state.step, app.state.warp, app.state.lane]"), json!([40, 2, 5]));
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    assert_eq!(browser.evaluate("document.querySelector('#panel-shared').hidden"), false);
    assert_eq!(browser.errors(), [""; 0]);
    requests_only_from(&mut browser, server.address());
}

#[test]
fn errors_have_messages() {
    let Some(mut browser) = open("") else { return };
    // The PTX has an error in line 7.
    paste(&mut browser, &LOOP.replace(".reg .b32 %r<3>;", ".reg .b32 r%<3>;"));
    let wrong = "[...document.querySelectorAll('#gutter .wrong')].map((line) => line.textContent)";
    assert_eq!(browser.evaluate(wrong), json!(["7"]));
    assert!(
        text(&mut browser, "#editor-problem").starts_with("Line 7, column "),
        "{}",
        text(&mut browser, "#editor-problem")
    );
    paste(&mut browser, &LOOP.replace("setp.lt.u32 %p, %r1, %r2", "setp.lt.u32 %p, %r1, %missing"));
    assert_eq!(browser.evaluate(wrong), json!(["14"]));
    paste(&mut browser, LOOP);
    assert_eq!(browser.evaluate(wrong), json!([]));

    for (field, wrong, right, words) in [("#grid", "1x", "1", "the grid"), ("#ptx-block", "2000", "64", "1024")] {
        let set = |value: &str| format!("document.querySelector('{field}').value = '{value}'; app.run()");
        browser.evaluate(&set(wrong));
        let message = text(&mut browser, "#problem");
        assert!(message.contains(words), "{field}: {message}");
        browser.evaluate(&set(right));
        assert_eq!(browser.evaluate("document.querySelector('#problem').hidden"), true, "{field}");
    }

    // A kernel that never ends, a kernel that writes out of bounds, and a launch without an argument.
    let endless = LOOP.replace("@%p bra again", "bra again");
    paste(&mut browser, &endless);
    browser.evaluate("app.run()");
    let words = text(&mut browser, "#problem");
    assert!(words.contains("8388608 instructions"), "{words}");
    assert!(browser.evaluate("app.state.run.steps").as_u64() > Some(1000), "the recording before the fault is kept");
    paste(&mut browser, &LOOP.replace("st.global.u32 [%rd1]", "st.global.u32 [%rd1+4096]"));
    browser.evaluate("app.run()");
    let words = text(&mut browser, "#problem");
    assert!(words.contains("out of bounds write of 4 bytes"), "{words}");
    assert_eq!(browser.evaluate("document.querySelectorAll('#code .fault').length"), 1);
    let short = json!({ "ask": "pasted", "ptx": LOOP, "grid": [1, 1, 1], "block": [32, 1, 1], "arguments": [] });
    let refused = browser.evaluate(&format!(
        "(() => {{ try {{ simulator.ask({short}) }} catch (problem) {{ return problem.message }} }})()"
    ));
    assert_eq!(refused, "the kernel has 1 parameters, but 0 arguments are given");

    // Problems that do not fit, and rungs and options that do not exist.
    for (parameters, words) in [
        ("?rung=reduce_smem&n=2000000000", "fits"),
        ("?rung=reduce_smem&n=many", "many"),
        ("?rung=reduce_smem&block=100", "block of 100"),
        ("?rung=reduce_smem&record=9999", "no block 9999"),
        ("?rung=no_such_rung", "no rung is named"),
        ("?rung=reduce_smem&side=3", "side"),
    ] {
        reopen(&mut browser, parameters);
        let message = text(&mut browser, "#problem");
        assert!(message.contains(words), "{parameters}: {message}");
    }
    assert_eq!(browser.errors(), [""; 0]);
}

/// A kernel that adds 1 to floats. The last parameter is a number.
const ADD_ONE: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 .ptr .align 4 data, .param .u64 count)
{
.reg .pred %p;
.reg .b32 %r<2>;
.reg .b64 %rd<5>;
.reg .f32 %f<3>;
.loc 1 1 0
ld.param.u64 %rd1, [data];
ld.param.u64 %rd2, [count];
.loc 2 90 5
mov.u32 %r1, %tid.x;
.loc 1 2 9
cvt.u64.u32 %rd3, %r1;
setp.ge.u64 %p, %rd3, %rd2;
@%p bra done;
.loc 1 3 5
mad.lo.u64 %rd4, %rd3, 4, %rd1;
ld.global.f32 %f1, [%rd4];
add.f32 %f2, %f1, 0f3F800000;
st.global.f32 [%rd4], %f2;
done:
ret;
}
.file 1 \"/home/ada/add/src/add_one.cu\"
.file 2 \"/usr/local/cuda/include/index.h\"
";

const ADD_ONE_SOURCE: &str =
    "void add_one(float *data, size_t count) {\n  if (threadIdx.x < count)\n    data[threadIdx.x] += 1;\n}\n";

/// Drops files on the page, each with a name and a text.
fn drop_files(browser: &mut Browser, files: &[(&str, &str)]) {
    browser.evaluate(&format!(
        "(() => {{
            const dataTransfer = new DataTransfer();
            for (const [name, text] of {}) dataTransfer.items.add(new File([text], name));
            document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer, bubbles: true }}));
        }})()",
        json!(files)
    ));
}

/// Returns the marked source line, with its file.
fn source_line(browser: &mut Browser) -> (String, String) {
    (text(browser, "#file option:checked"), text(browser, "#source .here .text"))
}

#[test]
fn changed_input_clears_the_verdict() {
    let Some(mut browser) = open("?rung=reduce_smem&n=1024") else { return };
    let is_stale = "document.querySelector('#stage').classList.contains('stale')";
    assert_eq!((text(&mut browser, "#verdict").as_str(), browser.evaluate(is_stale)), ("right", json!(false)));
    browser.evaluate(
        "document.querySelector('[data-option=n]').dispatchEvent(new InputEvent('input', { bubbles: true }))",
    );
    assert_eq!((text(&mut browser, "#verdict").as_str(), browser.evaluate(is_stale)), ("", json!(true)));
    browser.evaluate("app.run()");
    assert_eq!((text(&mut browser, "#verdict").as_str(), browser.evaluate(is_stale)), ("right", json!(false)));
    paste(&mut browser, ADD_ONE);
    assert_eq!((text(&mut browser, "#verdict").as_str(), browser.evaluate(is_stale)), ("", json!(true)));
}

#[test]
fn pointers_become_buffers_and_floats_show_as_numbers() {
    let Some(mut browser) = open("") else { return };
    let arguments = "[...document.querySelectorAll('#arguments .argument')].map((row) => \
         ['is', 'type'].map((name) => row.querySelector(`[name=${name}]`).value))";
    paste(&mut browser, ADD_ONE);
    assert_eq!(browser.evaluate(arguments), json!([["buffer", "f32"], ["number", "u64"]]));
    browser.evaluate("app.run(); document.querySelector('#tab-data').click()");
    assert_eq!(browser.evaluate("document.querySelector('#buffer-type').value"), "f32");
    let data = text(&mut browser, "#buffer-grid");
    // Both blocks add 1.
    assert!(data.contains("2.03.04.0"), "{data}");
    // Without `.ptr`, every 64-bit parameter becomes a buffer.
    paste(&mut browser, &ADD_ONE.replace(" .ptr .align 4", ""));
    browser.evaluate("document.querySelector('#arguments').replaceChildren(); setup.readKernels()");
    assert_eq!(browser.evaluate(arguments), json!([["buffer", "f32"], ["buffer", "f32"]]));
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
fn run_opens_on_the_first_statement() {
    let Some(mut browser) = open("?rung=transpose_smem&rows=64&cols=64") else { return };
    let (file, line) = source_line(&mut browser);
    assert!(file.ends_with("transpose/smem.rs") && line.contains("let tile_row"), "{file}: {line}");
    // The run opens on neither a load of a parameter nor a line of an included file. The statement may be on the line
    // of the declaration.
    for ptx in [ADD_ONE, &ADD_ONE.replace(".loc 1 2 9", ".loc 1 1 20")] {
        paste(&mut browser, ptx);
        browser.evaluate("app.run()");
        assert_eq!(text(&mut browser, "#operation"), "cvt.u64.u32 %rd3, %r1;");
    }
}

#[test]
fn dropped_files_are_opened() {
    let Some(mut browser) = open("") else { return };
    drop_files(&mut browser, &[("add_one.ptx", ADD_ONE)]);
    browser.wait_for("setup.mode() === 'ptx'");
    browser.evaluate("app.run()");
    assert!(text(&mut browser, "#source .hint").contains("is not available"));
    drop_files(&mut browser, &[("add_one.cu", ADD_ONE_SOURCE)]);
    browser.wait_for("document.querySelector('#source .hint') === null");
    assert_eq!(source_line(&mut browser).1, "  if (threadIdx.x < count)");
    // The user chooses a file in the editor.
    browser.evaluate(
        "(() => {
            const all = new DataTransfer();
            all.items.add(new File(['1\\n2 again\\n3'], 'add_one.cu'));
            document.querySelector('#files').files = all.files;
            document.querySelector('#files').dispatchEvent(new InputEvent('input', { bubbles: true }));
        })()",
    );
    browser.wait_for("document.querySelector('#source .here .text').textContent === '2 again'");
    drop_files(&mut browser, &[("one.cu", ADD_ONE_SOURCE)]);
    browser.wait_for("document.querySelector('#problem').textContent.includes('a file `one.cu`')");

    // A file that `ladder why FILE.ptx --playground` writes. The kernel is not the first kernel of the text.
    let ptx = ADD_ONE.replacen(".visible .entry", ".visible .entry other() { ret; }\n.visible .entry", 1);
    let project = json!({
        "ptx": ptx, "sources": { "/home/ada/add/src/add_one.cu": ADD_ONE_SOURCE.replace("if", "when") },
        "kernel": "add_one", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0,
        "arguments": ["f32[64]=iota", "bytes:4000000000000000"],
    });
    drop_files(&mut browser, &[("add_one.json", &project.to_string())]);
    browser.wait_for("document.querySelector('#kernel').value === 'add_one'");
    assert_eq!(text(&mut browser, "#verdict"), "has run");
    assert_eq!(source_line(&mut browser).1, "  when (threadIdx.x < count)");
    assert_eq!(browser.evaluate("app.state.run.buffers[0].after.slice(0, 16)"), "0000803f00000040");
    drop_files(&mut browser, &[("other.json", "{}")]);
    browser.wait_for("document.querySelector('#problem').textContent.startsWith('other.json is not')");
    assert_eq!(browser.errors(), [""; 0]);
}

/// A kernel with 32 warps that execute 10,000 instructions each.
const LONG: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry long()\n{\n.reg .pred %p;\n.reg .b32 %r<4>;\n\
    .shared .align 4 .b32 tile[1024];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nshl.b32 %r3, %r1, 2;\nagain:\nadd.u32 %r1, %r1, %r2;\n\
    st.shared.u32 [%r3], %r1;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, 2000;\n@%p bra again;\nret;\n}\n";

#[test]
fn page_is_small_and_fast() {
    let bytes = std::fs::metadata(folder().join("playground.wasm")).expect("the module").len();
    let compressed = compressed(&folder().join("playground.wasm"));
    let Some(mut browser) = open("") else { return };
    let paint = browser.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0");
    paste(&mut browser, LONG);
    browser.evaluate(
        "document.querySelector('#grid').value = '1'; document.querySelector('#ptx-block').value = '1024'; app.run()",
    );
    assert!(browser.evaluate("app.state.run.steps").as_u64() >= Some(32 * 10_000));
    let redraws = browser.evaluate(
        "['registers', 'shared', 'warps'].map((tab) => {
            document.querySelector(`#tab-${tab}`).click();
            const times = [];
            for (let number = 0; number < 20; number++) {
                const begin = performance.now();
                app.state.step = Math.floor((number * 7919 * 40) % app.state.run.steps);
                app.choose({ warp: number, lane: number });
                document.body.offsetHeight;
                times.push(performance.now() - begin);
            }
            return Math.max(...times);
        })",
    );
    println!("{bytes} bytes, {compressed:?} compressed; first paint after {paint} ms; slowest redraws {redraws} ms");
    if let Some(compressed) = compressed {
        // The optimized module is 40 % smaller. With the kernels of `softmax` and `attention`, its size was 5,278,141
        // bytes, because it contains every kernel as PTX.
        assert!(compressed < 5_500_000, "{compressed} bytes compressed");
    }
    // The limits are loose, because a busy machine takes longer than the intended 60 ms and one second.
    assert!(paint.as_f64() < Some(5000.0), "{paint}");
    for redraw in redraws.as_array().expect("three times") {
        assert!(redraw.as_f64() < Some(1000.0), "{redraws}");
    }
    assert_eq!(browser.errors(), [""; 0]);
}

/// Returns the size of a file after compression, or `None` if gzip is not installed.
fn compressed(path: &Path) -> Option<usize> {
    let output = Command::new("gzip").args(["-9", "-c"]).arg(path).output().ok()?;
    output.status.success().then_some(output.stdout.len())
}
