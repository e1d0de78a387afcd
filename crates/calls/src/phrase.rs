//! A short text in memory of the stack.

/// More than any call with all of its flags needs; what is longer is cut.
const MOST: usize = 160;

/// A short text.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    bytes: [u8; MOST],
    len: usize,
}

impl Text {
    /// This word.
    pub fn of(word: &str) -> Self {
        let mut text = Self { bytes: [0; MOST], len: 0 };
        text.words(&[word]);
        text
    }

    /// Adds `words`.
    pub(crate) fn words(&mut self, words: &[&str]) {
        for b in words.iter().flat_map(|w| w.bytes()) {
            self.push(b);
        }
    }

    /// Adds a number.
    pub(crate) fn hex(&mut self, n: u64) {
        self.words(&["0x"]);
        let digits = (64 - n.leading_zeros()).div_ceil(4).max(1);
        for i in (0..digits).rev() {
            self.push(b"0123456789abcdef"[(n >> (4 * i)) as usize & 15]);
        }
    }

    fn push(&mut self, b: u8) {
        if let Some(free) = self.bytes.get_mut(self.len) {
            *free = b;
            self.len += 1;
        }
    }

    /// It.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_hexadecimal_and_what_is_too_long_is_cut() {
        let mut t = Text::of("x ");
        [0, 9, 0x10, u64::MAX].iter().for_each(|n| t.hex(*n));
        assert_eq!(t.bytes(), b"x 0x00x90x100xffffffffffffffff");
        (0..200).for_each(|_| t.words(&["y"]));
        assert_eq!(t.bytes().len(), MOST);
    }
}
