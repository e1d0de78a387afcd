//! What a program's variables hold in a checkpoint, as NumPy's `load` reads it: a ZIP archive of arrays,
//! each in the format of NEP 1 (numpy.lib.format).

use super::Stop;
use super::saved_memory::Memory;
use super::types::Shape;
use super::variables::{self, Variable};
use promp_image::{Directory, Generation};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes all variables; returns what there is, in words.
pub fn write(d: &Directory, g: &Generation, to: &File) -> Result<String, Stop> {
    let memory = Memory::new(d, g);
    let found = variables::all(&memory).map_err(Stop::Page)?;
    let is_dead = |v: &Variable| {
        let end = v.address + v.shape.bytes() as u64;
        g.about.dead.iter().any(|r| v.address < r.1 as u64 && (r.0 as u64) < end)
    };
    let (dead, live): (Vec<_>, Vec<_>) = found.variables.into_iter().partition(is_dead);
    if live.is_empty() {
        let why = match (found.modules, dead.is_empty()) {
            (0, _) => "no file of the program's has debug information: build it with -g",
            (_, true) => "the program has no static variables of arithmetic types",
            _ => "all static variables were dead where the checkpoint was taken",
        };
        return Err(Stop::None(format!("there is nothing to export: {why}")));
    }
    let mut zip = ZipWriter::new(BufWriter::new(to));
    let zipped = |e: zip::result::ZipError| Stop::Write(io::Error::other(e));
    let mut names: HashMap<String, u32> = HashMap::new();
    let mut piece = vec![0u8; 1 << 20];
    for v in &live {
        // Of one name in several files the first one has it as it is.
        let n = names.entry(v.name.clone()).or_insert(0);
        *n += 1;
        let name = if *n == 1 { v.name.clone() } else { format!("{}@{n}", v.name) };
        let bytes = v.shape.bytes();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes as u64 > u64::from(u32::MAX / 2));
        zip.start_file(format!("{name}.npy"), options).map_err(zipped)?;
        zip.write_all(&header(&v.shape))?;
        let mut at = 0;
        while at < bytes {
            let n = piece.len().min(bytes - at);
            memory.read(v.address + at as u64, &mut piece[..n]).map_err(Stop::Page)?;
            zip.write_all(&piece[..n])?;
            at += n;
        }
    }
    zip.finish().map_err(zipped)?.flush()?;
    let left = match dead.len() {
        0 => String::new(),
        n => format!(" ({n} that were dead are left out)"),
    };
    Ok(format!("{} variables{left}", live.len()))
}

/// What stands in front of an array's elements.
fn header(s: &Shape) -> Vec<u8> {
    let order = if s.by_columns { "True" } else { "False" };
    let dimensions: String = s.dimensions.iter().map(|n| format!("{n},")).collect();
    let text =
        format!("{{'descr': {}, 'fortran_order': {order}, 'shape': ({dimensions}), }}", s.element.text());
    // Version 1 has two bytes for the length, version 2 four; the elements begin at a multiple of 64.
    let version = if text.len() + 128 < usize::from(u16::MAX) { 1 } else { 2 };
    let before = 6 + 2 + 2 * version;
    let length = (before + text.len() + 1).next_multiple_of(64) - before;
    let mut out = b"\x93NUMPY".to_vec();
    out.extend_from_slice(&[version as u8, 0]);
    out.extend_from_slice(&(length as u32).to_le_bytes()[..2 * version]);
    out.extend_from_slice(text.as_bytes());
    out.resize(before + length - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::super::types::Element;
    use super::*;

    #[test]
    fn headers_are_aligned_and_say_the_shape() {
        let double = Element::Number('f', 8);
        let s = Shape { element: double, dimensions: vec![3, 4], by_columns: true };
        let h = header(&s);
        assert_eq!((h.len() % 64, h[h.len() - 1], &h[..8]), (0, b'\n', &b"\x93NUMPY\x01\0"[..]));
        let text = String::from_utf8_lossy(&h[10..]);
        assert!(text.starts_with("{'descr': '<f8', 'fortran_order': True, 'shape': (3,4,), }"), "{text}");
        assert_eq!(s.bytes(), 96);
    }
}
