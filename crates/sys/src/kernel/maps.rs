//! What is mapped where: /proc/self/maps, read with raw system calls into arena memory (no libc locks: the
//! caller may be the recovery of a thread that died anywhere).

use crate::sys;

pub use promp_image::Map as Mapping;

/// Reads a whole file by raw system calls.
pub fn read_file(path: &core::ffi::CStr) -> Option<Vec<u8>> {
    // SAFETY: the path is a C string; the buffer is writable.
    unsafe {
        let fd = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let mut out = Vec::new();
        let mut buf = vec![0u8; 1 << 16];
        loop {
            let n = sys!(libc::SYS_read, fd, buf.as_mut_ptr(), buf.len());
            if n <= 0 {
                break;
            }
            out.extend_from_slice(&buf[..n as usize]);
        }
        sys!(libc::SYS_close, fd);
        Some(out)
    }
}

/// A name in a directory.
pub struct Name {
    /// The name.
    pub name: String,
    /// The file's number.
    pub inode: u64,
}

/// The names in a directory, by raw system calls: libc's `opendir` would call the program's `malloc`.
pub fn entries(path: &core::ffi::CStr) -> Vec<Name> {
    const NAME: usize = 19; // offset of d_name in linux_dirent64
    let mut out = Vec::new();
    // SAFETY: a C string; the kernel fills the buffer with whole records.
    unsafe {
        let fd = sys!(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC
        );
        if fd < 0 {
            return out;
        }
        let mut buf = vec![0u8; 1 << 15];
        loop {
            let n = sys!(libc::SYS_getdents64, fd, buf.as_mut_ptr(), buf.len());
            if n <= 0 {
                break;
            }
            let mut at = 0;
            while at < n as usize {
                let record = &buf[at..];
                let inode = record[..8].try_into().map_or(0, u64::from_ne_bytes);
                let len = usize::from(u16::from_le_bytes([record[16], record[17]]));
                let name = record[NAME..len].split(|&b| b == 0).next().unwrap_or(&[]);
                out.push(Name { name: String::from_utf8_lossy(name).into_owned(), inode });
                at += len;
            }
        }
        sys!(libc::SYS_close, fd);
    }
    out
}

/// As [`entries`]; the names alone.
pub fn names(path: &core::ffi::CStr) -> Vec<String> {
    entries(path).into_iter().map(|e| e.name).collect()
}

fn parse(line: &str) -> Option<Mapping> {
    let mut f = line.splitn(6, ' ');
    let (start, end) = f.next()?.split_once('-')?;
    let hex = |s: &str| usize::from_str_radix(s, 16).ok();
    let (perms, offset, dev, inode) = (f.next()?.as_bytes(), f.next()?, f.next()?, f.next()?);
    let bit = |i: usize, c: u8, b: i32| if perms.get(i) == Some(&c) { b } else { 0 };
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        prot: bit(0, b'r', libc::PROT_READ) | bit(1, b'w', libc::PROT_WRITE) | bit(2, b'x', libc::PROT_EXEC),
        shared: perms.get(3) == Some(&b's'),
        offset: hex(offset)?,
        dev: dev.into(),
        inode: inode.parse().ok()?,
        path: f.next().unwrap_or("").trim_start().into(),
        content: None,
        said: String::new(),
        policy: None,
        guards: Vec::new(),
    })
}

/// All mappings.
pub fn all() -> Vec<Mapping> {
    in_file(c"/proc/thread-self/maps")
}

/// Those of another process; none if they may not be read.
pub fn of(pid: u32) -> Vec<Mapping> {
    in_file(&std::ffi::CString::new(format!("/proc/{pid}/maps")).unwrap_or_default())
}

