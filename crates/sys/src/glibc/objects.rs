//! Shared objects: those that the loader has loaded, and one that does nothing but take up addresses.

use crate::sys;
use core::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

/// A shared object in memory.
pub struct Object {
    /// Its file, as the loader was told or has found it.
    pub path: String,
    /// Its first address.
    pub start: usize,
    /// Behind its last one.
    pub end: usize,
}

/// Those that the loader has loaded for the program, in that order; neither the program nor the loader
/// itself. For threads of libc's only: the loader looks at the caller's thread-local memory.
pub fn loaded() -> Vec<Object> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
        // SAFETY: the loader describes an object; `list` is the list below.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<Object>>()) };
        // SAFETY: as above; the loader's name and headers of the object.
        let (name, headers) = unsafe {
            (
                if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) },
                core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
            )
        };
        let first = headers.iter().find(|h| h.p_type == libc::PT_LOAD);
        let start = first.map_or(0, |h| (info.dlpi_addr + h.p_vaddr) as usize);
        let ends = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).map(|h| h.p_vaddr + h.p_memsz);
        let end = (info.dlpi_addr + ends.max().unwrap_or(0)).next_multiple_of(4096) as usize;
        let path = name.to_string_lossy().into_owned();
        // The program has no name, the kernel's object no path.
        if path.contains('/') && start != loader() {
            list.push(Object { path, start, end });
        }
        0
    }
    let mut list: Vec<Object> = Vec::new();
    // SAFETY: `note` gets the list.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut list).cast()) };
    list
}

/// A number that is another one as soon as objects have been loaded or taken away. For threads of libc's
/// only, like [`loaded`].
pub fn changes() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, n: *mut c_void) -> c_int {
        // SAFETY: the loader's description; the number below.
        unsafe { *n.cast::<u64>() = (*info).dlpi_adds + ((*info).dlpi_subs << 32) };
        1
    }
    let mut n = 0u64;
    // SAFETY: `first` gets the number.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut n).cast()) };
    n
}

/// The words of the section with this name in the memory of each loaded object that has one, the program
/// first. For threads of libc's only, like [`loaded`]; what is handed over goes with its object.
pub fn section(name: &[u8]) -> Vec<&'static [usize]> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
        // SAFETY: the loader describes an object; `list` is the list below.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<(String, usize)>>()) };
        // SAFETY: the loader's name of the object.
        let name = unsafe { if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) } };
        let path = if name.is_empty() { "/proc/self/exe".into() } else { name.to_string_lossy() };
        list.push((path.into_owned(), info.dlpi_addr as usize));
        0
    }
    let mut list: Vec<(String, usize)> = Vec::new();
    // SAFETY: `note` gets the list.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut list).cast()) };
    let words = |(path, base): &(String, usize)| {
        let (at, bytes) = in_file(path, name)?;
        // SAFETY: a section of a loaded object that takes up memory.
        Some(unsafe { core::slice::from_raw_parts((base + at) as *const usize, bytes / size_of::<usize>()) })
    };
    list.iter().filter(|o| o.0.contains('/')).filter_map(words).collect()
}

/// Address and size of a section, as the file's headers have them.
fn in_file(path: &str, name: &[u8]) -> Option<(usize, usize)> {
    use object::LittleEndian as L;
    use object::elf::FileHeader64;
    use object::read::elf::{FileHeader, SectionHeader};
    let file = object::ReadCache::new(File::open(path).ok()?);
    let header = FileHeader64::<L>::parse(&file).ok()?;
    let (_, section) = header.sections(L, &file).ok()?.section_by_name(L, name)?;
    let loaded = section.sh_flags(L).0 & object::elf::SHF_ALLOC.0 != 0;
    loaded.then(|| (section.sh_addr(L) as usize, section.sh_size(L) as usize))
}

/// The object that an address lies in.
pub struct Around {
    /// Its file.
    pub path: String,
    /// What its addresses exceed those in the file by.
    pub base: usize,
    /// Its GNU build id, if it has one.
    pub build_id: Vec<u8>,
}

