//! What the loader would make of a program: the few facts of its ELF header that decide whether LD_PRELOAD reaches it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Kinds of programs.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// x86-64, dynamically linked.
    Dynamic,
    /// x86-64 without an interpreter: nothing can be preloaded.
    Static,
    /// Another machine's.
    Foreign,
    /// A script with a `#!` line.
    Script,
    /// Something else.
    Unknown,
}

/// A file's head and, of an x86-64 program, its program headers.
enum Head {
    Headers(Vec<[u8; 56]>),
    Not(Kind),
}

/// Segments by which an interpreter is asked for.
const PT_INTERP: u32 = 3;

fn head(f: &mut File) -> io::Result<Head> {
    let mut head = [0u8; 64];
    let mut n = 0;
    while n < head.len() {
        match f.read(&mut head[n..])? {
            0 => break,
            k => n += k,
        }
    }
    if head.starts_with(b"#!") {
        return Ok(Head::Not(Kind::Script));
    }
    if n < 64 || !head.starts_with(b"\x7fELF") {
        return Ok(Head::Not(Kind::Unknown));
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    if head[4] != 2 || head[5] != 1 || half(18) != 62 {
        return Ok(Head::Not(Kind::Foreign));
    }
    let table = u64::from_le_bytes(head[32..40].try_into().expect("8 bytes"));
    let (size, count) = (half(54) as usize, half(56) as usize);
    if !(56..=4096).contains(&size) {
        return Ok(Head::Not(Kind::Unknown));
    }
    f.seek(SeekFrom::Start(table))?;
    let mut headers = vec![0u8; size * count];
    if let Err(e) = f.read_exact(&mut headers) {
        // A file that was cut short is no program.
        return if e.kind() == io::ErrorKind::UnexpectedEof { Ok(Head::Not(Kind::Unknown)) } else { Err(e) };
    }
    Ok(Head::Headers(headers.chunks_exact(size).map(|h| h[..56].try_into().expect("56 bytes")).collect()))
}

fn is_interpreters(header: &[u8; 56]) -> bool {
    header[..4] == PT_INTERP.to_le_bytes()
}

/// Looks at the file's head.
pub fn kind(path: &Path) -> io::Result<Kind> {
    Ok(match head(&mut File::open(path)?)? {
        Head::Headers(all) if all.iter().any(is_interpreters) => Kind::Dynamic,
        Head::Headers(_) => Kind::Static,
        Head::Not(kind) => kind,
    })
}

/// The loader that a program asks for.
pub fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut f = File::open(path).ok()?;
    let Head::Headers(all) = head(&mut f).ok()? else { return None };
    let header = all.iter().find(|h| is_interpreters(h))?;
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    f.seek(SeekFrom::Start(word(8))).ok()?;
    let mut name = Vec::new();
    f.take(word(32).min(4096)).read_to_end(&mut name).ok()?;
    let name = name.split(|&b| b == 0).next()?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_dynamic_and_damaged_files_are_not_programs() {
        assert_eq!(kind(&std::env::current_exe().unwrap()).unwrap(), Kind::Dynamic);
        let own = std::env::current_exe().unwrap();
        assert_eq!(interpreter(&own), Some("/lib64/ld-linux-x86-64.so.2".into()));
        let dir = std::env::temp_dir().join(format!("promp-elf-{}", std::process::id()));
        std::fs::write(&dir, b"\x7fELF").unwrap();
        assert_eq!(kind(&dir).unwrap(), Kind::Unknown);
        std::fs::write(&dir, b"#!/bin/sh\n").unwrap();
        assert_eq!(kind(&dir).unwrap(), Kind::Script);
        let mut cut = b"\x7fELF\x02\x01".to_vec();
        cut.resize(64, 0xff);
        std::fs::write(&dir, cut).unwrap();
        assert_eq!(kind(&dir).unwrap(), Kind::Foreign);
        std::fs::remove_file(&dir).unwrap();
    }
}
