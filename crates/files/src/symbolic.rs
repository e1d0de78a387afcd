//! Symbolic links themselves: what they lead to, and new ones.

use crate::{Way, done, open_at, stat_of};
use std::ffi::CString;
use std::io;

/// The kernel's limit on the length of a path, with the zero byte.
const LONGEST: usize = libc::PATH_MAX as usize;

impl Way {
    /// What the symbolic link that is there leads to; none: it is no link.
    pub(crate) fn leads_to(&self) -> io::Result<Option<CString>> {
        let mut text = vec![0u8; LONGEST];
        let (at, room) = (text.as_mut_ptr(), text.len());
        // SAFETY: a C string; the kernel writes at most `room` bytes.
        let r = done(unsafe {
            libc::syscall(libc::SYS_readlinkat, self.folder(), self.name().as_ptr(), at, room)
        });
        match r {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(None),
            length => {
                text.truncate(length? as usize);
                Ok(Some(CString::new(text)?))
            }
        }
    }

    /// Makes a symbolic link to `text` there, where nothing is; its device and inode.
    pub(crate) fn lead_to(&self, text: &CString) -> io::Result<(u64, u64)> {
        let (folder, name) = (self.folder(), self.name());
        // SAFETY: C strings.
        done(unsafe { libc::syscall(libc::SYS_symlinkat, text.as_ptr(), folder, name.as_ptr()) })?;
        let made = stat_of(&open_at(folder, name, libc::O_PATH | libc::O_NOFOLLOW, 0)?)?;
        Ok((made.st_dev, made.st_ino))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;
    use std::fs;

    #[test]
    fn links_are_read_and_made() {
        let s = Scratch::new("promp-links").unwrap();
        for text in ["a", "/no/such", "../..", &"x".repeat(4000)] {
            let text = CString::new(text).unwrap();
            let way = Way::to_name(&s.path().join("link")).unwrap();
            let made = way.lead_to(&text).unwrap();
            assert!(way.lead_to(&text).is_err(), "there is one");
            let way = Way::to_name(&s.path().join("link")).unwrap();
            assert_eq!(way.found().unwrap().file(), made);
            assert_eq!(way.leads_to().unwrap(), Some(text));
            way.remove(false).unwrap();
        }
        fs::write(s.path().join("file"), "a").unwrap();
        assert_eq!(Way::to_name(&s.path().join("file")).unwrap().leads_to().unwrap(), None);
        assert!(Way::to_name(&s.path().join("none")).unwrap().leads_to().is_err());
    }
}
