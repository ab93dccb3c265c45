//! A headless Chromium for testing web pages.
//!
//! A [`Browser`] has one page. The browser opens a file or a page from a [`Server`], runs JavaScript in the page, and
//! presses keys. It can show the page in dark mode, in a narrow window or as printed, and takes screenshots. It also
//! records [the page's requests](Browser::requests) and [the page's errors](Browser::errors). The browser never reaches
//! the network.
//!
//! The crate is only for tests, so every failure panics with a reason.
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
    /// The protocol session of the page.
    page: String,
    events: PageEvents,
}

/// The events of a page since it was opened.
#[derive(Default)]
struct PageEvents {
    requests: Vec<String>,
    errors: Vec<String>,
    has_loaded: bool,
}

/// The appearance of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appearance {
    /// Sets `prefers-color-scheme: dark`.
    pub dark: bool,
    /// Shows the page as it would be printed.
    pub print: bool,
}

impl Browser {
    /// Starts Chromium. If Chromium is not installed, prints a message and returns `None`.
    ///
    /// # Panics
    /// Panics when Chromium does not start, or when Chromium is not installed in CI, where all tests must run. The
    /// environment variable `CI` indicates CI.
    #[must_use]
    pub fn start() -> Option<Self> {
        let Some(program) = locate::chromium::find() else {
            let message = format!("skipped: no Chromium; {}", locate::chromium::REMEDY);
            assert!(std::env::var_os("CI").is_none(), "{message}");
            // Do not use `eprintln!`, because a passing test hides its output. A write error is ignored.
            let _ = writeln!(std::io::stderr(), "{message}");
            return None;
        };
        let devtools = DevTools::start(&program);
        let mut browser = Self { devtools, page: String::new(), events: PageEvents::default() };
        let targets = browser.call("Target.getTargets", json!({}));
        let mut targets = targets["targetInfos"].as_array().into_iter().flatten();
        let Some(target) = targets.find(|target| target["type"] == "page").map(|target| target["targetId"].clone())
        else {
            browser.devtools.fail("starting", "Chromium has no page");
        };
        let session = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.page = session["sessionId"].as_str().unwrap_or_default().to_owned();
        let page = browser.page.clone();
        watch(&mut browser.devtools, &page);
        browser.call("Page.enable", json!({}));
        Some(browser)
    }

    /// Opens an address, and waits until the page has loaded. Discards the requests and errors of the previous page.
    ///
    /// # Panics
    /// Panics when the page does not exist or does not load.
    pub fn open(&mut self, address: &str) {
        // Leave the previous page first, because its events can still arrive.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.evaluate("0");
        self.events = PageEvents::default();
        let answer = self.call("Page.navigate", json!({ "url": address }));
        if let Some(why) = answer["errorText"].as_str() {
            self.devtools.fail(&format!("opening {address}"), why);
        }
        let end = devtools::time_limit();
        while !self.events.has_loaded {
            match self.devtools.receive(end, "loading") {
                Some(event) => self.events.record(&mut self.devtools, &self.page, &event),
                None => self.devtools.fail(&format!("opening {address}"), "the page does not load"),
            }
        }
    }

