//! Pages of `ladder report` in a browser. The command's output and its errors are in cli/report.txt.

use std::fs;
use std::path::{Path, PathBuf};

use browser_test::{Appearance, Browser, Value};

use crate::common::program::{env, run_in};
use host::KERNELS;
use host::device::Sim;

/// Writes a report to a folder, on a machine without a GPU, and returns its path.
fn written(folder: &Path, name: &str, args: &str) -> PathBuf {
    let path = folder.join(name);
    let open = |_| Ok(Box::new(Sim::open(&KERNELS, 1)?) as Box<dyn host::Device>);
    let args = format!("report {args} -o {}", path.display());
    assert!(run_in(&env(&open), &args).printed().starts_with(&path.display().to_string()));
    path
}

/// JavaScript that finds all elements of a selector, including those in shadow trees.
const ALL: &str = "const all = (selector, root = document) => [...root.querySelectorAll(selector)].concat(\
    ...[...root.querySelectorAll('*')].filter(node => node.shadowRoot).map(node => all(selector, node.shadowRoot)));";

/// JavaScript that returns the number of pictures, and the pictures without a text alternative.
const PICTURES: &str = "(() => { ALL
    const named = node => (node.getAttribute('aria-labelledby') ?? '').split(' ')
        .map(id => node.getRootNode().getElementById(id)?.textContent.trim()).filter(text => text).length;
    const pictures = all('svg, img, canvas, [role=img]');
    const has = node => named(node) || node.getAttribute('aria-label') || node.getAttribute('alt')
        || node.querySelector(':scope > title')?.textContent.trim();
    const without = pictures.filter(node => !has(node)).map(node => node.outerHTML.slice(0, 200));
    return { count: pictures.length, without };
})()";

/// JavaScript that returns the least contrast between text and its background (WCAG 2.2, success criterion 1.4.3).
const CONTRAST: &str = "(() => { ALL
    const numbers = color => color.match(/[\\d.]+/g).map(Number);
    const light = color => numbers(color).slice(0, 3).map(value => value / 255)
        .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
    const background = node => { for (; node; node = node.parentElement) {
        const color = getComputedStyle(node).backgroundColor;
        if ((numbers(color)[3] ?? 1) == 1) return color; } return 'rgb(255, 255, 255)'; };
    let least = { ratio: 99 };
    for (const node of document.querySelectorAll('p, a, li, h1, h2, h3, summary, td, th, code, span, figcaption')) {
        const [a, b] = [light(getComputedStyle(node).color), light(background(node))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < least.ratio) least = { ratio, of: node.outerHTML.slice(0, 120) };
    }
    return least;
})()";

fn evaluate(browser: &mut Browser, script: &str) -> Value {
    browser.evaluate(&script.replace("ALL", ALL))
}

/// Checks properties of every page.
#[track_caller]
fn check(browser: &mut Browser, pictures: u64) {
    let found = evaluate(browser, PICTURES);
    assert_eq!(found["without"], Value::Array(Vec::new()));
    assert!(found["count"].as_u64() >= Some(pictures), "{found}");
    for (dark, width) in [(false, 1200), (true, 360)] {
        browser.look(Appearance { dark, print: false });
        browser.window(width, 800);
        let least = evaluate(browser, CONTRAST);
        assert!(least["ratio"].as_f64() >= Some(4.5), "dark: {dark}, {least}");
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "a window of {width} pixels has a page of {wide}");
    }
    browser.look(Appearance::default());
    assert_eq!(browser.errors(), [""; 0]);
    assert_eq!(browser.requests().len(), 1, "{:?}", browser.requests());
}

/// Some rungs of two ladders. The pages of other ladders consist of the same parts.
const OF_TWO_LADDERS: [&[&str]; 2] = [&["transpose_naive", "transpose_smem"], &["shuffle_up"]];