/// The object that `at` lies in. For threads of libc's only, like [`loaded`].
pub fn around(at: usize) -> Option<Around> {
    struct Asked {
        at: usize,
        found: Option<Around>,
    }
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, asked: *mut c_void) -> c_int {
        // SAFETY: the loader describes an object; `asked` is the one below.
        let (info, asked) = unsafe { (&*info, &mut *asked.cast::<Asked>()) };
        // SAFETY: as above; the loader's name and headers of the object.
        let (name, headers) = unsafe {
            (
                if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) },
                core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
            )
        };
        let base = info.dlpi_addr as usize;
        let start = |h: &libc::Elf64_Phdr| base + h.p_vaddr as usize;
        let holds = |h: &&libc::Elf64_Phdr| {
            h.p_type == libc::PT_LOAD && (start(h)..start(h) + h.p_memsz as usize).contains(&asked.at)
        };
        if !headers.iter().any(|h| holds(&h)) {
            return 0;
        }
        let notes = headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
        let build_id = notes
            .into_iter()
            // SAFETY: notes of a loaded object are in its memory.
            .find_map(|h| unsafe { gnu_build_id(start(h), h.p_memsz as usize) })
            .unwrap_or_default();
        let mut path = name.to_string_lossy().into_owned();
        if path.is_empty() {
            let exe = std::fs::read_link("/proc/self/exe");
            path = exe.map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
        }
        asked.found = Some(Around { path, base, build_id });
        1
    }
    let mut asked = Asked { at, found: None };
    // SAFETY: `look` gets what it is asked.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut asked).cast()) };
    asked.found
}

/// The GNU build id among the notes of `len` bytes at `at` (System V ABI, chapter 5).
///
/// # Safety
/// The notes are readable.
unsafe fn gnu_build_id(at: usize, len: usize) -> Option<Vec<u8>> {
    const NT_GNU_BUILD_ID: u32 = 3;
    const HEAD: usize = 12;
    // SAFETY: by the caller's promise.
    let bytes = unsafe { core::slice::from_raw_parts(at as *const u8, len) };
    let mut rest = bytes;
    while rest.len() > HEAD {
        let word = |i: usize| u32::from_le_bytes([rest[i], rest[i + 1], rest[i + 2], rest[i + 3]]) as usize;
        let (name, desc, kind) = (word(0), word(4), word(8));
        let desc_at = HEAD + name.next_multiple_of(4);
        let end = desc_at.checked_add(desc)?;
        if kind == NT_GNU_BUILD_ID as usize && rest.get(HEAD..HEAD + 4) == Some(b"GNU\0") {
            return rest.get(desc_at..end).map(<[u8]>::to_vec);
        }
        rest = rest.get(desc_at + desc.next_multiple_of(4)..)?;
    }
    None
}

/// Does the program, or a library that is loaded for it, say that it needs a library whose name begins with one of `names`? This one is not asked.
pub fn any_needs(names: &[&str]) -> bool {
    struct Search<'a>(&'a [&'a str], bool);
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        const NEEDED: u64 = 1;
        const STRINGS: u64 = 5;
        // SAFETY: the loader describes an object; `search` is the one below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the object's headers.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let own = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).any(|h| {
            let start = base + h.p_vaddr as usize;
            (start..start + h.p_memsz as usize).contains(&(any_needs as *const () as usize))
        });
        let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC).filter(|_| !own) else {
            return 0;
        };
        // SAFETY: the object's table of such pairs, which the loader has read, too.
        let table = unsafe {
            core::slice::from_raw_parts(
                (base + dynamic.p_vaddr as usize) as *const [u64; 2],
                dynamic.p_memsz as usize / 16,
            )
        };
        let items = || table.iter().take_while(|d| d[0] != 0);
        // The loader has made it an address; in the kernel's object, which needs nothing, it is none.
        let Some(strings) = items().find(|d| d[0] == STRINGS).map(|d| d[1] as usize) else { return 0 };
        let strings = if strings < base { base + strings } else { strings };
        search.1 |= items().filter(|d| d[0] == NEEDED).any(|d| {
            // SAFETY: one of the object's strings.
            let name = unsafe { CStr::from_ptr((strings + d[1] as usize) as *const _) }.to_bytes();
            let file = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
            search.0.iter().any(|n| file.starts_with(n.as_bytes()))
        });
        c_int::from(search.1)
    }
    let mut search = Search(names, false);
    // SAFETY: `look` gets the search.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.1
}

