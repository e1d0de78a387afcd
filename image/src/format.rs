//! A generation's file: header, description, index; checksums over all of it, and over each page.

use super::about::Description;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// Bytes of a page and of a slot.
pub const PAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"prompckp";
/// Version of the format.
pub const VERSION: u32 = 4;
const HEADER: usize = 64;
/// The most pages of a row in the index: consecutive pages in consecutive slots.
const ROW: usize = 1 << 16;
/// Bits of a slot's number.
const SLOT_BITS: u32 = 48;

/// Pages from this number on, above all addresses, are parts of files: see [`file_pages`].
pub const FILES: u64 = 1 << 50;
const FILE_BITS: u32 = 28;
/// Bytes of the longest file whose content can be saved.
pub const LONGEST_FILE: u64 = (PAGE as u64) << FILE_BITS;

/// The numbers of the pages of a file of `length` bytes whose content has number `content`.
pub fn file_pages(content: u32, length: u64) -> Range<u64> {
    let first = FILES + (u64::from(content) << FILE_BITS);
    first..first + length.div_ceil(PAGE as u64)
}

/// Where in its file a page lies, in bytes.
pub fn file_offset(page: u64) -> u64 {
    (page & ((1 << FILE_BITS) - 1)) * PAGE as u64
}

/// One saved page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Address divided by [`PAGE`]; from [`FILES`] on: a page of a file.
    pub page: u64,
    /// Its slot in `pages`.
    pub slot: u64,
    /// Checksum of its content and of `page`.
    pub sum: u64,
}

/// A generation as read from its file.
#[derive(Debug)]
pub struct Generation {
    /// Its number.
    pub number: u64,
    /// What it is about.
    pub about: Description,
    /// Its pages, by address.
    pub index: Vec<Entry>,
}

/// The checksum of a page: of its content, moved by its number, so that another page's content is not taken
/// for its. (A hash with a seed would take a third longer.)
pub fn page_sum(page: u64, content: &[u8]) -> u64 {
    /// Odd: no two numbers give the same.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    sum(content) ^ page.wrapping_mul(SPREAD)
}

/// The checksum of anything else.
pub fn sum(content: &[u8]) -> u64 {
    XxHash3_64::oneshot(content)
}

/// [`sum`] of what comes piece by piece.
#[derive(Default)]
pub struct Sum(XxHash3_64);

impl Sum {
    /// More of it.
    pub fn add(&mut self, bytes: &[u8]) {
        core::hash::Hasher::write(&mut self.0, bytes);
    }

    /// The sum of all so far.
    pub fn value(&self) -> u64 {
        core::hash::Hasher::finish(&self.0)
    }
}

/// The bytes of a generation's file. The index is a list of rows, in the order of their pages: the first
/// page, its slot with the number of further pages above it (16 bits), the checksum of each page. All
/// numbers are little-endian words.
pub fn encode(number: u64, about: &Description, index: &[Entry]) -> Vec<u8> {
    let json = serde_json::to_vec(about).expect("plain data");
    let rows = || {
        index.chunk_by(|a, b| (a.page + 1, a.slot + 1) == (b.page, b.slot)).flat_map(|row| row.chunks(ROW))
    };
    let index_len = 8 * (index.len() + 2 * rows().count());
    let mut out = Vec::with_capacity(HEADER + json.len() + index_len);
    out.resize(HEADER, 0);
    out.extend_from_slice(&json);
    for row in rows() {
        out.extend_from_slice(&row[0].page.to_le_bytes());
        out.extend_from_slice(&(row[0].slot | (row.len() as u64 - 1) << SLOT_BITS).to_le_bytes());
        row.iter().for_each(|e| out.extend_from_slice(&e.sum.to_le_bytes()));
    }
    let index_sum = sum(&out[HEADER + json.len()..]);
    let words = [number, json.len() as u64, sum(&json), index_len as u64, index_sum];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&(PAGE as u32).to_le_bytes());
    for (i, w) in words.iter().enumerate() {
        out[16 + 8 * i..24 + 8 * i].copy_from_slice(&w.to_le_bytes());
    }
    let s = sum(&out[..HEADER - 8]);
    out[HEADER - 8..HEADER].copy_from_slice(&s.to_le_bytes());
    out
}

/// The index that `bytes` hold; see [`encode`].
fn decode_index(bytes: &[u8]) -> Option<Vec<Entry>> {
    let mut index = Vec::with_capacity(bytes.len() / 8);
    let mut words = bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")));
    while let Some(page) = words.next() {
        let (slot, more) = words.next().map(|w| (w & ((1 << SLOT_BITS) - 1), w >> SLOT_BITS))?;
        for i in 0..=more {
            index.push(Entry { page: page.checked_add(i)?, slot: slot + i, sum: words.next()? });
        }
    }
    Some(index)
}

