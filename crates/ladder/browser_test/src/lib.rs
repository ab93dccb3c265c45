//! A headless Chromium for tests of pages.
//!
//! A [`Browser`] has one page. It opens a file or what a [`Server`] serves, runs JavaScript in it, presses keys, shows it
//! dark, narrow or as it is printed, makes pictures of it, and keeps [what the page asked for](Browser::requests) and
//! [what it complained of](Browser::errors). Nothing of it reaches the network.
//!
//! What fails panics with the reason, because all this is for tests.
//!
//! ```no_run
//! # fn main() {
//! let Some(mut browser) = browser_test::Browser::start() else { return };
//! browser.open_file("report.html".as_ref());
//! assert_eq!(browser.evaluate("document.images.length"), 0);
//! assert_eq!(browser.errors(), [""; 0]);
//! # }
//! ```

mod devtools;
mod keys;
mod server;

use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use devtools::DevTools;
pub use serde_json::{Value, json};

pub use server::Server;

/// A browser with one page.
pub struct Browser {
    devtools: DevTools,
    /// The page's session of the protocol.
    page: String,
    seen: PageEvents,
}

/// What the page did since it was opened.
#[derive(Default)]
struct PageEvents {
    requests: Vec<String>,
    errors: Vec<String>,
    has_loaded: bool,
}

/// How a page is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appearance {
    /// As `prefers-color-scheme: dark` asks for.
    pub dark: bool,
    /// As it is printed.
    pub print: bool,
}

