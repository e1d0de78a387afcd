//! The symbols of an object that the loader has loaded: those it asks others for, those it has for others,
//! with their versions. Read where the loader itself reads them: in memory, by the object's dynamic section
//! (System V ABI, chapter 5; GNU hash tables and versions as in the Linux Standard Base). Reads only, takes
//! no memory and no lock: it is asked while the library is loaded.

use core::ffi::CStr;
use core::ops::Range;
use libc::{Elf64_Phdr, Elf64_Sym, dl_phdr_info};

/// Tags of entries in the dynamic section.
mod tag {
    pub(super) const PLTRELSZ: u64 = 2;
    pub(super) const HASH: u64 = 4;
    pub(super) const STRTAB: u64 = 5;
    pub(super) const SYMTAB: u64 = 6;
    pub(super) const RELA: u64 = 7;
    pub(super) const RELASZ: u64 = 8;
    pub(super) const STRSZ: u64 = 10;
    pub(super) const JMPREL: u64 = 23;
    pub(super) const GNU_HASH: u64 = 0x6fff_fef5;
    pub(super) const VERSYM: u64 = 0x6fff_fff0;
    pub(super) const VERDEF: u64 = 0x6fff_fffc;
    pub(super) const VERNEED: u64 = 0x6fff_fffe;
}

/// In a symbol's version: only for those who ask for this version.
const HIDDEN: u16 = 0x8000;
/// Versions below this are not names: local, and the object's base.
const FIRST_VERSION: u16 = 2;

/// A version that an object needs: an entry of the list of one file (`Elfxx_Verneed`, `Elfxx_Vernaux`).
#[repr(C)]
struct Need {
    version: u16,
    count: u16,
    file: u32,
    first: u32,
    next: u32,
}

#[repr(C)]
struct Needed {
    hash: u32,
    flags: u16,
    number: u16,
    name: u32,
    next: u32,
}

/// A version that an object has (`Elfxx_Verdef`, `Elfxx_Verdaux`).
#[repr(C)]
struct Has {
    version: u16,
    flags: u16,
    number: u16,
    count: u16,
    hash: u32,
    first: u32,
    next: u32,
}

/// A symbol that an object asks others for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// The version asked for, if it was linked against a library with versions.
    pub version: Option<&'a CStr>,
}

/// An object's tables; zero where it has none. They live as long as the object is loaded.
pub struct Dynamic<'a> {
    /// The object's addresses, from the first to behind the last.
    pub memory: Range<usize>,
    base: usize,
    names: usize,
    names_len: usize,
    symbols: usize,
    sysv: usize,
    gnu: usize,
    versions: usize,
    needs: usize,
    has: usize,
    relocations: [(usize, usize); 2],
    life: core::marker::PhantomData<&'a ()>,
}

