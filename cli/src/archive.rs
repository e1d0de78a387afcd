//! One file that holds a checkpoint: what `promp export` writes and `promp import` reads.
//!
//! ```text
//! header   "prompexp", version, 0 (4 bytes each), generation, what the files take on a disk ([`on_disk`]),
//!          checksum of what is before it (8 bytes each)
//! stream   compressed by zstd; files one after the other: length of the name (2 bytes), the name, length
//!          of the content (8 bytes), the content; at the end a name of no bytes, and the checksum of all
//!          before it. The content of `link/NAME` is what the symbolic link NAME leads to
//! ```
//!
//! Numbers are little-endian, checksums XXH3. The files are those of a checkpoint directory with one
//! generation: `pages` has its pages only, in the order of its index. Nothing in the file is trusted
//! before its checksum has been compared: names are looked at, lengths are read for, not allocated.

use promp_image::Sum;
use std::io::{self, BufReader, Read, Write};

const MAGIC: [u8; 8] = *b"prompexp";
/// Version of the format.
pub const VERSION: u32 = 3;
const HEADER: usize = 40;
/// The longest name of a file.
const LONGEST: usize = 64;
/// Compression: fast, and most of what there is to win.
const LEVEL: i32 = 3;

/// Why an archive is not read.
#[derive(Debug)]
pub enum Problem {
    /// It is not one, it is damaged, or of another version.
    Bad(String),
    /// The system refuses.
    System(io::Error),
}

impl From<io::Error> for Problem {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::UnexpectedEof => Self::Bad("it is truncated".into()),
            // What the decompressor cannot make sense of.
            io::ErrorKind::Other | io::ErrorKind::InvalidData => Self::Bad(format!("it is damaged ({e})")),
            _ => Self::System(e),
        }
    }
}

/// What a file of `length` bytes takes on a disk, with its name.
pub fn on_disk(length: u64) -> u64 {
    const BLOCK: u64 = 4096;
    length.checked_next_multiple_of(BLOCK).map_or(u64::MAX, |n| n.saturating_add(BLOCK))
}

/// Where symbolic links are.
pub const LINKS: &str = "link/";
/// The longest text of one, with a zero byte (Linux).
const LONGEST_LINK: u64 = libc::PATH_MAX as u64;

/// May a file of this name be in an archive of generation `number`?
pub fn is_named(name: &str, number: u64) -> bool {
    let numbers = |rest: &str| {
        !rest.is_empty() && rest.split('-').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    if let Some(link) = name.strip_prefix(LINKS) {
        return link.strip_prefix("undo-").is_some_and(|n| n.contains('-') && numbers(n));
    }
    name == "pages"
        || name == "state"
        || name.strip_prefix("gen-").is_some_and(|n| n == number.to_string())
        || name.strip_prefix("files/").is_some_and(promp_image::kept::is_name)
        || ["undo-", "sent-"].iter().any(|p| name.strip_prefix(p).is_some_and(numbers))
}

/// Writes one.
pub struct Writer<W: Write> {
    stream: zstd::Encoder<'static, W>,
    sum: Sum,
}

impl<W: Write> Writer<W> {
    /// Begins the archive of generation `number`, whose files will take `room` bytes on a disk.
    pub fn new(mut to: W, number: u64, room: u64) -> io::Result<Self> {
        let mut header = [0u8; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..24].copy_from_slice(&number.to_le_bytes());
        header[24..32].copy_from_slice(&room.to_le_bytes());
        let sum = promp_image::sum(&header[..32]);
        header[32..].copy_from_slice(&sum.to_le_bytes());
        to.write_all(&header)?;
        Ok(Self { stream: zstd::Encoder::new(to, LEVEL)?, sum: Sum::default() })
    }

    /// A file of `length` bytes follows: [`Writer::content`] gets them.
    pub fn file(&mut self, name: &str, length: u64) -> io::Result<()> {
        self.content(&(name.len() as u16).to_le_bytes())?;
        self.content(name.as_bytes())?;
        self.content(&length.to_le_bytes())
    }

    /// Some bytes of a file.
    pub fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.stream.write_all(bytes)
    }

    /// All is written.
    pub fn finish(mut self) -> io::Result<W> {
        self.content(&0u16.to_le_bytes())?;
        let sum = self.sum.value();
        self.stream.write_all(&sum.to_le_bytes())?;
        self.stream.finish()
    }
}

/// Reads one.
pub struct Reader<R: Read> {
    stream: zstd::Decoder<'static, BufReader<R>>,
    sum: Sum,
    /// The generation.
    pub number: u64,
    /// What all files that have not been read take on a disk.
    pub room: u64,
    /// Bytes of the current file that have not been read.
    left: u64,
}

