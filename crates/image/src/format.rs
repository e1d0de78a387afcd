//! A generation's file: header, description, index; checksums over all of it, and over each page.

use super::about::Description;
use std::ops::Range;
use twox_hash::XxHash3_64;

/// Bytes of a page and of a slot.
pub const PAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"prompckp";
/// Versions of the format: [`Sums::Inside`], [`Sums::Aside`].
const VERSIONS: [u32; 2] = [4, 5];
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

/// Where the checksums of a generation's pages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// In its file, which needs no other one then: version 4, of checkpoints that are exported, and of
    /// older ones.
    Inside,
    /// In the file of sums, which has a word for each slot: version 5. The generation's file has one over
    /// those of each row of pages. So pages that stay as they are take nothing in the next generation.
    Aside,
}

/// The bytes of a generation's file. The index is a list of rows, in the order of their pages: the first
/// page, its slot with the number of further pages above it (16 bits), the checksum of each page, or one
/// over these ([`Sums`]). All numbers are little-endian words.
pub fn encode(number: u64, about: &Description, index: &[Entry], sums: Sums) -> Vec<u8> {
    let json = serde_json::to_vec(about).expect("plain data");
    let rows = || {
        index.chunk_by(|a, b| (a.page + 1, a.slot + 1) == (b.page, b.slot)).flat_map(|row| row.chunks(ROW))
    };
    let words = |row: &[Entry]| if sums == Sums::Aside { 3 } else { 2 + row.len() };
    let index_len = 8 * rows().map(words).sum::<usize>();
    let mut out = Vec::with_capacity(HEADER + json.len() + index_len);
    out.resize(HEADER, 0);
    out.extend_from_slice(&json);
    for row in rows() {
        out.extend_from_slice(&row[0].page.to_le_bytes());
        out.extend_from_slice(&(row[0].slot | (row.len() as u64 - 1) << SLOT_BITS).to_le_bytes());
        match sums {
            Sums::Inside => row.iter().for_each(|e| out.extend_from_slice(&e.sum.to_le_bytes())),
            Sums::Aside => out.extend_from_slice(&sum_of_sums(row.iter().map(|e| e.sum)).to_le_bytes()),
        }
    }
    let index_sum = sum(&out[HEADER + json.len()..]);
    let words = [number, json.len() as u64, sum(&json), index_len as u64, index_sum];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSIONS[usize::from(sums == Sums::Aside)].to_le_bytes());
    out[12..16].copy_from_slice(&(PAGE as u32).to_le_bytes());
    for (i, w) in words.iter().enumerate() {
        out[16 + 8 * i..24 + 8 * i].copy_from_slice(&w.to_le_bytes());
    }
    let s = sum(&out[..HEADER - 8]);
    out[HEADER - 8..HEADER].copy_from_slice(&s.to_le_bytes());
    out
}

/// The words that `bytes` hold.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")))
}

/// The checksum over those of a row.
fn sum_of_sums(row: impl Iterator<Item = u64>) -> u64 {
    let mut all = Sum::default();
    row.for_each(|s| all.add(&s.to_le_bytes()));
    all.value()
}

/// Gives the checksums of so many pages from a slot on; see [`Sums::Aside`].
pub(crate) type Aside<'a> = &'a mut dyn FnMut(u64, usize) -> Result<Vec<u64>, String>;

/// The index that `bytes` hold; see [`encode`].
fn decode_index(bytes: &[u8], mut aside: Option<Aside>) -> Result<Vec<Entry>, String> {
    let odd = || String::from("the index cannot be read");
    let mut index = Vec::with_capacity(bytes.len() / 8);
    let mut words = words(bytes);
    while let Some(page) = words.next() {
        let (slot, pages) = words
            .next()
            .map(|w| (w & ((1 << SLOT_BITS) - 1), (w >> SLOT_BITS) as usize + 1))
            .ok_or_else(odd)?;
        page.checked_add(pages as u64 - 1).ok_or_else(odd)?;
        let mut add = |i: usize, sum| index.push(Entry { page: page + i as u64, slot: slot + i as u64, sum });
        let Some(aside) = &mut aside else {
            for i in 0..pages {
                add(i, words.next().ok_or_else(odd)?);
            }
            continue;
        };
        let whole = words.next().ok_or_else(odd)?;
        let sums = aside(slot, pages)?;
        if sums.len() != pages || sum_of_sums(sums.iter().copied()) != whole {
            let end = slot + pages as u64 - 1;
            return Err(format!(
                "the checksums of the pages in slots {slot} to {end} are damaged (checksum)"
            ));
        }
        sums.into_iter().enumerate().for_each(|(i, s)| add(i, s));
    }
    Ok(index)
}