impl<'a> Dynamic<'a> {
    /// That of the object that the loader describes.
    ///
    /// # Safety
    /// `info` is what `dl_iterate_phdr` gave, and the object is not unloaded in `'a`.
    pub unsafe fn of(info: &dl_phdr_info) -> Option<Self> {
        // SAFETY: the object's headers, as the loader says.
        let headers: &[Elf64_Phdr] =
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let at = |p: &Elf64_Phdr| base.wrapping_add(p.p_vaddr as usize);
        let loaded = || headers.iter().filter(|p| p.p_type == libc::PT_LOAD);
        let memory = loaded().map(at).min()?..loaded().map(|p| at(p) + p.p_memsz as usize).max()?;
        let section = headers.iter().find(|p| p.p_type == libc::PT_DYNAMIC).map(at)?;
        let mut d = Self {
            memory,
            base,
            names: 0,
            names_len: 0,
            symbols: 0,
            sysv: 0,
            gnu: 0,
            versions: 0,
            needs: 0,
            has: 0,
            relocations: [(0, 0); 2],
            life: core::marker::PhantomData,
        };
        let mut entry = section as *const [u64; 2];
        loop {
            // SAFETY: the section ends with an entry of tag 0.
            let [tag, value] = unsafe { *entry };
            let value = value as usize;
            // The loader has made addresses of some of the offsets.
            let address = if d.memory.contains(&value) { value } else { base.wrapping_add(value) };
            match tag {
                0 => break,
                tag::STRTAB => d.names = address,
                tag::STRSZ => d.names_len = value,
                tag::SYMTAB => d.symbols = address,
                tag::HASH => d.sysv = address,
                tag::GNU_HASH => d.gnu = address,
                tag::VERSYM => d.versions = address,
                tag::VERNEED => d.needs = address,
                tag::VERDEF => d.has = address,
                tag::RELA => d.relocations[0].0 = address,
                tag::RELASZ => d.relocations[0].1 = value,
                tag::JMPREL => d.relocations[1].0 = address,
                tag::PLTRELSZ => d.relocations[1].1 = value,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
        (d.names != 0 && d.symbols != 0).then_some(d)
    }

    /// A number of the object's at `at`.
    fn word(&self, at: usize) -> u32 {
        // SAFETY: the callers stay within the tables.
        unsafe { *(at as *const u32) }
    }

    fn symbol(&self, i: u32) -> &'a Elf64_Sym {
        // SAFETY: `i` is one of the table's.
        unsafe { &*(self.symbols as *const Elf64_Sym).add(i as usize) }
    }

    fn name(&self, offset: u32) -> &'a CStr {
        // SAFETY: an offset into the names, each of which ends with a zero.
        unsafe { CStr::from_ptr((self.names + offset as usize) as *const core::ffi::c_char) }
    }

    /// The number of symbols that may be ones asked for: those come first, before all that the hash table
    /// has.
    fn candidates(&self) -> u32 {
        if self.gnu != 0 {
            let (buckets, first, bloom) =
                (self.word(self.gnu), self.word(self.gnu + 4), self.word(self.gnu + 8));
            let lists = self.gnu + 16 + 8 * bloom as usize;
            if (0..buckets as usize).any(|b| self.word(lists + 4 * b) != 0) {
                return first;
            }
        } else if self.sysv != 0 {
            return self.word(self.sysv + 4);
        }
        // An empty table says nothing of the rest. Symbols that no relocation names are not asked for.
        let mut last = 0;
        for (start, bytes) in self.relocations {
            for i in 0..bytes / size_of::<[u64; 3]>() {
                // SAFETY: the relocations lie there.
                let [_, what, _] = unsafe { *(start as *const [u64; 3]).add(i) };
                last = last.max((what >> 32) as u32);
            }
        }
        last + 1
    }

    /// Calls `found` for each symbol that the object asks others for, as soon as `kind` wants names that
    /// begin with these four bytes.
    pub fn wanted(&self, kind: impl Fn([u8; 4]) -> bool, mut found: impl FnMut(Wanted<'a>)) {
        for i in 1..self.candidates() {
            let s = self.symbol(i);
            let at = s.st_name as usize;
            if s.st_shndx != 0 || at + 4 > self.names_len {
                continue;
            }
            // SAFETY: four of the names' bytes.
            if kind(unsafe { *((self.names + at) as *const [u8; 4]) }) {
                found(Wanted { name: self.name(s.st_name), version: self.version_wanted(i) });
            }
        }
    }

    /// The number of the version of a symbol.
    fn version_number(&self, i: u32) -> u16 {
        // SAFETY: there is one for each symbol.
        if self.versions == 0 { 0 } else { unsafe { *(self.versions as *const u16).add(i as usize) } }
    }

    fn version_wanted(&self, i: u32) -> Option<&'a CStr> {
        let number = self.version_number(i) & !HIDDEN;
        if number < FIRST_VERSION || self.needs == 0 {
            return None;
        }
        let mut at = self.needs;
        loop {
            // SAFETY: the lists are linked by the distances from one entry to the next; 0 ends them.
            let file = unsafe { &*(at as *const Need) };
            let mut one = at + file.first as usize;
            for _ in 0..file.count {
                // SAFETY: as above.
                let v = unsafe { &*(one as *const Needed) };
                if v.number & !HIDDEN == number {
                    return Some(self.name(v.name));
                }
                one += v.next as usize;
            }
            if file.next == 0 {
                return None;
            }
            at += file.next as usize;
        }
    }

