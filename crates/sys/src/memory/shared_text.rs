//! Lines of text in memory that is shared, or that rollbacks leave alone: words, with a zero byte at the end.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A line that outlives rollbacks.
#[derive(Debug)]
pub struct Text([AtomicU64; 32]);

impl Text {
    /// Makes it `text`; what does not fit is cut.
    pub fn set(&self, text: &str) {
        put(&self.0, text);
    }

    /// It.
    pub fn get(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().flat_map(|w| w.load(Relaxed).to_ne_bytes()).collect();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

/// Writes `text` into `words`, cut between characters, with a zero behind it.
pub fn put(words: &[AtomicU64], text: &str) {
    // One byte is the end's.
    let room = (8 * words.len()).saturating_sub(1).min(text.len());
    let n = (0..=room).rev().find(|&n| text.is_char_boundary(n)).unwrap_or(0);
    for (i, w) in words.iter().enumerate() {
        let mut bytes = [0u8; 8];
        let of = &text.as_bytes()[(8 * i).min(n)..(8 * i + 8).min(n)];
        bytes[..of.len()].copy_from_slice(of);
        w.store(u64::from_ne_bytes(bytes), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let t = Text([const { AtomicU64::new(0) }; 32]);
        for s in ["", "a", "four, and more", &"é".repeat(200), &"x".repeat(400)] {
            t.set(s);
            let got = t.get();
            assert!(s.starts_with(&got) && got.len() >= s.len().min(254), "{s}: {got}");
        }
        t.set("short");
        assert_eq!(t.get(), "short");
    }
}