/// Reads a generation's file; the error says what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<Generation, String> {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    if bytes.len() < HEADER {
        return Err(format!("truncated: {} bytes, a header has {HEADER}", bytes.len()));
    }
    if bytes[..8] != MAGIC {
        return Err("not an image of promp (the first bytes are wrong)".into());
    }
    if word(HEADER - 8) != sum(&bytes[..HEADER - 8]) {
        return Err("the header is damaged (checksum)".into());
    }
    let version = word(8) as u32;
    if version != VERSION || (word(8) >> 32) as usize != PAGE {
        return Err(format!(
            "format version {version}; this promp reads version {VERSION} with pages of {PAGE} bytes"
        ));
    }
    let (json_len, index_len) = (word(24) as usize, word(40) as usize);
    let want = index_len.checked_add(json_len).and_then(|n| n.checked_add(HEADER));
    if want != Some(bytes.len()) {
        return Err(format!("truncated: {} bytes, expected {}", bytes.len(), want.unwrap_or(usize::MAX)));
    }
    let (json, index) = bytes[HEADER..].split_at(json_len);
    if sum(json) != word(32) {
        return Err("the description is damaged (checksum)".into());
    }
    if sum(index) != word(48) {
        return Err("the index is damaged (checksum)".into());
    }
    let about = serde_json::from_slice(json).map_err(|e| format!("the description cannot be read: {e}"))?;
    let index = decode_index(index).ok_or("the index cannot be read")?;
    Ok(Generation { number: word(16), about, index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let about = Description { program: "/bin/true".into(), region: 3, ..Default::default() };
        let index: Vec<Entry> = (0..5).map(|i| Entry { page: 100 + i, slot: i, sum: i * 7 }).collect();
        encode(9, &about, &index)
    }

    #[test]
    fn pages_of_files_are_apart() {
        let a = file_pages(1, 2 * PAGE as u64 + 1);
        let b = file_pages(2, LONGEST_FILE);
        assert_eq!((a.end - a.start, file_offset(a.start), file_offset(a.end)), (3, 0, 3 * PAGE as u64));
        assert!(a.end < b.start && file_offset(b.end - 1) == LONGEST_FILE - PAGE as u64);
        assert!(FILES < a.start && b.end < u64::MAX / PAGE as u64);
    }

    #[test]
    fn what_is_written_is_read() {
        let g = decode(&sample()).unwrap();
        assert_eq!((g.number, g.about.region, g.index.len(), g.index[4].page), (9, 3, 5, 104));
    }

    /// Rows end where pages or slots do, and where they are as long as one can be.
    #[test]
    fn an_index_of_rows_is_read_as_it_was() {
        let entry = |page, slot| Entry { page, slot, sum: page ^ slot << 20 };
        let mut index: Vec<Entry> = (0..2 * ROW as u64 + 3).map(|i| entry(100 + i, 7 + i)).collect();
        index.extend(
            [(300_000, 5), (300_001, 4), (300_003, 300), (FILES + 1, 301), (FILES + 2, 302)]
                .map(|e| entry(e.0, e.1)),
        );
        let bytes = encode(1, &Description::default(), &index);
        assert_eq!(decode(&bytes).unwrap().index, index);
        let json = serde_json::to_vec(&Description::default()).unwrap().len();
        assert_eq!(bytes.len(), HEADER + json + 8 * (index.len() + 2 * 7));
        // Checksums are right, what they are about is not.
        for index in [&[1u64][..], &[1, 2], &[1, 2 | 1 << SLOT_BITS, 3], &[u64::MAX, 1 << SLOT_BITS, 3, 4]] {
            let bytes: Vec<u8> = index.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert!(decode_index(&bytes).is_none(), "{index:?}");
        }
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let good = sample();
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "byte {i} bit {bit}");
            }
            assert!(decode(&good[..i]).is_err(), "{i}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            mut v in proptest::collection::vec(any::<u8>(), 0..300),
            header in any::<bool>(),
        ) {
            if header && v.len() >= HEADER {
                v[..8].copy_from_slice(&MAGIC);
                let s = sum(&v[..HEADER - 8]);
                v[HEADER - 8..HEADER].copy_from_slice(&s.to_le_bytes());
            }
            let _ = decode(&v);
        }
    }
}
