//! Runs Chromium on small pages, with and without errors.

use std::fs;
use std::time::{Duration, Instant};

use browser_test::{Appearance, Browser, Server};

const PAGE: &str = r##"<!doctype html><html lang="en"><title>ä page</title>
<style>body { color: rgb(1, 2, 3) } @media (prefers-color-scheme: dark) { body { color: rgb(4, 5, 6) } }
@media print { #box { display: none } } #box { width: 40px; height: 30px; background: red }</style>
<button id="first" onclick="document.title += '!'">a</button> <input id="second"> <div id="box"></div></html>"##;

/// Creates a folder with `a page.html` and other files.
fn folder(others: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in others.iter().chain(&[("a page.html", PAGE)]) {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn opens_and_uses_a_page() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder(&[]);
    browser.open_file(&folder.path().join("a page.html"));
    assert_eq!(browser.evaluate("document.title"), "ä page");
    assert_eq!(browser.evaluate("Promise.resolve({ a: [1, null] })").to_string(), r#"{"a":[1,null]}"#);

    let color = "getComputedStyle(document.body).color";
    assert_eq!(browser.evaluate(color), "rgb(1, 2, 3)");
    browser.look(Appearance { dark: true, print: false });
    assert_eq!(browser.evaluate(color), "rgb(4, 5, 6)");
    browser.look(Appearance { dark: false, print: true });
    assert_eq!(browser.evaluate("document.querySelector('#box').offsetWidth"), 0);
    browser.look(Appearance::default());
    browser.window(400, 300);
    assert_eq!(browser.evaluate("innerWidth"), 400);

    for key in ["Tab", "Enter", "Space", "Tab", "a", "Shift+B"] {
        browser.press(key);
    }
    assert_eq!(browser.evaluate("document.title"), "ä page!!");
    assert_eq!(browser.evaluate("document.activeElement.value"), "aB");
    browser.press("Shift+Tab");
    assert_eq!(browser.evaluate("document.activeElement.id"), "first");
    browser.click("#first");
    browser.wait_for("document.title == 'ä page!!!'");

    let size = |png: &[u8]| [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes")));
    assert_eq!(size(&browser.screenshot()), [400, 300]);
    assert_eq!(size(&browser.screenshot_of("#box")), [40, 30]);
    assert!(browser.pdf().starts_with(b"%PDF"));
    assert_eq!(browser.errors(), [""; 0]);
    let [request] = browser.requests() else { panic!("{:?}", browser.requests()) };
    assert!(request.ends_with("/a%20page.html"), "{request}");
}

#[test]
fn records_the_errors_of_a_page() {
    let Some(mut browser) = Browser::start() else { return };
    let worker = "fetch('from_worker.json').catch(() => {}); throw Error('in the worker')";
    let page = "<script>console.error('said', 1); setTimeout(() => { throw Error('thrown') });
        new Worker('worker.js'); fetch('https://example.com/elsewhere').catch(() => {}); new Image().src = 'none.png'
        </script>";
    let folder = folder(&[("index.html", page), ("worker.js", worker)]);
    let server = Server::of(folder.path());
    browser.open(server.address());
    let all = |browser: &mut Browser| [browser.requests().join("\n"), browser.errors().join("\n")];
    let end = Instant::now() + Duration::from_secs(30);
    let expected = [
        (0, "https://example.com/elsewhere"),
        (0, "/worker.js"),
        (0, "/from_worker.json"),
        (1, "said 1"),
        (1, "thrown"),
        (1, "in the worker"),
        (1, "none.png"),
    ];
    let first_missing =
        |found: &[String; 2]| expected.iter().find(|(which, text)| !found[*which].contains(text)).copied();
    let mut found = all(&mut browser);
    while let Some(missing) = first_missing(&found) {
        assert!(Instant::now() < end, "{missing:?} is not in {found:#?}");
        std::thread::sleep(Duration::from_millis(20));
        found = all(&mut browser);
    }
    browser.open(&format!("{}a%20page.html", server.address()));
    assert_eq!(browser.errors(), [""; 0]);
}

#[test]
#[should_panic(expected = "ReferenceError")]
fn throwing_script_panics() {
    // Without a browser, this test must panic as well.
    let Some(mut browser) = Browser::start() else { panic!("skipped, and no ReferenceError") };
    browser.evaluate("no_such_name");
}

#[test]
#[should_panic(expected = "cannot open no/such/file.html")]
fn missing_file_panics() {
    let Some(mut browser) = Browser::start() else { panic!("skipped: cannot open no/such/file.html") };
    browser.open_file("no/such/file.html".as_ref());
}
