//! The kernel's object (vDSO): code of the kernel's in every process, through which libc reads the clocks.
//!
//! Another kernel has another one. A process that goes on from a checkpoint finds pointers to the functions
//! of the one that there was. So that one is put where it was, its functions changed to jump to those of
//! the same name in the kernel's own, which makes room for it if need be.

use crate::maps::{self, Mapping};
use crate::sys;
use object::elf::{FileHeader64, STT_FUNC};
use object::read::elf::{FileHeader, Sym};
use object::{LittleEndian, SectionIndex};

/// A function of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, as libc looks it up.
    pub name: String,
    /// Its offset.
    pub at: usize,
    /// Its length.
    pub size: usize,
}

/// The functions that `object` exports.
pub fn functions(object: &[u8]) -> Option<Vec<Function>> {
    let header = FileHeader64::<LittleEndian>::parse(object).ok()?;
    let sections = header.sections(LittleEndian, object).ok()?;
    let symbols = sections.symbols(LittleEndian, object, object::elf::SHT_DYNSYM).ok()?;
    let strings = symbols.strings();
    let is_there = |s: &object::elf::Sym64<LittleEndian>| {
        s.st_type() == STT_FUNC && !s.is_undefined(LittleEndian) && symbols.section() != SectionIndex(0)
    };
    let all = symbols.iter().filter(|s| is_there(s)).map(|s| {
        Some(Function {
            name: String::from_utf8_lossy(s.name(LittleEndian, strings).ok()?).into_owned(),
            at: s.st_value(LittleEndian) as usize,
            size: s.st_size(LittleEndian) as usize,
        })
    });
    let all: Vec<Function> = all.collect::<Option<_>>()?;
    let fits = |f: &Function| f.at.checked_add(f.size).is_some_and(|end| end <= object.len());
    all.iter().all(fits).then_some(all)
}

/// The kernel's mappings of it in this process: data, and the object.
pub struct Own {
    parts: Vec<Mapping>,
    /// The object's first address.
    pub start: usize,
    /// Behind it.
    pub end: usize,
}

/// What this process has.
pub fn own() -> Option<Own> {
    let mut parts = maps::all();
    parts.retain(|m| m.path == "[vdso]" || m.path.starts_with("[vvar"));
    let object = parts.iter().find(|m| m.path == "[vdso]")?;
    let (start, end) = (object.start, object.end);
    Some(Own { parts, start, end })
}

impl Own {
    /// The object.
    pub fn bytes(&self) -> &'static [u8] {
        // SAFETY: the kernel's mapping, which can be read and is there as long as the process, or until it
        // is moved.
        unsafe { core::slice::from_raw_parts(self.start as *const u8, self.end - self.start) }
    }

    /// Address and length of all of it.
    pub fn span(&self) -> (usize, usize) {
        let first = self.parts.iter().map(|m| m.start).min().unwrap_or(self.start);
        let end = self.parts.iter().map(|m| m.end).max().unwrap_or(self.end);
        (first, end - first)
    }

    /// Does any of it lie in [a, b)?
    pub fn meets(&self, a: usize, b: usize) -> bool {
        self.parts.iter().any(|m| m.start < b && a < m.end)
    }

    /// Moves it, so that it begins at `to`. The data stay where the code looks for them.
    ///
    /// # Safety
    /// Nothing is mapped at `to`, and nobody executes it.
    pub unsafe fn make_room(&mut self, to: usize) -> Result<(), isize> {
        let by = to.wrapping_sub(self.span().0);
        for m in &mut self.parts {
            let (old, new, len) = (m.start, m.start.wrapping_add(by), m.end - m.start);
            // SAFETY: the kernel's mapping goes to a place where there is nothing.
            let r = unsafe {
                sys!(libc::SYS_mremap, old, len, len, libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED, new, 0)
            };
            if r != new as isize {
                return Err(-r);
            }
            (m.start, m.end) = (new, new + len);
        }
        (self.start, self.end) = (self.start.wrapping_add(by), self.end.wrapping_add(by));
        Ok(())
    }
}

/// `jmp [rip]`, and the address.
fn jump_to(address: usize) -> Vec<u8> {
    let mut code = vec![0xff, 0x25, 0, 0, 0, 0];
    code.extend_from_slice(&(address as u64).to_le_bytes());
    code
}

/// getrandom's own state, which the program keeps, is of the old kernel's form: the system call does
/// without. What asks for the form (a length of -1 in r8) is told that there is no such function.
const RANDOM: [u8; 22] = [
    0x49, 0x83, 0xf8, 0xff, // cmp r8, -1
    0x74, 0x08, // je 1f
    0xb8, 0x3e, 0x01, 0x00, 0x00, // mov eax, 318
    0x0f, 0x05, // syscall
    0xc3, // ret
    0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, // 1: mov rax, -ENOSYS
    0xc3, // ret
];

