//! Gives the crate the digest of its own sources: a part of what a step says about the code that decided it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    sources(&root.join("src"), &mut files);
    files.sort();
    let mut digest = Sha256::new();
    for file in &files {
        let name = file.strip_prefix(&root).expect("all are below the root");
        let octets = fs::read(file).expect("a source can be read");
        digest.update(name.to_string_lossy().as_bytes());
        digest.update((octets.len() as u64).to_be_bytes());
        digest.update(&octets);
    }
    let text = digest
        .finalize()
        .iter()
        .fold(String::new(), |mut text, octet| {
            let _ = write!(text, "{octet:02x}");
            text
        });
    println!("cargo::rustc-env=WIRE_SOURCE_DIGEST={text}");
    for path in ["Cargo.toml", "Cargo.lock", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// All files of a folder and of the folders in it.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}
