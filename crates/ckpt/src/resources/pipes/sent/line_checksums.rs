//! Output that is not what it was before the rollback: other times, another order of threads. Lines that were sent before are known by their checksums;
//! each is dropped once, the others are sent. So nothing is lost, and nothing is repeated but what differs. Lines that have not come again when twice as
//! many have gone by are not waited for any longer.

use super::image::SentLines;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// What is looked at at once; a pipe takes so much as a whole or not at all (PIPE_BUF).
pub(super) const PIECE: usize = 4096;
/// Lines that are remembered; more are sent again.
const MOST: usize = 4096;

/// The lines of one pipe. Zeroed memory: output is as before.
#[repr(C)]
pub(super) struct Lines {
    /// 0: output is as before; [`START`]; [`WITHIN`].
    state: AtomicU32,
    /// Does the pipe end with a part of a line that does not go on?
    cut: AtomicU32,
    /// Was it said that output differs?
    told: AtomicU32,
    count: AtomicU32,
    /// Lines that the program may hand over until the rest is not waited for.
    patience: AtomicU32,
    /// Where the program was after the rollback.
    base: AtomicU64,
    /// The part of the program's line that was dropped because it is as it was: where it was noted.
    held: [AtomicU64; 2],
    /// Checksums of lines that were sent; 0: has come again.
    sums: [AtomicU64; MOST],
}

/// The program begins a line.
const START: u32 = 1;
/// It is within one, of which all has been sent.
const WITHIN: u32 = 2;

/// What is to be done with bytes that the program hands over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// So many are dropped.
    Drop(usize),
    /// So many are sent.
    Send(usize),
}

