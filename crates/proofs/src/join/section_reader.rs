//! Reads the sections that plugin/src/segments/join.cc writes; crates/layouts/src/proof_records.rs has their
//! layout.

use promp_layouts::{
    ACTOR_SAVED, ACTOR_THREAD_LOCAL, ACTOR_VARIABLE, ARGUMENT_BY_TABLE, ARGUMENT_FIXED, ASSUMPTIONS_FENCED,
    Acts, CALL_ALWAYS, CALL_DIRECT, CALL_GONE, CALL_LIBRARY, CALL_QUIET, CALL_RESULT, Handed, KIND_OF,
    REFERENCE_BY_TABLE, SUMMARY_MAKES, SUMMARY_MARKED, SUMMARY_OPAQUE, SUMMARY_READS_MORE, SUMMARY_SAVES,
    SUMMARY_THROWS, SUMMARY_WRITES_MORE, TOUCH_ALWAYS, TOUCH_FIXED, TOUCH_WRITES, Touched,
};

use super::facts::{Actor, Argument, Assumptions, At, Call, Summary, Touch, What, Word};

/// Reads words one after the other.
struct Words(*const i32);

impl Words {
    /// # Safety
    /// All that is read from here on is what the section has there.
    unsafe fn at(address: usize) -> Self {
        Self(address as *const i32)
    }

    fn word(&mut self) -> i32 {
        // SAFETY: by the promise of `at`.
        let v = unsafe { *self.0 };
        self.0 = self.0.wrapping_add(1);
        v
    }

    fn count(&mut self) -> usize {
        self.word() as usize
    }

    /// The address that the word, a distance from its own place, means.
    fn reference(&mut self) -> usize {
        let here = self.0 as usize;
        here.wrapping_add_signed(self.word() as isize)
    }

    /// Likewise; 0 stands for nothing.
    fn perhaps(&mut self) -> Option<usize> {
        let here = self.0 as usize;
        Some(self.reference()).filter(|&at| at != here)
    }

    /// A reference to something, or to the entry in the global offset table that says where it is.
    fn bound(&mut self, by_table: bool) -> usize {
        let at = self.reference();
        // SAFETY: an entry of the object's table, filled when it was loaded.
        if by_table { unsafe { *(at as *const usize) } } else { at }
    }