#[test]
fn a_report_works_on_screen_by_keyboard_and_on_paper() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let args = format!("{} --rows 64 --cols 64", OF_TWO_LADDERS.concat().join(" "));
    let path = written(folder.path(), "report.html", &args);
    assert!(fs::metadata(&path).unwrap().len() < 5 << 20, "the report is too large to send by mail");
    browser.open_file(&path);

    let rungs = OF_TWO_LADDERS.map(<[_]>::len);
    let all: usize = rungs.iter().sum();
    assert_eq!(browser.evaluate("document.querySelectorAll('article').length"), all);
    let data = browser.evaluate("JSON.parse(document.getElementById('ladder-report').textContent)");
    assert_eq!(data["ladders"][0]["rungs"].as_array().unwrap().len(), rungs[0]);
    assert_eq!(data["origin"]["is_measured"], false);
    assert!(browser.evaluate("document.body.innerText").as_str().unwrap().contains("predicted for NVIDIA H100"));
    // Two charts, and at least one picture of each rung's memory requests.
    check(&mut browser, all as u64 + 2);

    // The first press of Tab focuses a visible skip link, and later keys move on from there.
    let focus = "(({ outlineStyle, outlineWidth }) => outlineStyle + ' ' + outlineWidth)\
                 (getComputedStyle(document.activeElement))";
    browser.press("Tab");
    assert_eq!(browser.evaluate("document.activeElement.className"), "skip");
    assert_eq!(browser.evaluate(focus), "solid 3px");
    let is_open = "document.activeElement.parentElement.open";
    browser.evaluate("document.querySelector('article h3').scrollIntoView()");
    browser.evaluate("document.querySelectorAll('article')[0].querySelector('summary').focus()");
    browser.press("Shift+Tab");
    browser.press("Tab");
    assert_eq!(browser.evaluate("document.activeElement.tagName"), "SUMMARY");
    assert_eq!(browser.evaluate(focus), "solid 3px");
    for (key, open) in [("Enter", true), ("Space", false), ("Enter", true)] {
        browser.press(key);
        assert_eq!(browser.evaluate(is_open), open, "{key}");
    }

    let folded = "[...document.querySelectorAll('details:not([open])')].every(node => node.className == 'machine')";
    assert_eq!(browser.evaluate(folded), false);
    let pdf = browser.pdf();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
    assert_eq!(browser.evaluate(folded), true, "printing opens folded sections");
    browser.look(Appearance { dark: true, print: true });
    assert_eq!(browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(browser.evaluate("document.querySelector('nav').offsetWidth"), 0);
}

#[test]
fn two_reports_are_compared() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let times = |factor: u32| {
        let path = folder.path().join(format!("times{factor}.json"));
        let rungs = ["transpose_naive", "transpose_smem"].iter().enumerate();
        let rows =
            rungs.map(|(at, rung)| format!(r#"{{"rung": "{rung}", "time_ns": {}}}"#, 9000 / (1 + at as u32 * factor)));
        fs::write(&path, format!("[{}]", rows.collect::<Vec<_>>().join(","))).unwrap();
        path.display().to_string()
    };
    let report = |factor: u32, name: &str| {
        let args = format!("transpose_naive transpose_smem --rows 64 --cols 64 --times {}", times(factor));
        let path = written(folder.path(), name, &args);
        // Simulates a change of the kernel's source.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\\n\",\"time_ns\"", &format!("\\n// version {factor}\\n\",\"time_ns\"")))
            .unwrap();
        path.display().to_string()
    };
    let (old, new) = (report(1, "old.html"), report(2, "new.html"));
    let path = written(folder.path(), "both.html", &format!("--compare {old} {new}"));
    browser.open_file(&path);
    check(&mut browser, 1);
    let text = browser.evaluate("document.querySelector('main').textContent").as_str().unwrap().to_owned();
    for part in
        ["4.50 µs → 3.00 µs", "0.667× faster", "the same counters", "the source changed", "-// version 1+// version 2"]
    {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}