    /// Is version `number` of those that the object has the one of this name?
    fn is_version(&self, number: u16, name: &CStr) -> bool {
        let (mut at, hash) = (self.has, sysv_hash(name));
        while at != 0 {
            // SAFETY: linked like those needed; the first auxiliary entry begins with the name.
            let v = unsafe { &*(at as *const Has) };
            if v.number & !HIDDEN == number {
                return v.hash == hash && self.name(self.word(at + v.first as usize)) == name;
            }
            if v.next == 0 {
                return false;
            }
            at += v.next as usize;
        }
        false
    }

    /// Where the function is that whoever asks for this name gets, without a version the one of its default
    /// version.
    pub fn function(&self, wanted: Wanted) -> Option<usize> {
        let default = |i| wanted.version.is_some() || self.version_number(i) & HIDDEN == 0;
        let i = self.find(|i| self.answers(i, wanted) && default(i), wanted.name)?;
        Some(self.base.wrapping_add(self.symbol(i).st_value as usize))
    }

    /// Would the loader take symbol `i` for what is wanted?
    fn answers(&self, i: u32, wanted: Wanted) -> bool {
        let s = self.symbol(i);
        if s.st_shndx == 0 || self.name(s.st_name) != wanted.name {
            return false;
        }
        if self.versions == 0 {
            return true;
        }
        let number = self.version_number(i);
        match wanted.version {
            Some(v) if self.has != 0 => self.is_version(number & !HIDDEN, v),
            Some(_) => true,
            None => number & HIDDEN == 0 || number & !HIDDEN <= FIRST_VERSION,
        }
    }

    /// Has the object what is wanted?
    pub fn has(&self, wanted: Wanted) -> bool {
        self.find(|i| self.answers(i, wanted), wanted.name).is_some()
    }

    /// The first symbol of this name that `is` takes.
    fn find(&self, is: impl Fn(u32) -> bool, name: &CStr) -> Option<u32> {
        if self.gnu != 0 {
            let [buckets, first, bloom, shift] = [0, 4, 8, 12].map(|at| self.word(self.gnu + at));
            let hash = gnu_hash(name);
            // SAFETY: the filter, `bloom` words, a power of two.
            let filter =
                unsafe { *((self.gnu + 16) as *const u64).add((hash as usize / 64) & (bloom as usize - 1)) };
            if filter >> (hash % 64) & filter >> ((hash >> shift) % 64) & 1 == 0 || buckets == 0 {
                return None;
            }
            let lists = self.gnu + 16 + 8 * bloom as usize;
            let mut i = self.word(lists + 4 * (hash % buckets) as usize);
            if i < first {
                return None;
            }
            loop {
                let of_it = self.word(lists + 4 * (buckets + i - first) as usize);
                if (of_it ^ hash) & !1 == 0 && is(i) {
                    return Some(i);
                }
                if of_it & 1 != 0 {
                    return None;
                }
                i += 1;
            }
        }
        if self.sysv == 0 {
            return None;
        }
        let (buckets, chains) = (self.word(self.sysv), self.word(self.sysv + 4));
        if buckets == 0 {
            return None;
        }
        let mut i = self.word(self.sysv + 8 + 4 * (sysv_hash(name) % buckets) as usize);
        while i != 0 && i < chains {
            if is(i) {
                return Some(i);
            }
            i = self.word(self.sysv + 8 + 4 * (buckets + i) as usize);
        }
        None
    }
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |h: u32, &b| h.wrapping_mul(33).wrapping_add(u32::from(b)))
}

fn sysv_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(0, |h: u32, &b| {
        let h = (h << 4).wrapping_add(u32::from(b));
        let high = h & 0xf000_0000;
        (h ^ high >> 24) & !high
    })
}
