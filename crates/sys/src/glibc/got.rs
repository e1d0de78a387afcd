//! The tables in which loaded objects (the program, libraries) keep the addresses of functions of other objects; the loader fills them.
//! An entry can be made to lead elsewhere.

use crate::door::Door;
use crate::maps::{Mapping, find};
use crate::sys;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering::*};
use object::LittleEndian;
use object::elf::{self, Dyn64, FileHeader64, ProgramHeader64, Rela64, Sym64};
use object::pod::{self, Pod};

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
        let name = self.name.as_ptr();
        // SAFETY (both): looks up a symbol.
        let of_version = |v: &CStr| unsafe { libc::dlvsym(libc::RTLD_DEFAULT, name, v.as_ptr()) } as usize;
        let default = || unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) } as usize;
        let at = self.version.map(of_version).filter(|at| *at != 0).unwrap_or_else(default);
        self.real.store(at, Relaxed);
    }
}

/// Where several are called instead of one function the first of them is, and calls the next one as it would
/// call libc's. After [`Instead::learn`].
pub fn chain(list: &[Instead]) {
    for (i, first) in list.iter().enumerate() {
        if let Some(next) = list[i + 1..].iter().find(|n| n.name == first.name && n.version == first.version)
        {
            first.real.store(next.address, Relaxed);
        }
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

/// Makes the entries of `object`, one of `maps`, lead to what is in `list`; those that are to lead to libc's
/// function itself, only where the loader would find it at the first call. Returns where one of them is (one
/// that leads elsewhere, if there is any), and whether any was left to the loader.
pub fn lead(maps: &[Mapping], object: &Mapping, list: &[Instead], door: &Door) -> (Option<usize>, bool) {
    let names: Vec<&CStr> = list.iter().map(|i| i.name).collect();
    let all = entries(maps, object, &names, &|at, to| door.read(at, to)).unwrap_or_default();
    let mut left = false;
    for &(at, which) in &all {
        let (address, real) = (list[which].address, list[which].real.load(Relaxed));
        let now = word(door, at);
        let may = address != real || now.is_some_and(|w| is_of(maps, object, w));
        if real != 0 && now != Some(address) && may {
            put(maps, at, address, door);
            left |= address == real;
        }
    }
    let one = all.iter().find(|e| list[e.1].address != list[e.1].real.load(Relaxed)).or(all.first());
    (one.map(|e| e.0), left)
}

/// Is `at` in the same file as `object`?
fn is_of(maps: &[Mapping], object: &Mapping, at: usize) -> bool {
    find(maps, at).is_some_and(|m| (m.inode, &m.dev) == (object.inode, &object.dev))
}

/// Makes an entry of a table `address`.
fn put(maps: &[Mapping], at: usize, address: usize, door: &Door) {
    if door.write(at, &address.to_le_bytes()) {
        return;
    }
    // Tables that the loader has made read-only, where the system does not let a process write to those through the door.
    let prot = find(maps, at).map_or(0, |m| m.prot);
    let page = at & !(PAGE - 1);
    // SAFETY: a page of the object's table; nobody else changes its protection, since the loader is done with it.
    unsafe {
        if sys!(libc::SYS_mprotect, page, PAGE, prot | libc::PROT_WRITE) == 0 {
            (*(at as *const AtomicUsize)).store(address, Relaxed);
            sys!(libc::SYS_mprotect, page, PAGE, prot);
        }
    }
}

/// Makes the entries of an object's own tables for its function `real` (where it calls that by a pointer) lead to `address`.
pub fn lead_own(maps: &[Mapping], real: usize, address: usize, door: &Door) {
    let Some(code) = find(maps, real) else { return };
    let data = |m: &&Mapping| {
        (m.inode, &m.dev) == (code.inode, &code.dev) && m.prot & libc::PROT_EXEC == 0 && !m.shared
    };
    let mut page = [0u8; PAGE];
    for at in maps.iter().filter(data).flat_map(|m| (m.start..m.end).step_by(PAGE)) {
        if !door.read(at, &mut page) {
            continue;
        }
        for (i, _) in page.chunks_exact(8).enumerate().filter(|(_, w)| *w == real.to_le_bytes()) {
            put(maps, at + 8 * i, address, door);
        }
    }
}

/// The C string of a text that ends with a zero byte.
pub const fn c_name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with its zero byte"),
    }
}

