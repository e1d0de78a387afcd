//! The form of archives before they were tars: it is read, and not written.
//!
//! ```text
//! header   "prompexp", version, 0 (4 bytes each), generation, what the files take on a disk, checksum of
//!          what is before it (8 bytes each)
//! stream   compressed by zstd; files one after the other: length of the name (2 bytes), the name, length
//!          of the content (8 bytes), the content; at the end a name of no bytes, and the checksum of all
//!          before it
//! ```
//!
//! Numbers are little-endian, checksums XXH3.

use super::{Content, Head, LONGEST, Problem, Taker};
use promp_image::Sum;
use std::io::Read;

pub(super) const MAGIC: [u8; 8] = *b"prompexp";
/// Version of the format.
pub(super) const FORMAT: u64 = 3;
const HEADER: usize = 40;

/// Reads one.
pub(super) fn read<T: Taker>(
    mut from: impl Read,
    begin: impl FnOnce(Head) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut header = [0u8; HEADER];
    from.read_exact(&mut header)?;
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
    let version = u64::from(word(8) as u32);
    if version != FORMAT {
        return Err(Problem::other_format(version));
    }
    if word(32) != promp_image::sum(&header[..32]) {
        return Err(Problem::Bad("its header is damaged (checksum)".into()));
    }
    let mut head = Head { number: word(16), room: word(24) };
    let mut to = begin(head)?;
    let (mut stream, mut sum) = (zstd::Decoder::new(from)?, Sum::default());
    while let Some((name, length)) = next_file(&mut stream, &mut sum, &mut head)? {
        to.file(
            &name,
            length,
            &mut Content { from: &mut stream, left: length, seen: |b: &[u8]| sum.add(b) },
        )?;
    }
    let mut written = [0; 8];
    stream.read_exact(&mut written)?;
    if u64::from_le_bytes(written) != sum.value() {
        return Err(Problem::damaged("checksum"));
    }
    // Behind the end there is nothing.
    match stream.read(&mut [0])? {
        0 => Ok(to),
        _ => Err(Problem::damaged("something follows its end")),
    }
}

/// The next file's name and length; `None`: there is no other.
fn next_file(
    stream: &mut impl Read,
    sum: &mut Sum,
    head: &mut Head,
) -> Result<Option<(String, u64)>, Problem> {
    let (mut two, mut eight) = ([0; 2], [0; 8]);
    let mut exact = |bytes: &mut [u8]| {
        stream.read_exact(bytes)?;
        sum.add(bytes);
        Ok::<_, Problem>(())
    };
    exact(&mut two)?;
    let length = usize::from(u16::from_le_bytes(two));
    if length == 0 {
        return Ok(None);
    }
    if length > LONGEST {
        return Err(Problem::damaged("the name of a file is too long"));
    }
    let mut name = vec![0; length];
    exact(&mut name)?;
    exact(&mut eight)?;
    let length = u64::from_le_bytes(eight);
    Ok(Some((head.admit(&name, length)?, length)))
}
