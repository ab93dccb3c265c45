//! Opens the site in Chromium at the widths of a phone, half a screen and a screen. Checks that no page is too wide,
//! that figures and text are legible on dark and light pages, and that every link leads to a file of the site.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use browser_test::{Appearance, Browser, Value};

/// Returns the faults of an open page as a list of texts.
const FAULTS: &str = r#"(() => {
  const faults = [], wide = innerWidth;
  const name = e => e.tagName.toLowerCase() + ' ' + (e.textContent || e.getAttribute('src') || '').trim().slice(0, 60);
  if (document.documentElement.scrollWidth > wide) faults.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  // Command output and figures may scroll only on a phone. A table may always scroll.
  const scrolls = wide < 800 ? 'pre code:not(.language-console, .language-text)' : 'pre code, figure';
  for (const e of document.querySelectorAll(scrolls))
    if (e.scrollWidth > e.clientWidth + 1) faults.push('it scrolls: ' + name(e));
  // A figure has type of 14 pixels.
  for (const e of document.querySelectorAll('figure img'))
    if (e.naturalWidth && (e.closest('.content') ? 14 : 11) * e.clientWidth / e.naturalWidth < 9) faults.push('its type is too small: ' + name(e));
  const light = color => {
    const [r, g, b, a] = color.match(/[\d.]+/g).map(Number);
    return a === 0 ? null : [r, g, b].map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  };
  const background = e => { for (; e; e = e.parentElement) { const l = light(getComputedStyle(e).backgroundColor); if (l !== null) return l; } return 1; };
  for (const e of document.querySelectorAll('main p, main li, main td, main pre, main figcaption, main a, main h2')) {
    const [a, b] = [light(getComputedStyle(e).color), background(e)].sort((a, b) => a - b);
    if ((b + 0.05) / (a + 0.05) < 4) faults.push('too pale: ' + name(e));
  }
  for (const e of document.querySelectorAll('main img')) if (!e.complete || !e.naturalWidth) faults.push('no picture: ' + e.src);
  return faults;
})()"#;

fn site() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("site");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut xtask = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = xtask.args(["xtask", "site"]).arg(&folder).arg("--for-tests").current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Returns the pages in a folder of the site.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    // `print.html` repeats all chapters, and `toc.html` is the sidebar for browsers without scripts.
    let is_page = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "html");
    files.filter(|path| is_page(path) && !path.ends_with("print.html") && !path.ends_with("toc.html")).collect()
}

#[test]
fn every_page_fits_and_can_be_read() {
    let Some(mut browser) = Browser::start() else { return };
    let site = site();
    let mut all = pages(&site.join("book"));
    assert!(all.len() > 30, "{} pages", all.len());
    all.push(site.join("index.html"));
    let mut faults = Vec::new();
    for page in &all {
        let name = page.strip_prefix(&site).unwrap().display();
        for (width, dark) in [(390, false), (825, true), (1280, false)] {
            browser.look(Appearance { dark, print: false });
            browser.window(width, 900);
            browser.open_file(page);
            let found = browser.evaluate(FAULTS);
            let found = found.as_array().unwrap().iter().filter_map(Value::as_str);
            faults.extend(found.map(|fault| format!("{name} at {width}: {fault}")));
            faults.extend(browser.errors().iter().map(|error| format!("{name}: {error}")));
        }
        let links = browser
            .evaluate("[...document.querySelectorAll('a, link, script, iframe')].map(e => e.href || e.src || '')");
        for link in links.as_array().unwrap().iter().filter_map(Value::as_str) {
            if let Some(path) = link.strip_prefix("file://") {
                let path = path.split(['#', '?']).next().unwrap().replace("%20", " ");
                let is_here = Path::new(&path).starts_with(&site) && Path::new(&path).is_file();
                if !is_here {
                    faults.push(format!("{name}: {link} is not a file of the site"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