impl<R: Read> Reader<R> {
    /// Looks at the header.
    pub fn new(mut from: R) -> Result<Self, Problem> {
        let bad = |why: &str| Problem::Bad(why.into());
        let mut header = [0u8; HEADER];
        from.read_exact(&mut header[..8])?;
        if header[..8] != MAGIC {
            return Err(bad("it is not a file that `promp export` has written"));
        }
        from.read_exact(&mut header[8..])?;
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("8 bytes"));
        let version = word(8) as u32;
        if version != VERSION {
            let which = if version > VERSION { "newer" } else { "older" };
            return Err(Problem::Bad(format!(
                "it is of a {which} format, version {version}; this promp reads version {VERSION}"
            )));
        }
        if word(32) != promp_image::sum(&header[..32]) {
            return Err(bad("its header is damaged (checksum)"));
        }
        let stream = zstd::Decoder::new(from)?;
        Ok(Self { stream, sum: Sum::default(), number: word(16), room: word(24), left: 0 })
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), Problem> {
        self.stream.read_exact(bytes)?;
        self.sum.add(bytes);
        Ok(())
    }

    /// The next file's name and length; `None`: there is no other, and all that was read is as it was
    /// written.
    pub fn next_file(&mut self) -> Result<Option<(String, u64)>, Problem> {
        let (mut two, mut eight) = ([0; 2], [0; 8]);
        self.exact(&mut two)?;
        let length = usize::from(u16::from_le_bytes(two));
        if length == 0 {
            let sum = self.sum.value();
            self.stream.read_exact(&mut eight)?;
            if u64::from_le_bytes(eight) != sum {
                return Err(Problem::Bad("it is damaged (checksum)".into()));
            }
            // Behind the end there is nothing.
            return match self.stream.read(&mut [0])? {
                0 => Ok(None),
                _ => Err(Problem::Bad("it is damaged (something follows its end)".into())),
            };
        }
        if length > LONGEST {
            return Err(Problem::Bad("it is damaged (the name of a file is too long)".into()));
        }
        let mut name = vec![0; length];
        self.exact(&mut name)?;
        self.exact(&mut eight)?;
        self.left = u64::from_le_bytes(eight);
        match self.room.checked_sub(on_disk(self.left)) {
            Some(rest) => self.room = rest,
            None => return Err(Problem::Bad("it is damaged (it holds more than its header says)".into())),
        }
        match String::from_utf8(name).ok().filter(|n| is_named(n, self.number)) {
            Some(name) if name.starts_with(LINKS) && self.left >= LONGEST_LINK => {
                Err(Problem::Bad(format!("it is damaged ({name} leads nowhere)")))
            }
            Some(name) => Ok(Some((name, self.left))),
            None => Err(Problem::Bad("it is damaged (the name of a file)".into())),
        }
    }

    /// Some bytes of the file, none at its end.
    pub fn content(&mut self, bytes: &mut [u8]) -> Result<usize, Problem> {
        let n = self.left.min(bytes.len() as u64) as usize;
        self.exact(&mut bytes[..n])?;
        self.left -= n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &[u8]); 3] = [("pages", &[9u8; 5000]), ("undo-3-1", b"abc"), ("gen-7", b"")];

    fn written() -> Vec<u8> {
        let mut w = Writer::new(Vec::new(), 7, 7 * 4096).unwrap();
        for (name, content) in FILES {
            w.file(name, content.len() as u64).unwrap();
            w.content(content).unwrap();
        }
        w.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Problem> {
        let mut r = Reader::new(bytes)?;
        let mut all = Vec::new();
        while let Some((name, _)) = r.next_file()? {
            let (mut content, mut piece) = (Vec::new(), [0; 700]);
            loop {
                match r.content(&mut piece)? {
                    0 => break,
                    n => content.extend_from_slice(&piece[..n]),
                }
            }
            all.push((name, content));
        }
        Ok(all)
    }

    #[test]
    fn what_is_written_is_read() {
        let all = read(&written()).unwrap();
        let names: Vec<_> = all.iter().map(|(n, c)| (n.as_str(), c.len())).collect();
        assert_eq!(names, [("pages", 5000), ("undo-3-1", 3), ("gen-7", 0)]);
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let good = written();
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                // A bit of the compressed stream that means nothing changes nothing.
                let same = |r: Vec<(String, Vec<u8>)>| r == read(&good).unwrap();
                assert!(read(&bad).is_err() || read(&bad).is_ok_and(same), "byte {i} bit {bit}");
            }
            assert!(read(&good[..i]).is_err(), "{i}");
        }
        assert!(read(&[&good[..], &good[..]].concat()).is_err());
    }

    #[test]
    fn it_holds_no_more_than_it_says() {
        let needed: u64 = FILES.iter().map(|f| on_disk(f.1.len() as u64)).sum();
        assert_eq!(
            (needed, on_disk(u64::MAX), on_disk(u64::MAX - 10_000)),
            (6 * 4096, u64::MAX, u64::MAX - 4095)
        );
        for (room, fits) in [(0, false), (needed - 1, false), (needed, true), (u64::MAX, true)] {
            let mut bytes = written();
            bytes[24..32].copy_from_slice(&room.to_le_bytes());
            let sum = promp_image::sum(&bytes[..32]);
            bytes[32..40].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(read(&bytes).is_ok(), fits, "{room}");
        }
    }

    #[test]
    fn a_newer_format_is_named() {
        let mut bytes = written();
        bytes[8] = VERSION as u8 + 1;
        let Err(Problem::Bad(why)) = read(&bytes) else { panic!() };
        assert!(why.contains("newer format, version 4"), "{why}");
    }

    #[test]
    fn names_stay_in_the_directory() {
        for bad in [
            "",
            ".",
            "../x",
            "gen-8",
            "gen-",
            "undo-",
            "undo-1-",
            "sent-x",
            "lock",
            "pages/",
            "/etc",
            "files/x",
            "files/../x",
            "link/",
            "link/pages",
            "link/undo-3",
            "link/link/undo-3-4",
            "link/../undo-3-4",
        ] {
            assert!(!is_named(bad, 7), "{bad}");
        }
        let copy = "files/0123456789abcdef-1f";
        assert!(
            ["pages", "state", "gen-7", "undo-12", "undo-3-4", "link/undo-3-4", "sent-0", copy]
                .iter()
                .all(|n| is_named(n, 7))
        );
    }
}
