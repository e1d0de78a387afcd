//! The words of a program, read with care; lib.rs has its form.

use super::value::Type;
use promp_layouts::{FORESIGHT_SIGNED, Instruction};

/// It ends here.
#[derive(Debug)]
pub(crate) struct End;
pub(crate) type Done<T = ()> = Result<T, End>;

#[derive(Clone, Copy)]
pub(crate) struct Program<'a>(pub &'a [u64]);

impl Program<'_> {
    pub(crate) fn word(&self, at: usize) -> Done<u64> {
        self.0.get(at).copied().ok_or(End)
    }

    /// A number less than that of the program's words: an offset, or a number of things that follow.
    pub(crate) fn offset(&self, at: usize) -> Done<usize> {
        self.word(at).and_then(|w| if w < self.0.len() as u64 { Ok(w as usize) } else { Err(End) })
    }

    pub(crate) fn instruction(&self, at: usize) -> Done<Instruction> {
        Instruction::of(self.word(at)?).ok_or(End)
    }

    pub(crate) fn kind(&self, at: usize) -> Done<Type> {
        let w = self.word(at)?;
        match (w & 0xff) as u32 {
            bits @ 1..=64 => Ok(Type { bits, signed: w & FORESIGHT_SIGNED != 0 }),
            _ => Err(End),
        }
    }
}
