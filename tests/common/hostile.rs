//! What others have written, and the command that reads it: within its time and a gigabyte of memory.

use super::saved::command;
use super::*;

/// `promp` with these arguments. It ends by itself, and sends nothing to the terminal that would change it.
pub fn run(args: &[&str]) -> Run {
    let mut c = Command::new("sh");
    clean(&mut c);
    let promp = command();
    c.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh"]).arg(promp).args(args);
    let run = limited(c, LIMIT);
    assert!(!run.hung && run.status < 128, "{args:?}: {run:?}");
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{args:?}: {run:?}");
    run
}

/// How many changed files a test gives to the command (PROMP_TEST_COUNT).
pub fn rounds(short: u32) -> u32 {
    draws::set_count(if long() { 10_000 } else { short.into() }) as u32
}

/// `good` with up to four changes: a byte, the length, a word of a file's kind, a part that comes twice.
pub fn mutated(good: &[u8], words: &[u8], rng: &mut Seeded) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(5) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes.truncate(at + 1),
            2 => bytes[at] = *rng.pick(words),
            3 => {
                let end = (at + 8).min(bytes.len());
                let word = rng.pick(&[0, 1, 0xff, u64::MAX, i64::MAX as u64, 1 << 32, 1 << 62]).to_le_bytes();
                bytes[at..end].copy_from_slice(&word[..end - at]);
            }
            _ => {
                let end = (at + rng.below(40) as usize).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}
