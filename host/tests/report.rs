//! Pages of `ladder report` in a browser. What the command prints and refuses is in cli/report.txt.

use std::fs;
use std::path::{Path, PathBuf};

use browser_test::{Appearance, Browser, Value};

use crate::common::program::{env, within};
use host::KERNELS;
use host::device::Sim;

/// Writes a page into a folder, on a machine without a GPU.
fn written(folder: &Path, name: &str, args: &str) -> PathBuf {
    let path = folder.join(name);
    let open = |_| Ok(Box::new(Sim::open(&KERNELS, 1)?) as Box<dyn host::Device>);
    let args = format!("report {args} -o {}", path.display());
    assert!(within(&env(&open), &args).printed().starts_with(&path.display().to_string()));
    path
}

/// JavaScript for all elements that a selector finds, in shadows too.
const ALL: &str = "const all = (selector, root = document) => [...root.querySelectorAll(selector)].concat(\
    ...[...root.querySelectorAll('*')].filter(own => own.shadowRoot).map(own => all(selector, own.shadowRoot)));";

/// How many pictures there are, and those without words for people who do not see them.
const PICTURES: &str = "(() => { ALL
    const named = own => (own.getAttribute('aria-labelledby') ?? '').split(' ')
        .map(id => own.getRootNode().getElementById(id)?.textContent.trim()).filter(text => text).length;
    const pictures = all('svg, img, canvas, [role=img]');
    const has = own => named(own) || own.getAttribute('aria-label') || own.getAttribute('alt')
        || own.querySelector(':scope > title')?.textContent.trim();
    return { count: pictures.length, without: pictures.filter(own => !has(own)).map(own => own.outerHTML.slice(0, 200)) };
})()";

/// The least contrast of words and what is behind them (WCAG 2.2, success criterion 1.4.3).
const CONTRAST: &str = "(() => { ALL
    const numbers = color => color.match(/[\\d.]+/g).map(Number);
    const light = color => numbers(color).slice(0, 3).map(own => own / 255)
        .map(own => own <= 0.04045 ? own / 12.92 : ((own + 0.055) / 1.055) ** 2.4)
        .reduce((sum, own, at) => sum + own * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = own => { for (; own; own = own.parentElement) {
        const color = getComputedStyle(own).backgroundColor;
        if ((numbers(color)[3] ?? 1) == 1) return color; } return 'rgb(255, 255, 255)'; };
    let least = { ratio: 99 };
    for (const own of document.querySelectorAll('p, a, li, h1, h2, h3, summary, td, th, code, span, figcaption')) {
        const [a, b] = [light(getComputedStyle(own).color), light(behind(own))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < least.ratio) least = { ratio, of: own.outerHTML.slice(0, 120) };
    }
    return least;
})()";

fn evaluate(browser: &mut Browser, script: &str) -> Value {
    browser.evaluate(&script.replace("ALL", ALL))
}

/// What holds of every page.
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

/// Some rungs of two ladders: the pages of the others are made of the same parts.
const OF_TWO_LADDERS: [&[&str]; 2] = [&["transpose_naive", "transpose_smem"], &["shuffle_up"]];

#[test]
fn a_report_works_on_screen_by_keyboard_and_on_paper() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let args = format!("{} --rows 64 --cols 64", OF_TWO_LADDERS.concat().join(" "));
    let path = written(folder.path(), "report.html", &args);
    assert!(fs::metadata(&path).unwrap().len() < 5 << 20, "a report is too large to be sent to anybody");
    browser.open_file(&path);

    let rungs = OF_TWO_LADDERS.map(<[_]>::len);
    let all: usize = rungs.iter().sum();
    assert_eq!(browser.evaluate("document.querySelectorAll('article').length"), all);
    let data = browser.evaluate("JSON.parse(document.getElementById('ladder-report').textContent)");
    assert_eq!(data["ladders"][0]["rungs"].as_array().unwrap().len(), rungs[0]);
    assert_eq!(data["origin"]["is_measured"], false);
    assert!(browser.evaluate("document.body.innerText").as_str().unwrap().contains("predicted for NVIDIA H100"));
    // Two charts, and of each rung at least its requests to memory.
    check(&mut browser, all as u64 + 2);

    // The first key shows where it is, and the next ones go on.
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

    let folded = "[...document.querySelectorAll('details:not([open])')].every(own => own.className == 'machine')";
    assert_eq!(browser.evaluate(folded), false);
    let pdf = browser.pdf();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
    assert_eq!(browser.evaluate(folded), true, "what is folded is printed");
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
        // As if the kernel was another one.
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
