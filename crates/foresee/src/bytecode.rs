//! The form of a program: words, read with care. mod.rs has the whole of it;
//! plugin/src/foresee/foresee_writer.h has the same numbers.

use super::value::Type;

/// "prompa", version 2.
pub(crate) const MAGIC: u64 = 0x7072_6f6d_7061_0002;
/// No register.
pub(crate) const NONE: u64 = u64::MAX;

/// Instructions, each with what follows it.
pub(crate) mod instruction {
    /// Operation, register, its type, type of the operands, two operands.
    pub(crate) const ASSIGN: u64 = 1;
    /// Register: it is unknown.
    pub(crate) const FORGET: u64 = 2;
    /// Register or NONE, type, bytes, address.
    pub(crate) const LOAD: u64 = 3;
    /// Bytes, counts, address, value. "Counts": only the program's own code of the unit knows the memory.
    pub(crate) const STORE: u64 = 4;
    /// Counts, address, bytes (an operand).
    pub(crate) const FILL: u64 = 5;
    /// Counts, to, from, bytes (operands).
    pub(crate) const COPY: u64 = 6;
    /// Function, register or NONE, n, operand*n.
    pub(crate) const CALL: u64 = 7;
    /// Function, data.
    pub(crate) const REGION: u64 = 8;
    /// A worksharing loop: register, from, to, step, where its chunk's first and last iteration are put
    /// (operands), block of a chunk, block where the threads meet behind it.
    pub(crate) const START: u64 = 9;
    /// ... the next chunk: register, both blocks again.
    pub(crate) const NEXT: u64 = 10;
    /// ... its end: is there a barrier?
    pub(crate) const END: u64 = 11;
    pub(crate) const BARRIER: u64 = 12;
    /// Register, block where the others go.
    pub(crate) const SINGLE: u64 = 13;
    /// Edge.
    pub(crate) const JUMP: u64 = 20;
    /// Comparison, type, two operands, edge if so, edge if not.
    pub(crate) const TEST: u64 = 21;
    /// Operand.
    pub(crate) const RETURN: u64 = 22;
}

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

    pub(crate) fn kind(&self, at: usize) -> Done<Type> {
        let w = self.word(at)?;
        match (w & 0xff) as u32 {
            bits @ 1..=64 => Ok(Type { bits, signed: w >> 8 & 1 == 1 }),
            _ => Err(End),
        }
    }
}