impl Browser {
    /// Starts Chromium. Where there is none, says so and returns `None`.
    ///
    /// # Panics
    /// When there is no Chromium in CI, where all tests have to run (the variable `CI` says that this is CI), and when it
    /// does not start.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(program) = locate::chromium::find() else {
            let why = format!("skipped: no Chromium; {}", locate::chromium::REMEDY);
            assert!(std::env::var_os("CI").is_none(), "{why}");
            // Not by a macro, whose text nobody sees of a test that passes. Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "{why}");
            return None;
        };
        let devtools = DevTools::start(&program);
        let mut own = Self { devtools, page: String::new(), seen: PageEvents::default() };
        let targets = own.call("Target.getTargets", json!({}));
        let mut targets = targets["targetInfos"].as_array().into_iter().flatten();
        let Some(target) = targets.find(|own| own["type"] == "page").map(|own| own["targetId"].clone()) else {
            own.devtools.fail("starting", "it has no page");
        };
        let session = own.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        own.page = session["sessionId"].as_str().unwrap_or_default().to_owned();
        let page = own.page.clone();
        watch(&mut own.devtools, &page);
        own.call("Page.enable", json!({}));
        Some(own)
    }

    /// Opens an address, and waits until the page has loaded. What other pages did is forgotten.
    ///
    /// # Panics
    /// When there is no such page, and when it does not load.
    pub fn open(&mut self, address: &str) {
        // What the page before did may still be on its way.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.evaluate("0");
        self.seen = PageEvents::default();
        let answer = self.call("Page.navigate", json!({ "url": address }));
        if let Some(why) = answer["errorText"].as_str() {
            self.devtools.fail(&format!("opening {address}"), why);
        }
        let end = devtools::end();
        while !self.seen.has_loaded {
            match self.devtools.receive(end, "loading") {
                Some(event) => self.seen.take(&mut self.devtools, &self.page, &event),
                None => self.devtools.fail(&format!("opening {address}"), "the page does not load"),
            }
        }
    }

    /// [Opens](Browser::open) a file.
    ///
    /// # Panics
    /// When there is no such file, and when it does not load.
    pub fn open_file(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|why| panic!("cannot open {}: {why}", path.display()));
        self.open(&file_address(&path));
    }

    /// The value of an expression of JavaScript in the page, as JSON; of a promise, the value that it brings.
    ///
    /// # Panics
    /// When the script throws, and when its value is no JSON.
    #[track_caller]
    pub fn evaluate(&mut self, script: &str) -> Value {
        let wanted = json!({ "expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let mut answer = self.call("Runtime.evaluate", wanted);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{script}: {}", words_of(thrown));
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// When it is not within a minute, and when it throws.
    #[track_caller]
    pub fn wait_for(&mut self, script: &str) {
        let end = devtools::end();
        while self.evaluate(script) != true {
            assert!(Instant::now() < end, "it never was so: {script}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses a key and lets it go: `a`, `Tab`, `Enter`, `Space`, `ArrowDown`, `Shift+Tab`.
    ///
    /// # Panics
    /// When there is no such key.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        for event in keys::events(key) {
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Clicks in the middle of the first element that a selector of CSS finds.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.evaluate(&format!("{}.scrollIntoView({{ block: 'center', behavior: 'instant' }})", found(selector)));
        let place = self.evaluate(&format!(
            "(() => {{ const own = {}.getBoundingClientRect(); \
             return {{ x: own.x + own.width / 2, y: own.y + own.height / 2 }} }})()",
            found(selector)
        ));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let (x, y, button) = (&place["x"], &place["y"], if kind == "mouseMoved" { "none" } else { "left" });
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Sets how the page is shown, from now on.
    pub fn look(&mut self, Appearance { dark, print }: Appearance) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = if print { "print" } else { "screen" };
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// Sets the size of the window in pixels of CSS.
    pub fn window(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// A picture of the window, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        self.data(&picture)
    }

    /// A picture of the first element that a selector of CSS finds, as PNG. `html` is the whole page.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn screenshot_of(&mut self, selector: &str) -> Vec<u8> {
        let place = self.evaluate(&format!(
            "(() => {{ const own = {}.getBoundingClientRect(); \
             return {{ x: own.x + scrollX, y: own.y + scrollY, width: own.width, height: own.height, scale: 1 }} }})()",
            found(selector)
        ));
        let picture = self
            .call("Page.captureScreenshot", json!({ "format": "png", "clip": place, "captureBeyondViewport": true }));
        self.data(&picture)
    }

    /// The page as it is printed on A4, as PDF.
    pub fn pdf(&mut self) -> Vec<u8> {
        let paper = json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true });
        let document = self.call("Page.printToPDF", paper);
        self.data(&document)
    }

    /// The addresses that the page asked for, its own first, with those of its workers.
    pub fn requests(&mut self) -> &[String] {
        self.listen();
        &self.seen.requests
    }

    /// What went wrong in the page: exceptions, errors in the console, and what the browser refused or did not find.
    pub fn errors(&mut self) -> &[String] {
        self.listen();
        &self.seen.errors
    }

    /// Takes all that the page has said so far.
    fn listen(&mut self) {
        // Chromium answers after that.
        self.evaluate("new Promise(done => setTimeout(done, 0))");
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let Self { devtools, page, seen } = self;
        devtools.call(page, method, &parameters, |devtools, event| seen.take(devtools, page, &event))
    }

    /// What an answer has as base64.
    fn data(&self, answer: &Value) -> Vec<u8> {
        let data = answer["data"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        data.unwrap_or_else(|| self.devtools.fail("making a picture", "it gave none"))
    }
}

/// Lets a session of the protocol tell of a page or a worker what [`PageEvents`] keeps.
fn watch(devtools: &mut DevTools, session: &str) {
    let workers = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    devtools.send(session, "Target.setAutoAttach", &workers);
    for domain in ["Runtime", "Log", "Network"] {
        devtools.send(session, &format!("{domain}.enable"), &json!({}));
    }
    devtools.send(session, "Runtime.runIfWaitingForDebugger", &json!({}));
}

impl PageEvents {
    /// Keeps what an event tells.
    fn take(&mut self, devtools: &mut DevTools, page: &str, event: &Value) {
        let own = &event["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["method"].as_str().unwrap_or_default() {
            "Target.attachedToTarget" => {
                let session = text(&own["sessionId"]);
                if session != page && event["sessionId"].is_string() {
                    watch(devtools, &session);
                }
            }
            "Page.loadEventFired" => self.has_loaded = true,
            "Network.requestWillBeSent" => self.requests.push(text(&own["request"]["url"])),
            "Network.webSocketCreated" | "Network.webTransportCreated" => self.requests.push(text(&own["url"])),
            "Runtime.exceptionThrown" => self.errors.push(words_of(&own["exceptionDetails"])),
            "Runtime.consoleAPICalled" if own["type"] == "error" || own["type"] == "assert" => {
                let words = own["args"].as_array().into_iter().flatten().map(|word| match &word["value"] {
                    Value::Null => text(&word["description"]),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                self.errors.push(words.collect::<Vec<_>>().join(" "));
            }
            "Log.entryAdded" if own["entry"]["level"] == "error" => {
                let entry = &own["entry"];
                self.errors.push(format!("{} {}", text(&entry["text"]), text(&entry["url"])));
            }
            "Inspector.targetCrashed" => self.errors.push("the page has crashed".to_owned()),
            _ => {}
        }
    }
}

/// What an exception says.
fn words_of(thrown: &Value) -> String {
    let words = thrown["exception"]["description"].as_str().or(thrown["text"].as_str());
    format!("{} (line {})", words.unwrap_or("an exception"), thrown["lineNumber"].as_u64().unwrap_or(0) + 1)
}

/// An expression of JavaScript for an element.
fn found(selector: &str) -> String {
    let text = Value::from(selector);
    format!("(document.querySelector({text}) ?? (() => {{ throw Error('the page has no ' + {text}) }})())")
}

/// `file:///a%20b.html`.
fn file_address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => address.push(char::from(*byte)),
            other => address += &format!("%{other:02X}"),
        }
    }
    address
}
