//! Commands of fcntl(2): those of Linux 6.18. Another one may do anything to the file or to its descriptor.

use crate::Text;

/// Numbers from, up to: F_DUPFD to F_SETSIG, F_GETLK64 to F_GETOWNER_UIDS, F_OFD_GETLK to F_OFD_SETLKW,
/// F_SETLEASE to F_SET_FILE_RW_HINT, F_GETDELEG and F_SETDELEG.
const KNOWN: [(u32, u32); 4] = [(0, 17), (36, 38), (1024, 1038), (1039, 1040)];

/// The call's name for a message, if it is none of them.
pub fn unknown_fcntl(command: i32) -> Option<Text> {
    let number = command as u32;
    if KNOWN.iter().any(|&(from, to)| (from..=to).contains(&number)) {
        return None;
    }
    let mut text = Text::of("fcntl");
    text.words(&[" command "]);
    text.hex(number.into());
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_c_librarys() {
        let all = [libc::F_DUPFD, libc::F_SETFL, libc::F_SETLKW, libc::F_SETOWN, libc::F_OFD_SETLKW];
        let more = [libc::F_SETLEASE, libc::F_NOTIFY, libc::F_DUPFD_CLOEXEC, libc::F_SETPIPE_SZ];
        for known in all.iter().chain(&more).chain(&[libc::F_ADD_SEALS, libc::F_GET_SEALS]) {
            assert!(unknown_fcntl(*known).is_none(), "{known}");
        }
        for unknown in [18, 35, 39, 1023, 1041, 2000, -1, i32::MIN] {
            assert!(unknown_fcntl(unknown).is_some(), "{unknown}");
        }
        let text = unknown_fcntl(2000).unwrap();
        assert_eq!(core::str::from_utf8(text.bytes()).unwrap(), "fcntl command 0x7d0");
    }
}