/// Has the object that `at` lies in come with the program, rather than by dlopen(3)? Those that come later
/// stand behind the loader. (Some that come with it do, too.) For threads of libc's only, like [`loaded`].
pub fn comes_with_the_program(at: usize) -> bool {
    const FOUND: c_int = 1;
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, base: *mut c_void) -> c_int {
        // SAFETY: the loader describes an object.
        match unsafe { (*info).dlpi_addr } as usize {
            found if found == base as usize => FOUND,
            found if found == loader() => FOUND + 1,
            _ => 0,
        }
    }
    // SAFETY: `look` gets a number.
    around(at).is_some_and(|own| unsafe { libc::dl_iterate_phdr(Some(look), own.base as *mut _) } == FOUND)
}

/// The loader's own first address.
pub fn loader() -> usize {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_BASE) as usize }
}

/// The function that begins at `address`: its object's file, and its name, if that is exported. For threads
/// of libc's only.
pub fn symbol_at(address: usize) -> Option<(String, String)> {
    // SAFETY: a structure of pointers, of which null is a value.
    let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: it may be asked for any address, and fills the structure.
    let known = unsafe { libc::dladdr(address as *const c_void, &raw mut found) } != 0;
    if !known || found.dli_saddr as usize != address || found.dli_sname.is_null() || found.dli_fname.is_null()
    {
        return None;
    }
    // SAFETY: strings of the loader's, of an object that is loaded.
    let text = |s| unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned();
    Some((text(found.dli_fname), text(found.dli_sname)))
}

/// The object that an address lies in, by a name that stays when it is loaded elsewhere: its build id in
/// hexadecimal, or the last part of its file's name; and the address's offset from where it is loaded. For
/// threads of libc's only, as above.
pub fn place_of(address: usize) -> Option<(String, u64)> {
    struct Wanted {
        address: usize,
        found: Option<(String, u64)>,
    }
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, wanted: *mut c_void) -> c_int {
        // SAFETY: the loader describes an object; `wanted` is the structure below.
        let (info, wanted) = unsafe { (&*info, &mut *wanted.cast::<Wanted>()) };
        // SAFETY: the loader's headers of the object.
        let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr as usize;
        let start = |h: &libc::Elf64_Phdr| base.wrapping_add(h.p_vaddr as usize);
        let within = |h: &libc::Elf64_Phdr| wanted.address.wrapping_sub(start(h)) < h.p_memsz as usize;
        if !headers.iter().any(|h| h.p_type == libc::PT_LOAD && within(h)) {
            return 0;
        }
        let notes = headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
        // SAFETY: note segments lie in the object's loaded memory.
        let id =
            notes.map(|h| unsafe { core::slice::from_raw_parts(start(h) as *const u8, h.p_memsz as usize) });
        let id = id.into_iter().find_map(build_id);
        let name = id.or_else(|| {
            let name = if info.dlpi_name.is_null() {
                String::new()
            } else {
                // SAFETY: the loader's name of the object.
                unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
            };
            let name = if name.is_empty() {
                std::fs::read_link("/proc/self/exe").map(|p| p.display().to_string()).unwrap_or_default()
            } else {
                name
            };
            name.rsplit('/').next().map(str::to_string)
        });
        wanted.found = name.map(|n| (n, wanted.address.wrapping_sub(base) as u64));
        1
    }
    let mut wanted = Wanted { address, found: None };
    // SAFETY: `look` gets the structure.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut wanted).cast()) };
    wanted.found
}

