//! What a file has taken of a piece that was being written to its end when the process died: it can be asked.
//! System calls and memory of the stack only.

use std::os::fd::RawFd;

/// Bytes compared at once.
const PART: usize = 1024;
/// A process that is killed while it writes stops at the end of a page.
const PAGE: u64 = 4096;

/// A piece of memory, which may not be there.
pub struct Piece<'a> {
    /// Its length.
    pub len: usize,
    /// Reads what it has at a place; false if that is not possible.
    pub read: &'a dyn Fn(usize, &mut [u8]) -> bool,
}

impl Piece<'_> {
    /// Looks for the piece, which goes out by one call, in `file` from place `from` on; others may have
    /// written there meanwhile. Returns how many of its bytes are there, and where they end.
    pub fn taken(&self, file: RawFd, from: u64) -> Option<(usize, u64)> {
        let (mut first, mut text) = ([0u8; 1], [0u8; PART]);
        let mut place = from;
        while self.len > 0 && (self.read)(0, &mut first) {
            let part = part_of(file, place, &mut text);
            let found = |i: &usize| part[*i] == first[0] && self.common(file, place + *i as u64) == self.len;
            if let Some(i) = (0..part.len()).find(found) {
                return Some((self.len, place + (i + self.len) as u64));
            }
            place += part.len() as u64;
            if part.is_empty() {
                break;
            }
        }
        let n = self.common(file, from);
        let end = from + n as u64;
        (n > 0 && end.is_multiple_of(PAGE)).then_some((n, end))
    }

    /// How many of its first bytes are those of the file at `place`.
    fn common(&self, file: RawFd, place: u64) -> usize {
        let (mut there, mut own) = ([0u8; PART], [0u8; PART]);
        let mut n = 0;
        while n < self.len {
            let most = (self.len - n).min(PART);
            let there = part_of(file, place + n as u64, &mut there[..most]);
            let own = &mut own[..there.len()];
            if there.is_empty() || !(self.read)(n, own) {
                break;
            }
            let same = there.iter().zip(&*own).take_while(|(a, b)| a == b).count();
            n += same;
            if same < there.len() {
                break;
            }
        }
        n
    }
}

/// What the file has at `place`, as much as there is space for.
fn part_of(file: RawFd, place: u64, to: &mut [u8]) -> &[u8] {
    // SAFETY: a buffer of that length.
    let n = unsafe { libc::syscall(libc::SYS_pread64, file, to.as_mut_ptr(), to.len(), place) };
    &to[..n.max(0) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    /// What is found of `piece` in a file with `text`, from `from` on.
    fn found(text: &[u8], from: u64, piece: &[u8]) -> Option<(usize, u64)> {
        let folder = promp_files::Scratch::new("pieces").unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, text).unwrap();
        let file = std::fs::File::open(path).unwrap();
        let read = |at: usize, to: &mut [u8]| {
            to.copy_from_slice(&piece[at..][..to.len()]);
            true
        };
        Piece { len: piece.len(), read: &read }.taken(file.as_raw_fd(), from)
    }

    #[test]
    fn a_piece_is_found_behind_its_place() {
        assert_eq!(found(b"a 1\nb 1\na 2\n", 4, b"a 2\n"), Some((4, 12)));
        assert_eq!(found(b"a 1\nb 1\na 2\n", 0, b"a 1\n"), Some((4, 4)));
        // What stands in front of the place was written before.
        assert_eq!(found(b"a 1\nb 1\na 2\n", 4, b"a 1\n"), None);
        assert_eq!(found(b"aab", 0, b"ab"), Some((2, 3)));
        assert_eq!(found(b"", 0, b"a 1\n"), None);
        assert_eq!(found(b"a 1", 0, b"a 1\n"), None);
        let others = [b'x'; 3 * PART - 2];
        for piece in [&b"y 1\n"[..], &[b'y'; 2 * PART + 7]] {
            let text = [&others[..], piece, b"z\n"].concat();
            let end = (others.len() + piece.len()) as u64;
            assert_eq!(found(&text, 0, piece), Some((piece.len(), end)));
            assert_eq!(found(&text[..text.len() - 3], 0, piece), None);
        }
    }

    #[test]
    fn a_part_of_it_ends_with_a_page() {
        let piece = [b'y'; 6000];
        for begin in [0, 100] {
            let there = PAGE as usize - begin;
            let text = [&[b'x'; 100][..begin], &piece[..there]].concat();
            assert_eq!(found(&text, begin as u64, &piece), Some((there, PAGE)));
            assert_eq!(found(&text[..text.len() - 1], begin as u64, &piece), None);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_there() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(Piece { len: 5, read: &|_, _| false }.taken(file.as_raw_fd(), 0), None);
        assert_eq!(Piece { len: 5, read: &|_, _| true }.taken(-1, 0), None);
    }
}
