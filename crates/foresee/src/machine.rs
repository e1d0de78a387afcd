//! What is known while a program is executed on the side (mod.rs): registers, values in memory, what has been
//! written and read. step.rs executes, loop_footprint.rs looks at loops as a whole, team_model.rs has what
//! threads do together, accesses.rs loads and stores.

use super::accesses::Cell;
use super::blocks::Set;
use super::bytecode::{Done, End, Program};
use super::team_model::Apart;
use super::value::{UNKNOWN, Value};
use promp_layouts::{FORESIGHT_MAGIC, Operand};
use promp_sys::ranges;
use std::collections::BTreeSet;

/// So many instructions and blocks; so many calls within each other.
const STEPS: u32 = 300_000;
const CALLS: usize = 24;
/// Locals of functions that are called have addresses from here on, which no memory has.
pub(crate) const LOCALS: i64 = 1 << 60;
/// So many pieces of a block with gaps are looked at.
const PIECES: i64 = 512;

pub(crate) struct Frame {
    pub registers: Vec<Value>,
    /// When each was set.
    pub set: Vec<u64>,
    locals: i64,
}

/// A loop that is looked at as a whole.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    pub id: u32,
    /// Its iterations are several threads'.
    pub shared: bool,
}

/// A write in such a loop, to `size` bytes at `to`.
pub(crate) struct Write {
    pub to: Value,
    pub size: i64,
    pub around: Vec<u32>,
    pub counts: Vec<i64>,
}

/// Reads the program's memory.
pub(crate) type Memory<'a> = &'a dyn Fn(usize, &mut [u8]) -> bool;

/// What is known of the program's memory.
#[derive(Default)]
pub(crate) struct Found {
    /// What is written: by now, from the next barrier on.
    pub written: Set,
    pub unsynced: Set,
    /// What is read before.
    pub read: Vec<(usize, usize)>,
}

pub(crate) struct Machine<'a> {
    pub program: Program<'a>,
    slots: &'a [Option<u64>],
    pub memory: Memory<'a>,
    pub frames: Vec<Frame>,
    pub clock: u64,
    steps: u32,
    /// Loops, how often each is executed. In a worksharing loop the first two are what a chunk is
    /// (team_model.rs).
    pub around: Vec<Around>,
    pub counts: Vec<i64>,
    pub ids: u32,
    /// Loops that cannot be looked at as a whole.
    pub single_steps: BTreeSet<usize>,
    pub cells: Vec<Cell>,
    /// Where the loop that is looked at has loaded what must be the same each time.
    pub loaded: Vec<(i64, i64)>,
    pub pending: Vec<Write>,
    pub found: Found,
    pub in_region: bool,
    pub apart: Option<Apart>,
    locals: i64,
    pub returned: Value,
    /// Only to find out how often a loop is executed.
    pub dry: bool,
}

/// Ranges of `least` bytes or more that are written before they are read, by `program`, from where `slots`
/// say. None if the program is damaged.
pub fn dead(program: &[u64], slots: &[Option<u64>], least: i64, memory: Memory) -> Vec<(usize, usize)> {
    let mut m = Machine {
        program: Program(program),
        slots,
        memory,
        frames: Vec::new(),
        clock: 1,
        steps: 0,
        around: Vec::new(),
        counts: Vec::new(),
        ids: 0,
        single_steps: BTreeSet::new(),
        cells: Vec::new(),
        loaded: Vec::new(),
        pending: Vec::new(),
        found: Found::default(),
        in_region: false,
        apart: None,
        locals: LOCALS,
        returned: UNKNOWN,
        dry: false,
    };
    // However it ends: what is known by then.
    let _ = m.begin();
    m.result(least)
}

impl Machine<'_> {
    pub(crate) fn step(&mut self) -> Done {
        self.steps += 1;
        if self.steps > STEPS { Err(End) } else { Ok(()) }
    }

    fn begin(&mut self) -> Done {
        let p = self.program;
        if p.word(0)? != FORESIGHT_MAGIC || p.word(2)? != self.slots.len() as u64 {
            return Err(End);
        }
        let function = p.offset(3)?;
        self.in_region = p.word(5)? != 0;
        self.enter(function)?;
        for k in 0..p.offset(6)? {
            let (slot, register) = (p.word(7 + 2 * k)?, p.word(8 + 2 * k)?);
            let value = self.slot(slot)?;
            self.set(register, value)?;
        }
        let code = p.offset(4)?;
        self.go(code).map(drop)
    }

    fn result(mut self, least: i64) -> Vec<(usize, usize)> {
        // Whoever reads what another thread writes waits for a barrier first.
        let mut unsynced = core::mem::take(&mut self.found.unsynced);
        self.found.written.take(&mut unsynced);
        let mut all = Vec::new();
        for b in self.found.written.iter() {
            b.pieces(least, PIECES, |start, end| all.push((start as usize, end as usize)));
        }
        ranges::without(&ranges::ordered(all), &ranges::ordered(self.found.read))
    }

    fn slot(&self, k: u64) -> Done<Value> {
        let slot = self.slots.get(usize::try_from(k).map_err(|_| End)?).ok_or(End)?;
        Ok(slot.map_or(UNKNOWN, |w| Value::of(w as i64)))
    }

    /// Does it look at a loop as a whole?
    pub(crate) fn is_whole(&self) -> bool {
        self.around.len() > self.levels_of_chunk()
    }

    pub(crate) fn frame(&mut self) -> Done<&mut Frame> {
        self.frames.last_mut().ok_or(End)
    }

    pub(crate) fn set(&mut self, register: u64, value: Value) -> Done {
        self.clock += 1;
        let (clock, r) = (self.clock, usize::try_from(register).map_err(|_| End)?);
        let f = self.frame()?;
        *f.registers.get_mut(r).ok_or(End)? = value;
        f.set[r] = clock;
        Ok(())
    }

    /// All that this frame has set since is unknown.
    pub(crate) fn forget_since(&mut self, clock: u64) -> Done {
        let f = self.frame()?;
        for (r, set) in f.registers.iter_mut().zip(&f.set) {
            if *set > clock {
                *r = UNKNOWN;
            }
        }
        Ok(())
    }

    pub(crate) fn operand(&self, at: usize) -> Done<Value> {
        let (kind, word) = (self.program.word(at)?, self.program.word(at + 1)?);
        let frame = self.frames.last().ok_or(End)?;
        Ok(match Operand::of(kind).ok_or(End)? {
            Operand::Number => Value::of(word as i64),
            Operand::Register => {
                *usize::try_from(word).ok().and_then(|r| frame.registers.get(r)).ok_or(End)?
            }
            Operand::Slot => self.slot(word)?,
            Operand::Unknown => UNKNOWN,
            Operand::Local => Value::of(frame.locals.checked_add(word as i64).ok_or(End)?),
        })
    }

    pub(crate) fn operands(&self, at: usize, n: usize) -> Done<Vec<Value>> {
        (0..n).map(|k| self.operand(at + 2 * k)).collect()
    }

    /// A frame for the function at `f`.
    pub(crate) fn enter(&mut self, f: usize) -> Done {
        let (n, bytes) = (self.program.word(f)?, self.program.word(f + 1)?);
        if self.frames.len() >= CALLS || n > 1 << 16 || bytes > 1 << 40 {
            return Err(End);
        }
        let (n, locals) = (n as usize, self.locals);
        self.locals = locals.checked_add(bytes as i64 + 64).ok_or(End)?;
        self.frames.push(Frame { registers: vec![UNKNOWN; n], set: vec![0; n], locals });
        Ok(())
    }
}
