//! Calls of the runtime that are jumps: a function whose last act is a barrier jumps there, and the runtime
//! returns to that function's caller. The call in front of such an address is one of the function, not of the
//! runtime: so the place is the function's.

use object::{Object, ObjectSection};

/// Names of what a runtime is called by: a call of these is no function of the program's.
const OF_RUNTIMES: [&str; 6] = ["GOMP_", "GOACC_", "omp_", "acc_", "promp_", "__kmpc_"];

/// The code of a module.
#[derive(Default)]
pub(super) struct Code {
    sections: Vec<(u64, Vec<u8>)>,
    /// Where its stubs for other libraries' functions begin and end.
    stubs: Vec<(u64, u64)>,
}

impl Code {
    /// The code of `file`.
    pub(super) fn of(file: &object::File) -> Self {
        let mut all = Self::default();
        for s in file.sections().filter(|s| s.kind() == object::SectionKind::Text) {
            if s.name().is_ok_and(|n| n.starts_with(".plt") || n.starts_with(".iplt")) {
                all.stubs.push((s.address(), s.address().saturating_add(s.size())));
            } else if let Ok(code) = s.data() {
                all.sections.push((s.address(), code.to_vec()));
            }
        }
        all
    }

    /// The code from `at` on, to the end of its section.
    pub(super) fn from(&self, at: u64) -> Option<&[u8]> {
        let of = |(from, code): &'_ (u64, Vec<u8>)| {
            usize::try_from(at.checked_sub(*from)?).ok().filter(|&i| i < code.len())
        };
        self.sections.iter().find_map(|s| Some(&s.1[of(s)?..]))
    }

    /// For tests: a section at `at`.
    #[cfg(test)]
    pub(super) fn at(at: u64, code: Vec<u8>) -> Self {
        Self { sections: vec![(at, code)], stubs: Vec::new() }
    }

    /// Where the direct call goes that returns to `address`, if it goes to code of the module.
    fn callee(&self, address: u64) -> Option<u64> {
        let to = target(CALL, self.from(address.checked_sub(5)?)?, address)?;
        self.from(to).map(|_| to)
    }

    /// An address in the function that has jumped to the runtime, which returned to `address`: in its last
    /// jump out of the module, or its last byte; none if the runtime was called there. `symbols`: beginning,
    /// end and name of functions, by beginning.
    pub(super) fn jumped(&self, address: u64, symbols: &[(u64, u64, String)]) -> Option<u64> {
        let callee = self.callee(address)?;
        let (begin, end, name) = &symbols[symbols.binary_search_by_key(&callee, |s| s.0).ok()?];
        if OF_RUNTIMES.iter().any(|p| name.starts_with(p)) {
            return None;
        }
        let code = self.from(*begin)?;
        let bytes = code.len().min(usize::try_from(end - begin).ok()?);
        let leaves = |&i: &usize| {
            let to = target(JUMP, &code[i..], begin.wrapping_add(i as u64 + 5));
            to.is_some_and(|to| self.stubs.iter().any(|&(from, end)| (from..end).contains(&to)))
        };
        let last = (0..bytes).rev().find(leaves).or(bytes.checked_sub(1))?;
        Some(begin.wrapping_add(last as u64))
    }
}

const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

/// Where the direct call or jump leads that `code` begins with and that ends at address `end`.
fn target(what: u8, code: &[u8], end: u64) -> Option<u64> {
    let &[first, a, b, c, d, ..] = code else { return None };
    let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
    (first == what).then(|| end.wrapping_add_signed(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_the_programs_own_function_is_told_from_others() {
        // At 0x100: call 0x110, call 0x200, call *%rax; a function at 0x110, one of a runtime's at 0x118.
        let mut code = vec![0x90; 0x20];
        code[..5].copy_from_slice(&[0xe8, 0x0b, 0, 0, 0]);
        code[5..10].copy_from_slice(&[0xe8, 0xf6, 0, 0, 0]);
        code[10..12].copy_from_slice(&[0xff, 0xd0]);
        code[0x1b..].copy_from_slice(&[0xe8, 0xf8, 0xff, 0xff, 0xff]);
        // ... which jumps to a stub.
        let mut jumps = code.clone();
        jumps[0x11..0x16].copy_from_slice(&[0xe9, 0xea, 0xfe, 0xff, 0xff]);
        let of = |code| Code { sections: vec![(0x100, code)], stubs: vec![(0, 0x10)] };
        let (code, jumps) = (of(code), of(jumps));
        let symbols = [(0x110, 0x118, "last".to_owned()), (0x118, 0x120, "GOMP_barrier".to_owned())];
        let jumped = |at| code.jumped(at, &symbols);
        assert_eq!((jumped(0x105), jumps.jumped(0x105, &symbols)), (Some(0x117), Some(0x111)));
        for at in [0, 3, 0x104, 0x10a, 0x10c, 0x110, 0x120, 0x121, 0x1000, u64::MAX] {
            assert_eq!(jumped(at), None, "{at:#x}");
        }
    }
}