/// Defines functions that are called instead of libc's of the same names, and `instead`, the list of them. `real` calls libc's, with the
/// caller's arguments, or what the definitions before it have made of them. In there the thread may be cancelled or jump away, past
/// frames that have nothing to be dropped. (Not "C-unwind": where panics abort, that has the compiler abort there.)
#[macro_export]
#[doc(hidden)]
macro_rules! calls_instead {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty $({ $(let $other:ident = $value:expr;)* })? = |$real:ident| $body:expr;)*) => {
        /// The functions and what is called instead.
        pub fn instead() -> Vec<$crate::got::Instead> {
            let all = [$(
                (concat!(stringify!($name), "\0"), &caught::REAL[caught::Number::$name as usize], caught::$name as *const () as usize)
            ),*];
            let one = |(name, real, address)| {
                $crate::got::Instead { name: $crate::got::c_name(name), version: None, real, address }
            };
            all.map(one).into()
        }
        mod caught {
            use super::*;
            #[allow(non_camel_case_types)]
            pub(crate) enum Number { $($name,)* Count }
            pub(crate) static REAL: [core::sync::atomic::AtomicUsize; Number::Count as usize] =
                [const { core::sync::atomic::AtomicUsize::new(0) }; Number::Count as usize];
            $(
                pub(crate) unsafe extern "C" fn $name($($arg: $t),*) -> $r {
                    // SAFETY: the caller's arguments, which are what libc's function expects.
                    $($(#[allow(unused_unsafe)] let $other = unsafe { $value };)*)?
                    // SAFETY: libc's function of this name, with such arguments.
                    let $real = || unsafe {
                        core::mem::transmute::<usize, unsafe extern "C" fn($($t),*) -> $r>(
                            REAL[Number::$name as usize].load(core::sync::atomic::Ordering::Relaxed),
                        )($($arg),*)
                    };
                    $body
                }
            )*
        }
    };
}
pub use calls_instead;

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
/// More bytes are not a table but nonsense.
const LARGEST: usize = 256 << 20;
/// Kinds of relocations that are an address.
const KINDS: [elf::RelocationType; 3] = [elf::R_X86_64_64, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT];

/// `n` of the tables' items at an address.
fn get<T: Pod>(read: Reader, at: usize, n: usize) -> Option<Vec<T>> {
    if n.checked_mul(size_of::<T>())? > LARGEST {
        return None;
    }
    // SAFETY: zeros are a value of plain data.
    let mut items: Vec<T> = (0..n).map(|_| unsafe { core::mem::zeroed() }).collect();
    read(at, pod::bytes_of_slice_mut(&mut items)).then_some(items)
}

/// The entries of the object at `object`, one of `maps`, that are for functions of other objects called as in `names`. None if no object has been
/// loaded there.
pub fn entries(maps: &[Mapping], object: &Mapping, names: &[&CStr], read: Reader) -> Option<Vec<Entry>> {
    picked(maps, object, &|name| names.iter().position(|n| *n == name), read)
}

/// Is it the beginning of a program or a shared object for this machine?
fn is_loadable(head: &FileHeader64<LittleEndian>) -> bool {
    let e = LittleEndian;
    head.e_ident.magic == elf::ELFMAG
        && (head.e_ident.class, head.e_ident.data) == (elf::ELFCLASS64, elf::ELFDATA2LSB)
        && head.e_machine.get(e) == elf::EM_X86_64
        && [elf::ET_EXEC, elf::ET_DYN].contains(&head.e_type.get(e))
}

/// The entries of the object at `object` for functions of other objects that `pick` picks by their names,
/// with what it makes of them.
pub fn picked<T>(
    maps: &[Mapping],
    object: &Mapping,
    pick: &dyn Fn(&CStr) -> Option<T>,
    read: Reader,
) -> Option<Vec<(usize, T)>> {
    let e = LittleEndian;
    let head = get::<FileHeader64<LittleEndian>>(read, object.start, 1)?.pop()?;
    if !is_loadable(&head) {
        return None;
    }
    let segments: Vec<ProgramHeader64<LittleEndian>> =
        get(read, object.start + head.e_phoff.get(e) as usize, head.e_phnum.get(e).into())?;
    let of = |kind: elf::ProgramType| segments.iter().filter(move |s| s.p_type.get(e) == kind);
    let page = |n: u64| n as usize & !(PAGE - 1);
    let first = of(elf::PT_LOAD).find(|s| page(s.p_offset.get(e)) == 0)?;
    let bias = object.start.wrapping_sub(page(first.p_vaddr.get(e)));
    // A file that is only looked at has no code where its code belongs.
    let code = of(elf::PT_LOAD).find(|s| s.p_flags.get(e).0 & elf::PF_X.0 != 0)?;
    let there = find(maps, bias.wrapping_add(page(code.p_vaddr.get(e))))?;
    let same = (there.inode, &there.dev) == (object.inode, &object.dev);
    if !same || there.prot & libc::PROT_EXEC == 0 || there.offset != page(code.p_offset.get(e)) {
        return None;
    }
    let section = of(elf::PT_DYNAMIC).next()?;
    let items = section.p_memsz.get(e) as usize / size_of::<Dyn64<LittleEndian>>();
    let dynamic: Vec<Dyn64<LittleEndian>> =
        get(read, bias.wrapping_add(section.p_vaddr.get(e) as usize), items)?;
    let value = |tag: elf::DynamicTag| {
        let mut before_the_end = dynamic.iter().take_while(|d| d.d_tag.get(e) != elf::DT_NULL);
        before_the_end.find(|d| d.d_tag.get(e) == tag).map(|d| d.d_val.get(e) as usize)
    };
    // The loader has made most of these addresses; some loaders leave them as they are in the file.
    let table = |tag| value(tag).map(|a| if a < object.start { a.wrapping_add(bias) } else { a });
    // Those that come first are relative to the object, for no function.
    let relative = value(elf::DT_RELACOUNT).unwrap_or(0);
    let mut wanted = Vec::new();
    for (at, bytes, skip) in [(elf::DT_JMPREL, elf::DT_PLTRELSZ, 0), (elf::DT_RELA, elf::DT_RELASZ, relative)]
    {
        let (Some(at), Some(bytes)) = (table(at), value(bytes)) else { continue };
        const SIZE: usize = size_of::<Rela64<LittleEndian>>();
        let all: Vec<Rela64<LittleEndian>> =
            get(read, at + skip * SIZE, (bytes / SIZE).saturating_sub(skip))?;
        let addresses = all.iter().filter(|r| KINDS.contains(&r.r_type(e, false)) && r.r_addend.get(e) == 0);
        // Where, which symbol.
        wanted.extend(
            addresses.map(|r| (bias.wrapping_add(r.r_offset.get(e) as usize), r.r_sym(e, false) as usize)),
        );
    }
    let most = wanted.iter().map(|w| w.1 + 1).max().unwrap_or(0);
    let symbols: Vec<Sym64<LittleEndian>> = get(read, table(elf::DT_SYMTAB)?, most)?;
    let strings: Vec<u8> = get(read, table(elf::DT_STRTAB)?, value(elf::DT_STRSZ)?)?;
    let which = |symbol: usize| {
        let s = &symbols[symbol];
        let name = CStr::from_bytes_until_nul(strings.get(s.st_name.get(e) as usize..)?).ok()?;
        if s.st_shndx.get(e) == elf::SHN_UNDEF { pick(name) } else { None }
    };
    Some(wanted.into_iter().filter_map(|(at, symbol)| Some((at, which(symbol)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;

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
