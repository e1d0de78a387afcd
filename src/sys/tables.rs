//! The tables in which loaded objects (the program, libraries) keep the addresses of functions of other objects; the loader fills them.
//! An entry can be made to lead elsewhere.

use super::door::Door;
use super::maps::{Mapping, find};
use crate::sys;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// A function of the C library's, and one of this library's that is to be called instead.
#[derive(Clone, Copy)]
pub struct Instead {
    /// Its name.
    pub name: &'static CStr,
    /// The version of its symbol, if it has several.
    pub version: Option<&'static CStr>,
    /// Its own address, as soon as [`Instead::learn`] has found it; 0: there is no such function.
    pub real: &'static AtomicUsize,
    /// The address to call.
    pub address: usize,
}

impl Instead {
    /// Finds the function. On an ordinary thread.
    pub fn learn(&self) {
        let find = |version: Option<&CStr>| match version {
            // SAFETY (both): looks up a symbol.
            Some(v) => unsafe { libc::dlvsym(libc::RTLD_DEFAULT, self.name.as_ptr(), v.as_ptr()) },
            None => unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) },
        };
        let at = [find(self.version), find(None)].into_iter().find(|p| !p.is_null());
        self.real.store(at.map_or(0, |p| p as usize), Relaxed);
    }
}

/// The C library's own objects, by the beginnings of their names.
const OF_LIBC: [&str; 7] = ["libc.so", "libc-", "ld-", "libpthread", "libdl", "librt", "libasan"];

/// The mappings with which objects begin that call the C library's functions; not this library's.
pub fn objects(maps: &[Mapping]) -> impl Iterator<Item = &Mapping> {
    let own = find(maps, objects as *const () as usize).map(|m| (m.inode, m.dev.as_str()));
    maps.iter().filter(move |m| {
        let name = m.path.rsplit('/').next().unwrap_or("");
        let first = m.offset == 0 && m.inode != 0 && !m.shared;
        first && own != Some((m.inode, &m.dev)) && !OF_LIBC.iter().any(|l| name.starts_with(l))
    })
}

/// Makes the entries of `object`, one of `maps`, lead to what is in `list`. Returns where one of them is.
pub fn lead(maps: &[Mapping], object: &Mapping, list: &[Instead], door: &Door) -> Option<usize> {
    let names: Vec<&CStr> = list.iter().map(|i| i.name).collect();
    let all = entries(maps, object, &names, &|at, to| door.read(at, to)).unwrap_or_default();
    for &(at, which) in &all {
        let i = &list[which];
        if i.real.load(Relaxed) != 0
            && word(door, at) != Some(i.address)
            && !door.write(at, &i.address.to_le_bytes())
        {
            // Tables that the loader has made read-only, where the system does not let a process write to those through the door.
            let prot = find(maps, at).map_or(0, |m| m.prot);
            let page = at & !(PAGE - 1);
            // SAFETY: a page of the object's table; nobody else changes its protection, since the loader is done with it.
            unsafe {
                if sys!(libc::SYS_mprotect, page, PAGE, prot | libc::PROT_WRITE) == 0 {
                    (*(at as *const AtomicUsize)).store(i.address, Relaxed);
                    sys!(libc::SYS_mprotect, page, PAGE, prot);
                }
            }
        }
    }
    all.first().map(|e| e.0)
}

/// The C string of a text that ends with a zero byte.
pub const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with its zero byte"),
    }
}

/// The word at an address, if there is one.
pub fn word(door: &Door, at: usize) -> Option<usize> {
    let mut bytes = [0; 8];
    door.read(at, &mut bytes).then(|| usize::from_le_bytes(bytes))
}

/// One entry: where it is, and which of the functions asked for it leads to.
pub type Entry = (usize, usize);

/// Reads memory of the process; false if it cannot be read.
pub type Reader<'a> = &'a dyn Fn(usize, &mut [u8]) -> bool;

const PAGE: usize = 4096;
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const EXECUTABLE: u32 = 1;
const RELOCATION: usize = 24;
const SYMBOL: usize = 24;
/// More of anything is not a table but nonsense.
const LARGEST: usize = 256 << 20;

/// Kinds of relocations that are an address: R_X86_64_64, GLOB_DAT, JUMP_SLOT.
const KINDS: [u32; 3] = [1, 6, 7];

/// Tags of the dynamic section (the System V ABI).
mod tag {
    pub const PLTRELSZ: u64 = 2;
    pub const STRTAB: u64 = 5;
    pub const SYMTAB: u64 = 6;
    pub const RELA: u64 = 7;
    pub const RELASZ: u64 = 8;
    pub const STRSZ: u64 = 10;
    pub const JMPREL: u64 = 23;
    pub const RELACOUNT: u64 = 0x6fff_fff9;
}

fn number<const N: usize>(b: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word[..N].copy_from_slice(&b[at..at + N]);
    u64::from_le_bytes(word)
}

fn get(read: Reader, at: usize, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; Some(len).filter(|n| *n <= LARGEST)?];
    read(at, &mut bytes).then_some(bytes)
}

