//! What the loader would make of a program: the few facts of its ELF header that decide whether LD_PRELOAD reaches it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

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

/// Looks at the file's head.
pub fn kind(path: &Path) -> io::Result<Kind> {
    let mut f = File::open(path)?;
    let mut head = [0u8; 64];
    let mut n = 0;
    while n < head.len() {
        match f.read(&mut head[n..])? {
            0 => break,
            k => n += k,
        }
    }
    if head.starts_with(b"#!") {
        return Ok(Kind::Script);
    }
    if n < 64 || !head.starts_with(b"\x7fELF") {
        return Ok(Kind::Unknown);
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    if head[4] != 2 || head[5] != 1 || half(18) != 62 {
        return Ok(Kind::Foreign);
    }
    let table = u64::from_le_bytes(head[32..40].try_into().expect("8 bytes"));
    let (size, count) = (half(54) as usize, half(56) as usize);
    if !(4..=4096).contains(&size) {
        return Ok(Kind::Unknown);
    }
    f.seek(SeekFrom::Start(table))?;
    let mut headers = vec![0u8; size * count];
    f.read_exact(&mut headers)?;
    const PT_INTERP: u32 = 3;
    let dynamic =
        headers.chunks_exact(size).any(|h| u32::from_le_bytes([h[0], h[1], h[2], h[3]]) == PT_INTERP);
    Ok(if dynamic { Kind::Dynamic } else { Kind::Static })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_dynamic_and_damaged_files_are_not_programs() {
        assert_eq!(kind(&std::env::current_exe().unwrap()).unwrap(), Kind::Dynamic);
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
