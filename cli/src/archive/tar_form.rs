//! The form of archives: a tar in zstd (mod.rs says what is in it).

use super::{Content, Head, LONGEST, NOT_ONE, Problem, Taker};
use promp_image::Sum;
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::time::SystemTime;

/// Version of the format.
pub(super) const FORMAT: u64 = 4;
const HEAD: &str = "promp.json";
const SUMS: &str = "sums";
/// The head is no longer.
const LONGEST_HEAD: u64 = 4096;
/// Compression: fast, and most of what there is to win.
const LEVEL: i32 = 3;
/// What a tar is made of.
const BLOCK: usize = 512;
/// Programs fill the end of a tar up to this.
const LONGEST_END: u64 = 20 * BLOCK as u64;

/// A line of the sums.
fn line(name: &str, sum: &Sum) -> String {
    format!("XXH3_{:016x}  {name}\n", sum.value())
}

/// Writes one.
pub struct Writer<W: Write> {
    stream: zstd::Encoder<'static, W>,
    when: u64,
    /// The file that is being written, and how many bytes it has so far.
    file: Option<(String, Sum, u64)>,
    sums: String,
}

impl<W: Write> Writer<W> {
    /// Begins the archive of generation `number`, whose files will take `room` bytes on a disk.
    pub fn new(to: W, number: u64, room: u64) -> io::Result<Self> {
        let mut stream = zstd::Encoder::new(to, LEVEL)?;
        stream.include_checksum(true)?;
        let when = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_secs());
        let mut new = Self { stream, when, file: None, sums: String::new() };
        let head = json!({ "format": FORMAT, "generation": number, "room": room }).to_string() + "\n";
        new.file(HEAD, head.len() as u64)?;
        new.content(head.as_bytes())?;
        Ok(new)
    }

    /// A file of `length` bytes follows: [`Writer::content`] gets them.
    pub fn file(&mut self, name: &str, length: u64) -> io::Result<()> {
        self.close()?;
        let mut header = tar::Header::new_gnu();
        header.set_path(name)?;
        header.set_size(length);
        header.set_mode(0o600);
        header.set_mtime(self.when);
        header.set_cksum();
        self.stream.write_all(header.as_bytes())?;
        self.file = Some((name.to_owned(), Sum::default(), 0));
        Ok(())
    }

    /// Some bytes of the file.
    pub fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((_, sum, length)) = &mut self.file {
            sum.add(bytes);
            *length += bytes.len() as u64;
        }
        self.stream.write_all(bytes)
    }

    /// The file is written: what fills its last block.
    fn close(&mut self) -> io::Result<()> {
        let Some((name, sum, length)) = self.file.take() else { return Ok(()) };
        self.sums += &line(&name, &sum);
        let over = (length % BLOCK as u64) as usize;
        self.stream.write_all(&[0; BLOCK][..(BLOCK - over) % BLOCK])
    }

    /// All is written.
    pub fn finish(mut self) -> io::Result<W> {
        self.close()?;
        let sums = std::mem::take(&mut self.sums);
        self.file(SUMS, sums.len() as u64)?;
        self.content(sums.as_bytes())?;
        self.close()?;
        self.stream.write_all(&[0; 2 * BLOCK])?;
        self.stream.finish()
    }
}

/// Reads one.
pub(super) fn read<T: Taker>(
    from: impl Read,
    begin: impl FnOnce(Head) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(from)?);
    let mut sums = String::new();
    // Raw: what stands for the name or the length of the next file is a file like others, and none of ours.
    let mut entries = archive.entries()?.raw(true);
    let mut next = || match entries.next() {
        Some(entry) => Ok(entry?),
        None => Err(Problem::Bad("it is truncated".into())),
    };
    let mut head = head(&mut next()?, &mut sums)?;
    let mut to = begin(head)?;
    loop {
        let mut entry = next()?;
        let (name, length) = (name(&entry)?, entry.size());
        if name == SUMS.as_bytes() {
            compare(&mut entry, &sums)?;
            break;
        }
        let name = head.admit(&name, length)?;
        let mut sum = Sum::default();
        to.file(&name, length, &mut Content { from: &mut entry, left: length, seen: |b: &[u8]| sum.add(b) })?;
        sums += &line(&name, &sum);
    }
    match entries.next() {
        Some(_) => Err(Problem::damaged(FOLLOWED)),
        None => ends(archive.into_inner()).map(|()| to),
    }
}

const FOLLOWED: &str = "something follows its end";

/// What the archive says of itself, in its first file.
fn head(entry: &mut tar::Entry<impl Read>, sums: &mut String) -> Result<Head, Problem> {
    let not_one = || Problem::Bad(NOT_ONE.into());
    let length = entry.size();
    if name(entry)? != HEAD.as_bytes() || length > LONGEST_HEAD {
        return Err(not_one());
    }
    let mut text = Vec::new();
    let mut sum = Sum::default();
    Content { from: entry, left: length, seen: |b: &[u8]| sum.add(b) }.read_to_end(&mut text)?;
    *sums += &line(HEAD, &sum);
    let text: Value = serde_json::from_slice(&text).map_err(|_| not_one())?;
    match text["format"].as_u64() {
        Some(FORMAT) => {}
        Some(other) => return Err(Problem::other_format(other)),
        None => return Err(not_one()),
    }
    match (text["generation"].as_u64(), text["room"].as_u64()) {
        (Some(number), Some(room)) => Ok(Head { number, room }),
        _ => Err(Problem::damaged("its first file")),
    }
}

/// The name of an entry, which is a regular file.
fn name(entry: &tar::Entry<impl Read>) -> Result<Vec<u8>, Problem> {
    let name = entry.path_bytes();
    match entry.header().entry_type() {
        tar::EntryType::Regular if name.len() <= LONGEST => Ok(name.into_owned()),
        tar::EntryType::Regular => Err(Problem::damaged("the name of a file is too long")),
        _ => Err(Problem::damaged("it holds something else than files")),
    }
}

/// The sums of all that was read are those that were written.
fn compare(entry: &mut tar::Entry<impl Read>, sums: &str) -> Result<(), Problem> {
    let mut written = Vec::new();
    if entry.size() == sums.len() as u64 {
        entry.read_to_end(&mut written)?;
    }
    match written == sums.as_bytes() {
        true => Ok(()),
        false => Err(Problem::damaged("checksum")),
    }
}

/// Behind the end there is nothing but what fills it up.
fn ends(rest: impl Read) -> Result<(), Problem> {
    let mut end = Vec::new();
    rest.take(LONGEST_END + 1).read_to_end(&mut end)?;
    match end.len() as u64 <= LONGEST_END && end.iter().all(|b| *b == 0) {
        true => Ok(()),
        false => Err(Problem::damaged(FOLLOWED)),
    }
}