fn in_file(path: &core::ffi::CStr) -> Vec<Mapping> {
    let text = read_file(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(parse).collect()
}

/// The mapping that holds `addr`.
pub fn find(maps: &[Mapping], addr: usize) -> Option<&Mapping> {
    maps.iter().find(|m| m.start <= addr && addr < m.end)
}

/// Where an address lies in the file that is mapped there.
pub struct InFile {
    /// The file.
    pub path: String,
    /// The address as the file has it, which is what `addr2line -e path` takes.
    pub address: u64,
    /// The symbol that it belongs to, and how far behind its beginning it is.
    pub symbol: Option<(String, u64)>,
}

/// Where `addr` lies in a file: its code, or a static variable. What variables take up beyond the file's end
/// is memory of its own behind the file's.
pub fn in_a_file(addr: usize) -> Option<InFile> {
    use object::{Object, ObjectSegment, ObjectSymbol};
    let maps = all();
    let at = maps.iter().position(|m| m.start <= addr && addr < m.end)?;
    let behind = |k: &usize| maps[*k].path.is_empty() && *k > 0 && maps[*k - 1].end == maps[*k].start;
    let first = core::iter::successors(Some(at), |k| behind(k).then(|| k - 1)).last()?;
    let m = maps.get(first).filter(|m| m.path.starts_with('/'))?;
    let data = read_file(&std::ffi::CString::new(m.path.as_bytes()).ok()?)?;
    let file = object::File::parse(&*data).ok()?;
    let mapped = m.offset as u64;
    // Two may share a page of the file; the second one is what it is mapped for.
    let holds = |off: u64, size: u64| off & !4095 <= mapped && mapped < off + size;
    let seg = file.segments().filter(|s| holds(s.file_range().0, s.file_range().1)).last()?;
    let address = (addr - m.start) as u64 + mapped - seg.file_range().0 + seg.address();
    let hit = |s: &object::Symbol<'_, '_>| s.address() <= address && address < s.address() + s.size().max(1);
    let symbol = file.symbols().find(hit).or_else(|| file.dynamic_symbols().find(hit));
    let symbol = symbol.and_then(|s| Some((s.name().ok()?.to_string(), address - s.address())));
    Some(InFile { path: m.path.clone(), address, symbol })
}

/// The name of the function at `addr`, from the symbol table of the file mapped there.
pub fn function_name(addr: usize) -> Option<String> {
    in_a_file(addr)?.symbol.map(|(name, _)| name)
}

/// Does `name` match `glob` (`*` any text, `?` any character)?
pub fn glob(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|i| glob(rest, &name[i..])),
        Some((b'?', rest)) => !name.is_empty() && glob(rest, &name[1..]),
        Some((c, rest)) => name.first() == Some(c) && glob(rest, &name[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_globs() {
        let m = parse("55d0-55f0 r-xp 00001000 fe:00 123   /usr/bin/a b").unwrap();
        assert_eq!((m.start, m.end, m.offset, m.path.as_str()), (0x55d0, 0x55f0, 0x1000, "/usr/bin/a b"));
        assert_eq!((m.prot, m.shared, m.inode), (libc::PROT_READ | libc::PROT_EXEC, false, 123));
        assert!(parse("7f00-7f10 r--s 0 fe:00 12").unwrap().shared);
        assert_eq!(parse("7f00-7f10 rw-p 00000000 00:00 0").unwrap().path, "");
        assert!(parse("nonsense").is_none());
        assert!(glob(b"main._omp_fn.*", b"main._omp_fn.12") && glob(b"*", b"") && glob(b"a?c", b"abc"));
        assert!(!glob(b"main", b"main._omp_fn.0") && !glob(b"?", b""));
    }

    #[test]
    fn this_function_has_a_name() {
        let name = function_name(this_function_has_a_name as *const () as usize).unwrap();
        assert!(name.contains("this_function_has_a_name"), "{name}");
    }

    #[test]
    fn a_variable_beyond_the_files_end_has_a_name() {
        static mut BEHIND: [u8; 3 << 20] = [0; 3 << 20];
        let at = &raw const BEHIND as usize + (2 << 20);
        let (name, offset) = in_a_file(at).unwrap().symbol.unwrap();
        assert!(name.contains("BEHIND") && offset == 2 << 20, "{name} {offset}");
    }
}
