//! What is dead where a checkpoint may be taken: lists of nests of loops that write it, and programs of what
//! is executed from there on (crates/foresee/src/lib.rs has their form).

/// So many nests are in a list, ...
pub const DEAD_NESTS: usize = 8;
/// ... and so many loops in each.
pub const DEAD_LEVELS: usize = 8;

/// A program's first word: "prompa", version 2.
pub const FORESIGHT_MAGIC: u64 = 0x7072_6f6d_7061_0002;
/// No register.
pub const FORESIGHT_NONE: u64 = 0xffff_ffff_ffff_ffff;
/// A program has at most so many slots, which hold what variables are at the place, and addresses.
pub const FORESIGHT_SLOTS: usize = 128;
/// In a type, beside its bits: it has a sign.
pub const FORESIGHT_SIGNED: u64 = 0x100;

/// Instructions, each with what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Instruction {
    /// Operation, register, its type, type of the operands, two operands.
    Assign = 1,
    /// Register: it is unknown.
    Forget = 2,
    /// Register or none, type, bytes, address.
    Load = 3,
    /// Bytes, counts, address, value. "Counts": only the program's own code of the unit knows the memory.
    Store = 4,
    /// Counts, address, bytes (an operand).
    Fill = 5,
    /// Counts, to, from, bytes (operands).
    Copy = 6,
    /// Function, register or none, n, operand*n.
    Call = 7,
    /// Function, data.
    Region = 8,
    /// A worksharing loop: register, from, to, step, where its chunk's first and last iteration are put
    /// (operands), block of a chunk, block where the threads meet behind it.
    Start = 9,
    /// ... the next chunk: register, both blocks again.
    Next = 10,
    /// ... its end: is there a barrier?
    End = 11,
    /// All threads of the team meet.
    Barrier = 12,
    /// Register, block where the others go.
    Single = 13,
    /// Edge.
    Jump = 20,
    /// Comparison, type, two operands, edge if so, edge if not.
    Test = 21,
    /// Operand.
    Return = 22,
    /// Nothing is known of what follows.
    Stop = 23,
}
crate::from_number!(Instruction: u64 {
    Assign Forget Load Store Fill Copy Call Region Start Next End Barrier Single Jump Test Return Stop
});

/// What an operand's second word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Operand {
    /// The number itself.
    Number,
    /// A register.
    Register,
    /// A slot.
    Slot,
    /// Nothing: it is unknown.
    Unknown,
    /// The offset of a local variable.
    Local,
}
crate::from_number!(Operand: u64 { Number Register Slot Unknown Local });

/// What is done to two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
#[expect(missing_docs, reason = "named by what they do")]
pub enum Op {
    Copy,
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Neg,
    Not,
}
crate::from_number!(Op: u64 {
    Copy Add Sub Mul Div Mod And Or Xor Shl Shr Min Max Eq Ne Lt Le Gt Ge Neg Not
});