/// Changes the functions of `old` to jump to those of `new`, which lies at `base`. The error names what the
/// new kernel does not have.
pub fn lead(old: &mut [u8], new: &[u8], base: usize) -> Result<(), String> {
    const NONE: &str = "the kernel's vDSO has no table of functions";
    let (from, to) = (functions(old).ok_or(NONE)?, functions(new).ok_or(NONE)?);
    for f in &from {
        // One function may have several names.
        let mut names = from.iter().filter(|o| o.at == f.at).map(|o| &o.name);
        let code = if f.name.ends_with("getrandom") {
            RANDOM.to_vec()
        } else {
            let same = names.find_map(|name| to.iter().find(|n| n.name == *name));
            jump_to(base + same.ok_or_else(|| format!("this kernel's vDSO has no function {}", f.name))?.at)
        };
        if f.size < code.len() {
            return Err(format!(
                "{} of the kernel's vDSO then was too short to be led to this one's",
                f.name
            ));
        }
        old[f.at..f.at + code.len()].copy_from_slice(&code);
    }
    Ok(())
}

/// Puts `object` at `at`, executable.
///
/// # Safety
/// The memory there may be had (nothing of use is mapped), and `object` is code.
pub unsafe fn put(object: &[u8], at: usize) -> Result<(), isize> {
    // SAFETY: by the caller's promise.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let write = libc::PROT_READ | libc::PROT_WRITE;
        let p = sys!(libc::SYS_mmap, at, object.len(), write, flags, -1isize, 0);
        if p != at as isize {
            return Err(-p);
        }
        core::ptr::copy_nonoverlapping(object.as_ptr(), at as *mut u8, object.len());
        match sys!(libc::SYS_mprotect, at, object.len(), libc::PROT_READ | libc::PROT_EXEC) {
            0 => Ok(()),
            e => Err(-e),
        }
    }
}

/// Pointers to functions in `memory` lead to where these are now: from each of `from` to the same of `to`.
///
/// # Safety
/// Private memory that can be read, and written when its protection is changed.
pub unsafe fn redirect(memory: &Mapping, from: &[usize], to: &[usize]) {
    let at = |i: usize| (memory.start + 8 * i) as *mut usize;
    let is_writable = memory.prot & libc::PROT_WRITE != 0;
    for i in 0..(memory.end - memory.start) / 8 {
        // SAFETY: by the caller's promise; mappings are aligned.
        unsafe {
            let word = at(i).read();
            let Some(n) = from.iter().position(|f| *f == word) else { continue };
            let page = (at(i) as usize) & !4095;
            if !is_writable {
                sys!(libc::SYS_mprotect, page, 4096, libc::PROT_READ | libc::PROT_WRITE);
            }
            at(i).write(to[n]);
            if !is_writable {
                sys!(libc::SYS_mprotect, page, 4096, memory.prot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_has() {
        let own = own().expect("a vDSO");
        let all = functions(own.bytes()).expect("functions");
        assert!(all.iter().any(|f| f.name == "__vdso_clock_gettime" && f.size > 14), "{all:?}");
        assert!(functions(&own.bytes()[..300]).is_none() && functions(b"nothing").is_none());
    }

    #[test]
    fn what_is_missing_is_named() {
        let bytes = own().expect("a vDSO").bytes();
        let mut other = bytes.to_vec();
        for i in 0..other.len() - 13 {
            if &other[i..i + 13] == b"clock_gettime" {
                other[i] = b'x';
            }
        }
        assert!(lead(&mut bytes.to_vec(), &other, 0).unwrap_err().contains("has no function"));
    }

    /// The object whose functions would be the end of whoever executes them, where the kernel's was.
    #[test]
    fn functions_are_led_to_the_kernels() {
        let child = || -> Option<()> {
            let mut own = own()?;
            let (start, new) = (own.start, own.bytes().to_vec());
            let mut old = new.clone();
            functions(&new)?.iter().for_each(|f| old[f.at..f.at + f.size].fill(0xcc));
            let (_, len) = own.span();
            // SAFETY (all): a process of this test's own, with one thread.
            unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let to = sys!(libc::SYS_mmap, 0, len, libc::PROT_NONE, flags, -1isize, 0) as usize;
                sys!(libc::SYS_munmap, to, len);
                own.make_room(to).ok()?;
                lead(&mut old, &new, own.start).ok()?;
                put(&old, start).ok()?;
                let mut t = [libc::timespec { tv_sec: 0, tv_nsec: 0 }; 2];
                libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t[0]);
                sys!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut t[1]);
                let mut day = libc::timeval { tv_sec: 0, tv_usec: 0 };
                libc::gettimeofday(&mut day, core::ptr::null_mut());
                let close = (t[1].tv_sec - t[0].tv_sec).unsigned_abs() < 10
                    && (libc::time(core::ptr::null_mut()) - day.tv_sec).unsigned_abs() < 10;
                (close && libc::sched_getcpu() >= 0).then_some(())
            }
        };
        // SAFETY: a child that ends at once; it does what a copy of one thread can.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::alarm(20);
                libc::_exit(if child().is_some() { 0 } else { 3 });
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            assert_eq!(status, 0, "signal {} status {}", status & 127, status >> 8);
        }
    }

    #[test]
    fn pointers_follow() {
        let mut memory = [7usize, 8, 9, 7];
        let start = memory.as_mut_ptr().expose_provenance();
        let m = Mapping {
            start,
            end: start + size_of_val(&memory),
            prot: libc::PROT_READ | libc::PROT_WRITE,
            ..Mapping::default()
        };
        // SAFETY: the array above.
        unsafe { redirect(&m, &[7, 9], &[70, 90]) };
        assert_eq!(memory, [70, 8, 90, 70]);
    }
}