    /// Opens a file: see [`Browser::open`].
    ///
    /// # Panics
    /// Panics when the file does not exist or does not load.
    pub fn open_file(&mut self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|why| panic!("cannot open {}: {why}", path.display()));
        self.open(&file_address(&path));
    }

    /// Evaluates a JavaScript expression in the page and returns the value as JSON. Awaits the value if it is a
    /// promise.
    ///
    /// # Panics
    /// Panics when the script throws, or when the value cannot be converted to JSON.
    #[track_caller]
    pub fn evaluate(&mut self, script: &str) -> Value {
        let request = json!({ "expression": script, "returnByValue": true, "awaitPromise": true, "userGesture": true });
        let mut answer = self.call("Runtime.evaluate", request);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{script}: {}", exception_message(thrown));
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// Panics when the expression throws, or is not true within a minute.
    #[track_caller]
    pub fn wait_for(&mut self, script: &str) {
        let end = devtools::time_limit();
        while self.evaluate(script) != true {
            assert!(Instant::now() < end, "this expression did not become true: {script}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses and releases a key: `a`, `Tab`, `Enter`, `Space`, `ArrowDown`, `Shift+Tab`.
    ///
    /// # Panics
    /// Panics when there is no such key.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        for event in keys::events(key) {
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Clicks the center of the first element that matches a CSS selector.
    ///
    /// # Panics
    /// Panics when no element matches.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        self.evaluate(&format!("{}.scrollIntoView({{ block: 'center', behavior: 'instant' }})", element(selector)));
        let place = self.evaluate(&format!(
            "(() => {{ const box = {}.getBoundingClientRect(); \
             return {{ x: box.x + box.width / 2, y: box.y + box.height / 2 }} }})()",
            element(selector)
        ));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let (x, y, button) = (&place["x"], &place["y"], if kind == "mouseMoved" { "none" } else { "left" });
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Sets the appearance of the page.
    pub fn look(&mut self, Appearance { dark, print }: Appearance) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = if print { "print" } else { "screen" };
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// Sets the size of the window in CSS pixels.
    pub fn window(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Returns a screenshot of the window, as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        self.data(&picture)
    }

    /// Returns a screenshot of the first element that matches a CSS selector, as PNG. `html` is the whole page.
    ///
    /// # Panics
    /// Panics when no element matches.
    #[track_caller]
    pub fn screenshot_of(&mut self, selector: &str) -> Vec<u8> {
        let place = self.evaluate(&format!(
            "(() => {{ const box = {}.getBoundingClientRect(); \
             return {{ x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height, scale: 1 }} }})()",
            element(selector)
        ));
        let picture = self
            .call("Page.captureScreenshot", json!({ "format": "png", "clip": place, "captureBeyondViewport": true }));
        self.data(&picture)
    }

    /// Returns the page printed on A4, as PDF.
    pub fn pdf(&mut self) -> Vec<u8> {
        let paper = json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true });
        let document = self.call("Page.printToPDF", paper);
        self.data(&document)
    }

    /// Returns the addresses that the page and its workers requested, starting with the page's address.
    pub fn requests(&mut self) -> &[String] {
        self.receive_events();
        &self.events.requests
    }

    /// Returns the errors of the page: exceptions, console errors, and requests that were blocked or failed.
    pub fn errors(&mut self) -> &[String] {
        self.receive_events();
        &self.events.errors
    }

    /// Receives all pending events of the page.
    fn receive_events(&mut self) {
        // Chromium sends the pending events before the answer to this call.
        self.evaluate("new Promise(done => setTimeout(done, 0))");
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let Self { devtools, page, events } = self;
        devtools.call(page, method, &parameters, |devtools, event| events.record(devtools, page, &event))
    }

    /// Returns the base64 data of an answer.
    fn data(&self, answer: &Value) -> Vec<u8> {
        let data = answer["data"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        data.unwrap_or_else(|| self.devtools.fail("taking a screenshot or printing", "the answer has no data"))
    }
}

/// Enables the events of a page or a worker that [`PageEvents`] records.
fn watch(devtools: &mut DevTools, session: &str) {
    let workers = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    devtools.send(session, "Target.setAutoAttach", &workers);
    for domain in ["Runtime", "Log", "Network"] {
        devtools.send(session, &format!("{domain}.enable"), &json!({}));
    }
    devtools.send(session, "Runtime.runIfWaitingForDebugger", &json!({}));
}

impl PageEvents {
    /// Records an event.
    fn record(&mut self, devtools: &mut DevTools, page: &str, event: &Value) {
        let parameters = &event["params"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match event["method"].as_str().unwrap_or_default() {
            "Target.attachedToTarget" => {
                let session = text(&parameters["sessionId"]);
                if session != page && event["sessionId"].is_string() {
                    watch(devtools, &session);
                }
            }
            "Page.loadEventFired" => self.has_loaded = true,
            "Network.requestWillBeSent" => self.requests.push(text(&parameters["request"]["url"])),
            "Network.webSocketCreated" | "Network.webTransportCreated" => self.requests.push(text(&parameters["url"])),
            "Runtime.exceptionThrown" => self.errors.push(exception_message(&parameters["exceptionDetails"])),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" || parameters["type"] == "assert" => {
                let words = parameters["args"].as_array().into_iter().flatten().map(|word| match &word["value"] {
                    Value::Null => text(&word["description"]),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                self.errors.push(words.collect::<Vec<_>>().join(" "));
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                let entry = &parameters["entry"];
                self.errors.push(format!("{} {}", text(&entry["text"]), text(&entry["url"])));
            }
            "Inspector.targetCrashed" => self.errors.push("the page has crashed".to_owned()),
            _ => {}
        }
    }
}

/// Returns the message of an exception.
fn exception_message(thrown: &Value) -> String {
    let words = thrown["exception"]["description"].as_str().or(thrown["text"].as_str());
    format!("{} (line {})", words.unwrap_or("an exception"), thrown["lineNumber"].as_u64().unwrap_or(0) + 1)
}

/// Returns a JavaScript expression for the element that matches a selector.
fn element(selector: &str) -> String {
    let text = Value::from(selector);
    format!("(document.querySelector({text}) ?? (() => {{ throw Error('the page has no ' + {text}) }})())")
}

/// Returns the URL of a file: `file:///a%20b.html`.
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