/// Reads a generation's file; the error says what is wrong with it. `aside` is asked for checksums that
/// are not in it.
pub fn decode(bytes: &[u8], aside: Aside) -> Result<Generation, String> {
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
    if !VERSIONS.contains(&version) || (word(8) >> 32) as usize != PAGE {
        let [a, b] = VERSIONS;
        return Err(format!(
            "format version {version}; this promp reads versions {a} and {b} with pages of {PAGE} bytes"
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
    let index = decode_index(index, (version == VERSIONS[1]).then_some(aside))?;
    Ok(Generation { number: word(16), about, index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: [Sums; 2] = [Sums::Inside, Sums::Aside];

    fn index() -> Vec<Entry> {
        (0..5).map(|i| Entry { page: 100 + i, slot: i, sum: i * 7 }).collect()
    }

    fn sample(sums: Sums) -> Vec<u8> {
        let about = Description { program: "/bin/true".into(), region: 3, ..Default::default() };
        encode(9, &about, &index(), sums)
    }

    /// Reads it, with the checksums of `of` aside.
    fn decoded(bytes: &[u8], of: &[Entry]) -> Result<Generation, String> {
        let sum = |slot| of.iter().find(|e| e.slot == slot).map(|e| e.sum).ok_or_else(|| "none".to_string());
        decode(bytes, &mut |slot, n| (slot..slot + n as u64).map(sum).collect())
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
        for sums in BOTH {
            let g = decoded(&sample(sums), &index()).unwrap();
            assert_eq!((g.number, g.about.region, g.index), (9, 3, index()));
        }
        // What needs no other file does not ask for it.
        decode(&sample(Sums::Inside), &mut |_, _| unreachable!()).unwrap();
    }

    /// Rows end where pages or slots do, and where they are as long as one can be.
    #[test]
    fn an_index_of_rows_is_read_as_it_was() {
        let entry = |page, slot| Entry { page, slot, sum: page ^ slot << 20 };
        let mut index: Vec<Entry> = (0..2 * ROW as u64 + 3).map(|i| entry(100 + i, 7 + i)).collect();
        index.extend(
            [(300_000, 5), (300_001, 4), (300_003, 200_300), (FILES + 1, 200_301), (FILES + 2, 200_302)]
                .map(|e| entry(e.0, e.1)),
        );
        let json = serde_json::to_vec(&Description::default()).unwrap().len();
        for (sums, words) in BOTH.into_iter().zip([index.len() + 2 * 7, 3 * 7]) {
            let bytes = encode(1, &Description::default(), &index, sums);
            let mut by_slot: Vec<Entry> = index.clone();
            by_slot.sort_by_key(|e| e.slot);
            let aside = &mut |slot: u64, n| {
                let first = by_slot.partition_point(|e| e.slot < slot);
                Ok(by_slot[first..first + n].iter().map(|e| e.sum).collect())
            };
            assert_eq!(decode(&bytes, aside).map(|g| g.index).as_ref(), Ok(&index), "{sums:?}");
            assert_eq!(bytes.len(), HEADER + json + 8 * words);
        }
        // Checksums are right, what they are about is not.
        for index in [&[1u64][..], &[1, 2], &[1, 2 | 1 << SLOT_BITS, 3], &[u64::MAX, 1 << SLOT_BITS, 3, 4]] {
            let bytes: Vec<u8> = index.iter().flat_map(|w| w.to_le_bytes()).collect();
            assert!(decode_index(&bytes, None).is_err(), "{index:?}");
            assert!(decode_index(&bytes, Some(&mut |_, n| Ok(vec![0; n]))).is_err(), "{index:?}");
        }
    }

    /// Checksums aside that are another generation's, too few, or cannot be read.
    #[test]
    fn checksums_of_other_pages_are_noticed() {
        let good = sample(Sums::Aside);
        for i in 0..5 {
            let mut other = index();
            other[i].sum += 1;
            let why = decoded(&good, &other).unwrap_err();
            assert!(why.contains("slots 0 to 4 are damaged (checksum)"), "{why}");
        }
        assert!(decode(&good, &mut |_, n| Ok(vec![0; n - 1])).is_err());
        assert_eq!(decoded(&good, &index()[..4]).unwrap_err(), "none");
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        for good in BOTH.map(sample) {
            for i in 0..good.len() {
                for bit in 0..8 {
                    let mut bad = good.clone();
                    bad[i] ^= 1 << bit;
                    assert!(decoded(&bad, &index()).is_err(), "byte {i} bit {bit}");
                }
                assert!(decoded(&good[..i], &index()).is_err(), "{i}");
            }
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
            let _ = decoded(&v, &index());
        }
    }
}
