//! Open directories: where readdir(3) has come to is the descriptor's offset, which a restart puts back. File
//! systems have names at offsets of their own, which stay as long as the directory does.

use crate::image::OpenFile;
use crate::sys;
use std::fs;

/// Puts the offsets of directories back, when all files are open.
pub(crate) fn put_back(saved: &[OpenFile]) -> Result<(), String> {
    let is_one = |s: &&OpenFile| {
        !s.regular
            && s.object.is_none()
            && s.path.starts_with('/')
            && fs::metadata(format!("/proc/thread-self/fd/{}", s.fd)).is_ok_and(|m| m.is_dir())
            && s.flags & libc::O_PATH == 0
    };
    for s in saved.iter().filter(is_one) {
        // SAFETY: a descriptor of the program.
        let at = unsafe { sys!(libc::SYS_lseek, s.fd, s.offset, libc::SEEK_SET) };
        if at != s.offset as isize {
            let why = if at < 0 { sys::why(at).to_string() } else { format!("it is {at} then") };
            return Err(format!("{}: cannot go back to offset {} of the directory: {why}", s.path, s.offset));
        }
    }
    Ok(())
}