/// The build id among the notes of an object (System V ABI, "Note Section"; NT_GNU_BUILD_ID is 3).
fn build_id(mut notes: &[u8]) -> Option<String> {
    let word = |b: &[u8], i: usize| Some(u32::from_le_bytes(b.get(i..i + 4)?.try_into().ok()?) as usize);
    loop {
        let (names, bytes, kind) = (word(notes, 0)?, word(notes, 4)?, word(notes, 8)?);
        let at = 12 + names.checked_next_multiple_of(4)?;
        let text = notes.get(at..at.checked_add(bytes)?)?;
        if kind == 3 && notes.get(12..12 + names)? == b"GNU\0" {
            return Some(text.iter().map(|b| format!("{b:02x}")).collect());
        }
        notes = notes.get(at + bytes.checked_next_multiple_of(4)?..)?;
    }
}

/// Where a function of the program itself is, also if the linker has not exported it: by the table of symbols
/// in its file, unless that was stripped, or has more than `most` bytes (System V ABI, chapter 4).
pub fn of_program(name: &[u8], most: u64) -> Option<usize> {
    const SYMBOLS: u32 = 2;
    const FUNCTION: u8 = 2;
    let file = File::open("/proc/self/exe").ok()?;
    let part = |at: u64, len: u64| {
        let mut bytes = vec![0; usize::try_from(len.min(most)).ok()?];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    };
    let half = |b: &[u8], i: usize| Some(u16::from_le_bytes(b.get(i..i + 2)?.try_into().ok()?));
    let word = |b: &[u8], i: usize| Some(u32::from_le_bytes(b.get(i..i + 4)?.try_into().ok()?));
    let long = |b: &[u8], i: usize| Some(u64::from_le_bytes(b.get(i..i + 8)?.try_into().ok()?));
    let head = part(0, 64)?;
    let (headers, size, count) = (long(&head, 40)?, half(&head, 58)?, half(&head, 60)?);
    if size != 64 {
        return None;
    }
    let headers = part(headers, 64 * u64::from(count))?;
    let section = |i: usize| headers.get(64 * i..64 * (i + 1));
    let table = (0..usize::from(count)).filter_map(section).find(|s| word(s, 4) == Some(SYMBOLS))?;
    let names = section(word(table, 40)? as usize)?;
    if long(table, 32)?.max(long(names, 32)?) > most {
        return None;
    }
    let names = part(long(names, 24)?, long(names, 32)?)?;
    let is_it = |s: &[u8]| {
        let text = word(s, 0).and_then(|at| names.get(at as usize..)).unwrap_or_default();
        s[4] & 15 == FUNCTION && text.starts_with(name) && text.get(name.len()) == Some(&0)
    };
    let symbols = part(long(table, 24)?, long(table, 32)?)?;
    let value = symbols.chunks_exact(24).find(|s| is_it(s)).and_then(|s| long(s, 8))?;
    // SAFETY: reads the auxiliary vector: where the program's headers are.
    let base = unsafe { libc::getauxval(libc::AT_PHDR) }.wrapping_sub(long(&head, 32)?);
    let moved = half(&head, 16)? == 3; // a shared object, as programs are that can lie anywhere
    Some(if moved { base.wrapping_add(value) } else { value } as usize).filter(|_| value != 0)
}

/// The file of a shared object that takes up `pages` pages, without a name in any folder: a descriptor that
/// is open in programs executed from here, too.
pub fn spacer(pages: usize) -> io::Result<c_int> {
    // SAFETY: a name.
    let fd = unsafe { sys!(libc::SYS_memfd_create, c"promp-spacer".as_ptr(), 0) } as c_int;
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: just made. It is not closed: others are to open it by its number.
    let mut file = core::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let bytes = pages as u64 * 4096;
    file.set_len(bytes)?;
    file.write_all(&image(bytes))?;
    Ok(fd)
}

