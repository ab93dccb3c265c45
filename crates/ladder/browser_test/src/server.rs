//! A file server, for pages that a browser cannot open from disk.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::thread;

/// A server for the files of a folder, on localhost until the process ends.
#[derive(Clone, Debug)]
pub struct Server {
    address: String,
}

impl Server {
    /// Serves a folder.
    ///
    /// # Panics
    /// Panics when no port is free.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let folder = folder.to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let folder = folder.clone();
                // An error is ignored: it means that the browser has closed the connection.
                thread::spawn(move || answer(&stream, &folder));
            }
        });
        Self { address: format!("http://{address}/") }
    }

    /// Returns the address of the folder, with a trailing slash.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

fn answer(stream: &TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    // The other header lines are skipped.
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    let found = file(folder, path).and_then(|path| Some((std::fs::read(&path).ok()?, kind(&path))));
    let (status, (bytes, kind)) = match found {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", (b"no such file".to_vec(), "text/plain")),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        bytes.len()
    )?;
    stream.write_all(&bytes)
}

/// Returns the file for an address, or `None` if the file is outside the folder.
fn file(folder: &Path, address: &str) -> Option<PathBuf> {
    let path = decoded(address.split(['?', '#']).next()?.trim_start_matches('/'))?;
    let path = Path::new(if path.is_empty() { "index.html" } else { &path });
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let path = folder.join(path);
    is_inside.then(|| if path.is_dir() { path.join("index.html") } else { path })
}

/// Decodes percent-encoding: `a%20b` becomes `a b`.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).ok()
}

fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "wasm" => "application/wasm",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}