/// FNV-1a; lines are nobody's weapon.
fn sum(before: u64, text: &[u8]) -> u64 {
    text.iter().fold(before, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}
const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// Reads what was noted at a place; false if that is not possible.
type Noted<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

impl Lines {
    /// The program goes on at `base`, with output as before.
    pub(super) fn begin(&self, base: u64) {
        for w in [&self.state, &self.cut, &self.told, &self.count] {
            w.store(0, Relaxed);
        }
        self.hold([0; 2]);
        self.base.store(base, Relaxed);
    }

    fn hold(&self, part: [u64; 2]) {
        self.held.iter().zip(part).for_each(|(w, v)| w.store(v, Relaxed));
    }

    /// Does output differ from before?
    pub(super) fn on(&self) -> bool {
        self.state.load(Relaxed) != 0
    }

    /// What a checkpoint must know of it.
    pub(super) fn save(&self) -> Option<SentLines> {
        let count = self.count.load(Relaxed) as usize;
        self.on().then(|| SentLines {
            sums: self.sums[..count].iter().map(|s| s.load(Relaxed)).filter(|s| *s != 0).collect(),
            cut: self.is_cut(),
            held: [0, 1].map(|i| self.held[i].load(Relaxed)),
        })
    }

    /// The program goes on from a checkpoint that has `saved`, at `base`; since then what is noted up to `end` was sent.
    pub(super) fn go_back(&self, saved: &SentLines, base: u64, end: u64, noted: Noted) {
        self.begin(base);
        let count = saved.sums.len().min(MOST);
        self.sums.iter().zip(&saved.sums).for_each(|(w, v)| w.store(*v, Relaxed));
        self.count.store(count as u32, Relaxed);
        let mut first = [0];
        let ended = saved.cut && base < end && noted(base, &mut first) && first == [b'\n'];
        self.add(base + u64::from(ended), end, noted);
        if saved.cut && base == end {
            self.cut.store(1, Relaxed);
        }
        self.hold(saved.held);
        self.told.store(1, Relaxed);
    }

    /// True the first time after a rollback.
    pub(super) fn is_new(&self) -> bool {
        self.told.swap(1, Relaxed) == 0
    }

    /// At `at` the program has other output than what was sent up to `end`.
    pub(super) fn differ(&self, at: u64, end: u64, noted: Noted) {
        let base = self.base.load(Relaxed);
        let start = line_start(base, at, noted);
        self.count.store(0, Relaxed);
        self.add(start, end, noted);
        self.hold([start, at - start]);
    }

    /// The lines noted from `start` to `end` were sent. The program begins a line.
    fn add(&self, start: u64, end: u64, noted: Noted) {
        let mut text = [0; PIECE];
        let (mut place, mut line, mut empty) = (start, NOTHING, true);
        let mut count = self.count.load(Relaxed) as usize;
        while place < end {
            let n = ((end - place) as usize).min(PIECE);
            if !noted(place, &mut text[..n]) {
                break;
            }
            for part in text[..n].split_inclusive(|&b| b == b'\n') {
                (line, empty) = (sum(line, part), false);
                if part.ends_with(b"\n") {
                    if count < MOST {
                        self.sums[count].store(line | 1, Relaxed);
                        count += 1;
                    }
                    (line, empty) = (NOTHING, true);
                }
            }
            place += n as u64;
        }
        self.count.store(count as u32, Relaxed);
        self.patience.store(2 * count as u32 + 64, Relaxed);
        self.cut.store(u32::from(!empty), Relaxed);
        self.state.store(START, Relaxed);
    }

    /// What becomes of the beginning of `new`, at most [`PIECE`] bytes.
    pub(super) fn next(&self, new: &[u8], noted: Noted) -> Next {
        let Some(end) = new.iter().position(|&b| b == b'\n') else { return Next::Send(new.len()) };
        let line = &new[..=end];
        if self.patience.fetch_sub(1, Relaxed) == 1 {
            self.count.store(0, Relaxed);
        }
        if self.state.load(Relaxed) == START
            && let Some(before) = self.sum_of_held(noted)
            && self.was_sent(sum(before, line) | 1)
        {
            self.hold([0; 2]);
            return Next::Drop(line.len());
        }
        Next::Send(line.len())
    }

    fn was_sent(&self, line: u64) -> bool {
        let known = &self.sums[..self.count.load(Relaxed) as usize];
        let it = known.iter().find(|s| s.load(Relaxed) == line);
        it.inspect(|s| s.store(0, Relaxed)).is_some()
    }

    fn sum_of_held(&self, noted: Noted) -> Option<u64> {
        let Some((mut from, mut left)) = self.held() else { return Some(NOTHING) };
        let mut text = [0; PIECE];
        let mut line = NOTHING;
        while left > 0 {
            let n = (left as usize).min(PIECE);
            if !noted(from, &mut text[..n]) {
                return None;
            }
            line = sum(line, &text[..n]);
            (from, left) = (from + n as u64, left - n as u64);
        }
        Some(line)
    }

    /// The part of the program's line that was dropped and may have to be sent: where it is, and its length.
    pub(super) fn held(&self) -> Option<(u64, u64)> {
        let [from, length] = [0, 1].map(|i| self.held[i].load(Relaxed));
        (length > 0).then_some((from, length))
    }

    /// So much of what was held has been sent.
    pub(super) fn release(&self, bytes: u64) {
        self.held[0].fetch_add(bytes, Relaxed);
        self.held[1].fetch_sub(bytes, Relaxed);
        self.state.store(WITHIN, Relaxed);
    }

    /// Does the pipe end with a part of a line that does not go on?
    pub(super) fn is_cut(&self) -> bool {
        self.cut.load(Relaxed) != 0
    }

    /// It has got its end.
    pub(super) fn is_whole(&self) {
        self.cut.store(0, Relaxed);
    }

    /// Something was sent; `line`: up to a line's end. Where nothing is waited for any longer, output is as before again.
    pub(super) fn sent(&self, line: bool) {
        let done = line && self.count.load(Relaxed) == 0;
        self.state.store(
            if done {
                0
            } else if line {
                START
            } else {
                WITHIN
            },
            Relaxed,
        );
    }
}

/// Where the line begins that `at` is in; not before `base`.
fn line_start(base: u64, at: u64, noted: Noted) -> u64 {
    let mut text = [0; PIECE];
    let mut end = at;
    while end > base {
        let n = ((end - base) as usize).min(PIECE);
        let from = end - n as u64;
        if !noted(from, &mut text[..n]) {
            return at;
        }
        if let Some(i) = text[..n].iter().rposition(|&b| b == b'\n') {
            return from + i as u64 + 1;
        }
        end = from;
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a pipe has after `before` was sent, the program went back to `base`, and handed over `after` in pieces of `size`.
    fn pipe(before: &str, base: usize, after: &str, size: usize) -> String {
        // SAFETY: zeroed memory is a value of it.
        let lines: Box<Lines> = unsafe { Box::new_zeroed().assume_init() };
        lines.begin(base as u64);
        let mut sent = before.as_bytes().to_vec();
        let (old, new) = (before.as_bytes(), after.as_bytes());
        let noted = |from: u64, to: &mut [u8]| {
            to.copy_from_slice(&old[from as usize..][..to.len()]);
            true
        };
        let same = old[base..].iter().zip(new).take_while(|(a, b)| a == b).count();
        let differs = same < new.len() && base + same < old.len();
        if !differs {
            sent.extend_from_slice(&new[same.min(old.len() - base)..]);
            return String::from_utf8(sent).expect("text");
        }
        lines.differ((base + same) as u64, old.len() as u64, &noted);
        for piece in new[same..].chunks(size) {
            let mut rest = piece;
            while !rest.is_empty() {
                match lines.next(rest, &noted) {
                    Next::Drop(n) => rest = &rest[n..],
                    Next::Send(n) => {
                        if lines.is_cut() {
                            sent.push(b'\n');
                            lines.is_whole();
                        }
                        if let Some((from, n)) = lines.held() {
                            sent.extend_from_slice(&old[from as usize..][..n as usize]);
                            lines.release(n);
                        }
                        sent.extend_from_slice(&rest[..n]);
                        lines.sent(rest[n - 1] == b'\n');
                        rest = &rest[n..];
                    }
                }
            }
        }
        String::from_utf8(sent).expect("text")
    }

    #[test]
    fn lines_in_another_order() {
        assert_eq!(pipe("a\nb\nc\n", 2, "c\nb\nd\n", 100), "a\nb\nc\nd\n");
        assert_eq!(pipe("b\nb\n", 0, "c\nb\nb\nb\n", 3), "b\nb\nc\nb\n");
    }

    #[test]
    fn a_line_that_differs() {
        assert_eq!(
            pipe("step 1: 0.5 s\nsum 7\n", 0, "step 1: 0.6 s\nsum 7\nend\n", 100),
            "step 1: 0.5 s\nsum 7\nstep 1: 0.6 s\nend\n"
        );
        // The line before it began before the checkpoint.
        assert_eq!(pipe("time 0.5\nx\n", 5, "0.7\nx\ny\n", 100), "time 0.5\nx\n0.7\ny\n");
    }

    #[test]
    fn a_part_of_a_line_gets_its_end() {
        assert_eq!(pipe("a\nhal", 0, "b\na\nhalf\n", 100), "a\nhal\nb\nhalf\n");
        // Handed over in pieces that are no lines: what is not known at once is sent.
        assert_eq!(pipe("aa\nbb\n", 0, "bb\naa\n", 2), "aa\nbb\nbb\naa\n");
    }

    #[test]
    fn nothing_is_lost_and_only_other_lines_are_added() {
        let mut seed = 1u64;
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        for _ in 0..2000 {
            let n = 1 + below(8);
            let lines: Vec<String> = (0..n).map(|_| format!("{}\n", "x".repeat(below(4) as usize))).collect();
            let before = lines.concat();
            let mut other = lines.clone();
            for i in (1..other.len()).rev() {
                other.swap(i, below(i as u64 + 1) as usize);
            }
            if below(2) == 0 {
                other.push("new\n".into());
            }
            let got = pipe(&before, 0, &other.concat(), 4096);
            let sorted = |t: &[String]| {
                let mut v = t.to_vec();
                v.sort();
                v
            };
            let has: Vec<String> = got.split_inclusive('\n').map(String::from).collect();
            assert_eq!(sorted(&has), sorted(&other), "{before:?} {other:?}");
        }
    }
}
