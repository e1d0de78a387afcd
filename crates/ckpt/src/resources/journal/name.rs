//! Names of files while a call is noted: system calls and memory of the stack only.

use crate::sys;
use core::ffi::CStr;
use core::mem::MaybeUninit;

const MOST: usize = libc::PATH_MAX as usize;
/// Links that are followed.
const LINKS: u32 = 20;

/// An absolute path, a C string.
pub struct Name {
    bytes: [u8; MOST],
    len: usize,
}

impl Name {
    /// What `path` means for a call on directory `at`; `None` if it is too long.
    ///
    /// # Safety
    /// `path` is a C string.
    pub unsafe fn of(at: i32, path: *const libc::c_char) -> Option<Self> {
        // SAFETY: by the caller's promise.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let mut n = Self { bytes: [0; MOST], len: 0 };
        match path.first() {
            None => return None,
            Some(b'/') => {}
            Some(_) if at == libc::AT_FDCWD => n.read_link(c"/proc/thread-self/cwd")?,
            Some(_) => n.read_link(Short::of_descriptor(at).name())?,
        }
        if path[0] != b'/' {
            n.push(b"/")?;
        }
        n.push(path)?;
        Some(n)
    }

    /// These bytes; `None` if they are too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut n = Self { bytes: [0; MOST], len: 0 };
        n.push(bytes)?;
        Some(n)
    }

    /// The file of a shared memory or semaphore (shm_open(3), sem_open(3)) of that name.
    ///
    /// # Safety
    /// `name` is a C string.
    pub unsafe fn of_shared(kind: &[u8], name: *const libc::c_char) -> Option<Self> {
        // SAFETY: by the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let from = name.iter().position(|&b| b != b'/')?;
        let mut n = Self::new(b"/dev/shm/")?;
        n.push(kind)?;
        n.push(&name[from..])?;
        Some(n)
    }

    /// The file behind a descriptor.
    pub fn of_descriptor(fd: i32) -> Option<Self> {
        let mut n = Self { bytes: [0; MOST], len: 0 };
        n.read_link(Short::of_descriptor(fd).name())?;
        (n.bytes[0] == b'/').then_some(n)
    }

    /// Adds to it; `None` if it becomes too long.
    pub fn push(&mut self, more: &[u8]) -> Option<()> {
        let end = self.len + more.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(more);
        self.len = end;
        // A zero byte must follow.
        (end < MOST).then(|| self.bytes[end] = 0)
    }

    fn read_link(&mut self, link: &CStr) -> Option<()> {
        let r = read_link(link.as_ptr(), &mut self.bytes);
        self.len = usize::try_from(r).ok().filter(|n| *n < MOST)?;
        self.bytes[self.len] = 0;
        Some(())
    }

    /// Follows links, as open(2) does.
    pub fn follow(&mut self) -> Option<()> {
        let mut target = [0u8; MOST];
        for _ in 0..LINKS {
            let r = read_link(self.pointer(), &mut target);
            if r < 0 {
                return Some(());
            }
            let target = target.get(..r as usize)?;
            if target.first() == Some(&b'/') {
                self.len = 0;
            } else {
                self.len = self.bytes[..self.len].iter().rposition(|&b| b == b'/')? + 1;
            }
            self.push(target)?;
        }
        None
    }

    /// Without the zero byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The C string.
    pub fn pointer(&self) -> *const libc::c_char {
        self.bytes.as_ptr().cast()
    }
}

fn read_link(path: *const libc::c_char, to: &mut [u8]) -> isize {
    // SAFETY: a C string; the buffer is writable.
    unsafe { sys!(libc::SYS_readlinkat, libc::AT_FDCWD, path, to.as_mut_ptr(), to.len()) }
}

/// A short name without memory of its own.
pub(crate) struct Short([u8; 64], usize);

impl Short {
    /// `/proc/thread-self/fd/N`.
    pub(crate) fn of_descriptor(fd: i32) -> Self {
        let mut d = Self([0; 64], 0);
        d.push(b"/proc/thread-self/fd/");
        d.number(fd.max(0) as u64);
        d
    }

    /// The journal's file of an era, or its copy number `copy` if that is not 0.
    pub(super) fn journals(era: u64, copy: u32) -> Self {
        let mut d = Self([0; 64], 0);
        d.push(b"undo-");
        d.number(era);
        if copy > 0 {
            d.push(b"-");
            d.number(copy.into());
        }
        d
    }

    fn push(&mut self, more: &[u8]) {
        self.0[self.1..self.1 + more.len()].copy_from_slice(more);
        self.1 += more.len();
    }

    fn number(&mut self, n: u64) {
        if n >= 10 {
            self.number(n / 10);
        }
        self.push(&[b'0' + (n % 10) as u8]);
    }

    /// It.
    pub(crate) fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// What a name leads to, by `flags` of fstatat(2).
pub(super) fn look(n: &Name, flags: i32) -> Result<libc::stat, isize> {
    let mut s = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: a C string; the kernel writes the result, and zeros are one.
    unsafe {
        match sys!(libc::SYS_newfstatat, libc::AT_FDCWD, n.pointer(), s.as_mut_ptr(), flags) {
            0 => Ok(s.assume_init()),
            e => Err(e),
        }
    }
}

/// Its kind: S_IFREG and so on.
pub(super) fn kind(s: &libc::stat) -> u32 {
    s.st_mode & libc::S_IFMT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journals_names_are_those_that_are_looked_for() {
        use promp_store::undo_names::{era_of, prefix};
        assert_eq!(Short::journals(12, 0).name().to_str(), Ok(&prefix(12)[..]));
        let copy = Short::journals(12, 345);
        assert_eq!((copy.name().to_str(), era_of("undo-12-345")), (Ok("undo-12-345"), Some(12)));
    }

    #[test]
    fn descriptors_have_names() {
        for fd in [0, 9, 10, 123, i32::MAX] {
            let name = Short::of_descriptor(fd);
            assert_eq!(name.name().to_str().unwrap(), format!("/proc/thread-self/fd/{fd}"));
        }
    }

    #[test]
    fn names_are_absolute_and_links_are_followed() {
        let d = std::env::temp_dir().join(format!("promp-note-{}", std::process::id()));
        std::fs::create_dir_all(&d).unwrap();
        std::os::unix::fs::symlink("second", d.join("first")).unwrap();
        std::os::unix::fs::symlink(d.join("file"), d.join("second")).unwrap();
        let path = std::ffi::CString::new(d.join("first").into_os_string().into_encoded_bytes()).unwrap();
        // SAFETY: C strings.
        let (mut n, here) = unsafe {
            (
                Name::of(libc::AT_FDCWD, path.as_ptr()).unwrap(),
                Name::of(libc::AT_FDCWD, c"x".as_ptr()).unwrap(),
            )
        };
        assert!(n.follow().is_some());
        assert_eq!(n.bytes(), d.join("file").into_os_string().into_encoded_bytes());
        assert_eq!(
            here.bytes(),
            std::env::current_dir().unwrap().join("x").into_os_string().into_encoded_bytes()
        );
        std::fs::remove_dir_all(&d).unwrap();
    }
}