    fn text(&mut self) -> &'static str {
        // SAFETY: a text in the object's constant data.
        unsafe { core::ffi::CStr::from_ptr(self.reference() as *const libc::c_char) }.to_str().unwrap_or("?")
    }

    fn call(&mut self) -> Call {
        let target = self.0;
        self.word();
        let flags = self.word();
        let gone = flags & CALL_GONE != 0;
        let target = if gone { 0 } else { Self(target).bound(flags & CALL_DIRECT == 0) };
        let (name, guard, line, n) =
            (self.text(), self.perhaps().unwrap_or(0), self.word() as u32, self.count());
        let arguments = (0..n).map(|_| self.argument()).collect();
        Call {
            target,
            gone,
            quiet: flags & CALL_QUIET != 0,
            always: flags & CALL_ALWAYS != 0,
            library: flags & CALL_LIBRARY != 0,
            result: flags & CALL_RESULT != 0,
            guard,
            name,
            line,
            arguments,
        }
    }

    fn argument(&mut self) -> Argument {
        let kind = Handed::of(self.word());
        let at = self.0;
        let (parameter, offset, flags) = (self.word() as u32, self.word(), self.word());
        match kind {
            Some(Handed::Nothing) => Argument::None,
            Some(Handed::Private) => Argument::Private,
            Some(Handed::Parameter) => {
                Argument::Parameter(parameter, (flags & ARGUMENT_FIXED != 0).then_some(offset.into()))
            }
            Some(Handed::Global) => {
                Argument::Variable(Self(at).bound(flags & ARGUMENT_BY_TABLE != 0), offset as usize)
            }
            Some(Handed::Pointer) => Argument::Pointer,
            Some(Handed::Result) => Argument::Result(parameter),
            Some(Handed::Anything) | None => Argument::Anything,
        }
    }

    fn summary(&mut self) -> Summary {
        let (flags, text) = (self.word(), self.text());
        let (touches, calls, words) = (self.count(), self.count(), self.count());
        Summary {
            opaque: flags & SUMMARY_OPAQUE != 0,
            throws: flags & SUMMARY_THROWS != 0,
            reads_more: flags & SUMMARY_READS_MORE != 0,
            marked: flags & SUMMARY_MARKED != 0,
            saves: flags & SUMMARY_SAVES != 0,
            writes_more: flags & SUMMARY_WRITES_MORE != 0,
            makes: flags & SUMMARY_MAKES != 0,
            library: false,
            text,
            touches: (0..touches).filter_map(|_| self.touch()).collect(),
            calls: (0..calls).map(|_| self.call()).collect(),
            words: (0..words).map(|_| self.saving()).collect(),
        }
    }

    fn saving(&mut self) -> Word {
        let behind = u32::try_from(self.word()).ok();
        Word { behind, at: self.reference(), bits: self.word() as u32 }
    }

    fn touch(&mut self) -> Option<Touch> {
        let flags = self.word();
        let at = self.0;
        let (parameter, low, high) = (self.word() as u32, i64::from(self.word()), i64::from(self.word()));
        let fixed = flags & TOUCH_FIXED != 0;
        let at = match Touched::of(flags & KIND_OF)? {
            Touched::Parameter => At::Behind(parameter),
            Touched::Variable => At::Variable(
                Self(at).bound(flags & REFERENCE_BY_TABLE != 0).wrapping_add(low as usize),
                (high - low).max(0) as usize,
            ),
            Touched::ThreadLocal => At::Thread(Self(at).text()),
            Touched::Nothing => return None,
        };
        let bytes = (fixed && matches!(at, At::Behind(_))).then_some((low, high));
        Some(Touch {
            at,
            writes: flags & TOUCH_WRITES != 0,
            bytes,
            always: fixed && flags & TOUCH_ALWAYS != 0,
        })
    }

    fn actor(&mut self) -> Actor {
        let kind = self.word();
        let at = self.0;
        let (call, argument, bytes) = (self.count(), self.word(), i64::from(self.word()));
        let what = match Acts::of(kind & KIND_OF) {
            Some(Acts::Reads) => What::Reads(call, argument as u32, bytes),
            Some(Acts::Writes) => What::Writes(call, argument as u32),
            Some(Acts::ReadsElsewhere) => What::ReadsElsewhere(call),
            Some(Acts::WritesElsewhere) => What::WritesElsewhere(call),
            Some(Acts::Itself) | None => What::Own,
        };
        let at = match kind & (ACTOR_VARIABLE | ACTOR_THREAD_LOCAL) {
            ACTOR_VARIABLE => {
                Some(At::Variable(Self(at).bound(kind & REFERENCE_BY_TABLE != 0), argument as usize))
            }
            ACTOR_THREAD_LOCAL => Some(At::Thread(Self(at).text())),
            _ => None,
        };
        let (name, line) = (self.text(), self.word() as u32);
        let slot = self.perhaps();
        Actor { what, at, saved: kind & ACTOR_SAVED != 0, slot, name, line }
    }

    fn group(&mut self) -> (Vec<usize>, Vec<usize>) {
        let (readers, writers) = (self.count(), self.count());
        let mut some = |n: usize| (0..n).map(|_| self.count()).collect();
        (some(readers), some(writers))
    }

    fn assumptions(&mut self) -> Assumptions {
        let (verdict, place) = (self.word(), self.text());
        let fenced = verdict & ASSUMPTIONS_FENCED != 0;
        let (calls, actors, groups) = (self.count(), self.count(), self.count());
        Assumptions {
            verdict: (verdict & KIND_OF) as u32,
            fenced,
            place,
            calls: (0..calls).map(|_| self.call()).collect(),
            actors: (0..actors).map(|_| self.actor()).collect(),
            pairs: (0..groups).map(|_| self.group()).collect(),
        }
    }
}

/// The functions of a section of summaries, by their addresses.
///
/// # Safety
/// The section of a loaded object.
pub(super) unsafe fn summaries(section: (usize, usize)) -> Vec<(usize, Summary)> {
    (section.0..section.1)
        .step_by(8)
        .map(|entry| {
            // SAFETY: by the caller's promise.
            let mut w = unsafe { Words::at(entry) };
            (w.reference(), Words(w.reference() as *const i32).summary())
        })
        .collect()
}

/// The assumptions of a section, with the labels behind their sites.
///
/// # Safety
/// The section of a loaded object.
pub(super) unsafe fn assumptions(section: (usize, usize)) -> Vec<(usize, Assumptions)> {
    (section.0..section.1)
        .step_by(12)
        .map(|entry| {
            // SAFETY: by the caller's promise.
            let mut w = unsafe { Words::at(entry) };
            w.reference();
            (w.reference(), Words(w.reference() as *const i32).assumptions())
        })
        .collect()
}