/// The entries of the object at `object`, one of `maps`, that are for functions of other objects called as in `names`. None if no object has been
/// loaded there.
pub fn entries(maps: &[Mapping], object: &Mapping, names: &[&CStr], read: Reader) -> Option<Vec<Entry>> {
    let head = get(read, object.start, HEADER)?;
    // 64 bits, little-endian, for this machine, a program or a library.
    if head[..6] != *b"\x7fELF\x02\x01"
        || number::<2>(&head, 18) != 62
        || ![2, 3].contains(&number::<2>(&head, 16))
    {
        return None;
    }
    let segments =
        get(read, object.start + number::<8>(&head, 32) as usize, number::<2>(&head, 56) as usize * SEGMENT)?;
    let segments: Vec<&[u8]> = segments.chunks_exact(SEGMENT).collect();
    let page = |n: u64| n as usize & !4095;
    let of = |kind: u32| segments.iter().filter(move |s| number::<4>(s, 0) as u32 == kind);
    let (offset, address) = (|s: &[u8]| number::<8>(s, 8), |s: &[u8]| number::<8>(s, 16));
    let first = of(LOAD).find(|s| page(offset(s)) == 0)?;
    let bias = object.start.wrapping_sub(page(address(first)));
    // A file that is only looked at has no code where its code belongs.
    let code = of(LOAD).find(|s| number::<4>(s, 4) as u32 & EXECUTABLE != 0)?;
    let there = find(maps, bias.wrapping_add(page(address(code))))?;
    let same = (there.inode, &there.dev) == (object.inode, &object.dev);
    if !same || there.prot & libc::PROT_EXEC == 0 || there.offset != page(offset(code)) {
        return None;
    }
    let dynamic = of(DYNAMIC).next()?;
    let dynamic = get(read, bias.wrapping_add(address(dynamic) as usize), number::<8>(dynamic, 40) as usize)?;
    let value = |tag: u64| {
        let mut words = dynamic.chunks_exact(16).take_while(|d| number::<8>(d, 0) != 0);
        words.find(|d| number::<8>(d, 0) == tag).map(|d| number::<8>(d, 8) as usize)
    };
    // The loader has made most of these addresses; some loaders leave them as they are in the file.
    let table = |tag: u64| value(tag).map(|a| if a < object.start { a.wrapping_add(bias) } else { a });
    let mut all = Vec::new();
    let relative = value(tag::RELACOUNT).unwrap_or(0) * RELOCATION;
    for (at, len, skip) in
        [(table(tag::JMPREL), value(tag::PLTRELSZ), 0), (table(tag::RELA), value(tag::RELASZ), relative)]
    {
        if let (Some(at), Some(len)) = (at, len) {
            all.extend(get(read, at + skip, len.saturating_sub(skip))?);
        }
    }
    // Where, which symbol.
    let wanted: Vec<(usize, usize)> = all
        .chunks_exact(RELOCATION)
        .filter(|r| KINDS.contains(&(number::<4>(r, 8) as u32)) && number::<8>(r, 16) == 0)
        .map(|r| (bias.wrapping_add(number::<8>(r, 0) as usize), number::<4>(r, 12) as usize))
        .collect();
    let most = wanted.iter().map(|w| w.1 + 1).max().unwrap_or(0);
    let symbols = get(read, table(tag::SYMTAB)?, most * SYMBOL)?;
    let strings = get(read, table(tag::STRTAB)?, value(tag::STRSZ)?)?;
    let which = |symbol: usize| {
        let s = &symbols[symbol * SYMBOL..][..SYMBOL];
        let elsewhere = number::<2>(s, 6) == 0;
        let name = CStr::from_bytes_until_nul(strings.get(number::<4>(s, 0) as usize..)?).ok()?;
        names.iter().position(|n| *n == name).filter(|_| elsewhere)
    };
    Some(wanted.into_iter().filter_map(|(at, symbol)| Some((at, which(symbol)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::maps;

    fn look(at: usize, to: &mut [u8]) -> bool {
        use std::os::unix::fs::FileExt;
        std::fs::File::open("/proc/self/mem").unwrap().read_exact_at(to, at as u64).is_ok()
    }

    #[test]
    fn the_entry_of_this_program_for_a_function_of_libc() {
        let maps = maps::all();
        let own = maps::find(&maps, look as *const () as usize).unwrap().path.clone();
        let object = maps.iter().find(|m| m.path == own && m.offset == 0).unwrap();
        let found = entries(&maps, object, &[c"no_such_function", c"getpid"], &look).unwrap();
        assert!(!found.is_empty() && found.iter().all(|e| e.1 == 1), "{found:?}");
        // SAFETY: an entry of this program, which is bound when it starts or at the first call.
        unsafe {
            libc::getpid();
            let bound = *(found[0].0 as *const usize);
            assert_eq!(bound, libc::dlsym(libc::RTLD_DEFAULT, c"getpid".as_ptr()) as usize);
        }
    }

    #[test]
    fn a_file_that_is_only_looked_at_is_no_object() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        use std::os::fd::AsRawFd;
        // SAFETY: a fresh mapping.
        let at = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                1 << 16,
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        let maps = maps::all();
        let object = maps::find(&maps, at as usize).unwrap();
        assert_eq!(entries(&maps, object, &[c"getpid"], &look), None);
    }
}