/// The beginning of a shared object of `bytes` bytes, at most a page: no code, no symbols (System V ABI,
/// chapters 4 and 5).
fn image(bytes: u64) -> Vec<u8> {
    const HEADER: u64 = 64;
    const PROGRAM_HEADER: u64 = 56;
    const SYMBOL: u64 = 24;
    // The loader reads the addresses of the symbols and of their names without asking whether there are any.
    const DYNAMIC: u64 = HEADER + 3 * PROGRAM_HEADER;
    const SYMBOLS: u64 = DYNAMIC + 5 * 16;
    const NAMES: u64 = SYMBOLS + SYMBOL;
    const READ_WRITE: u32 = libc::PF_R | libc::PF_W;
    const DT: [(u64, u64); 5] = [(5, NAMES), (6, SYMBOLS), (10, 1), (11, SYMBOL), (0, 0)]; // STRTAB, SYMTAB, STRSZ, SYMENT, NULL
    let mut out = Vec::new();
    out.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // 64 bits, little-endian
    out.extend([3u16, 62].map(u16::to_le_bytes).as_flattened()); // a shared object for x86-64
    out.extend(1u32.to_le_bytes());
    out.extend([0, HEADER, 0].map(u64::to_le_bytes).as_flattened()); // entry, program headers, sections
    out.extend(0u32.to_le_bytes());
    out.extend([HEADER as u16, PROGRAM_HEADER as u16, 3, 0, 0, 0].map(u16::to_le_bytes).as_flattened());
    let dynamic = (SYMBOLS - DYNAMIC, DYNAMIC);
    for (kind, (len, at)) in
        [(libc::PT_LOAD, (bytes, 0)), (libc::PT_DYNAMIC, dynamic), (libc::PT_GNU_STACK, (0, 0))]
    {
        out.extend([kind, READ_WRITE].map(u32::to_le_bytes).as_flattened());
        let align = if kind == libc::PT_LOAD { 4096 } else { 8 };
        out.extend([at, at, at, len, len, align].map(u64::to_le_bytes).as_flattened());
    }
    out.extend(DT.map(|(tag, value)| [tag, value].map(u64::to_le_bytes)).as_flattened().as_flattened());
    out.resize(NAMES as usize + 1, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn the_loader_takes_a_spacer() {
        for pages in [1, 11, 5000] {
            let fd = spacer(pages).expect("a file");
            let path = format!("/proc/self/fd/{fd}");
            let name = CString::new(&*path).expect("a path");
            // SAFETY: the object has no code.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null(), "{pages} pages");
            let list = loaded();
            let Object { start, end, .. } = list.iter().find(|o| o.path == path).expect("it is loaded");
            assert_eq!(*end, start + pages * 4096);
            assert_eq!(crate::maps::find(&crate::maps::all(), *start).map(|m| m.end), Some(*end));
            // SAFETY: opened above.
            unsafe {
                libc::dlclose(handle);
                libc::close(fd);
            }
        }
    }

    #[test]
    fn places_have_names() {
        let (module, offset) = place_of(places_have_names as *const () as usize).expect("this program");
        assert!(module.len() > 8 && offset > 0, "{module} {offset:#x}");
        assert_eq!(place_of(1), None);
        let note = |kind: u32| {
            [&4u32.to_le_bytes()[..], &3u32.to_le_bytes(), &kind.to_le_bytes(), b"GNU\0", &[1, 0xab, 3, 0]]
                .concat()
        };
        assert_eq!(build_id(&[note(1), note(3)].concat()).as_deref(), Some("01ab03"));
        assert_eq!(build_id(&note(3)[..18]), None);
        assert_eq!(build_id(&note(1)), None);
    }

    #[test]
    fn functions_of_the_program() {
        // The compiler's own start-up code is in every program, and exported by none.
        assert!(of_program(b"_start", 1 << 30).is_some_and(|at| place_of(at).is_some()));
        assert_eq!(of_program(b"_start", 100), None);
        assert_eq!(of_program(b"no_such_function", 1 << 30), None);
    }

    #[test]
    fn what_objects_need() {
        // The C library needs the loader; this program is not asked.
        assert!(any_needs(&["ld-linux"]) && !any_needs(&["libc-of-another"]));
    }

    #[test]
    fn libc_is_loaded() {
        let list = loaded();
        let at = libc::abort as *const () as usize;
        let before = list.iter().filter(|o| o.start <= at).max_by_key(|o| o.start).expect("one");
        assert!(before.path.contains("libc"), "{}", before.path);
        assert!(list.iter().all(|o| o.start != loader()));
    }
}
