//! What system calls do to files, by their flags: one row a call, one word a flag, all those of Linux 6.18.
//!
//! A call that is noted before it is made, so that it can be undone, is understood with its flags or not at
//! all. A flag that is in no row may do anything: so it counts as something that cannot be undone.
//!
//! All of that is async-signal-safe: constant tables and memory of the stack.

mod commands;
pub mod file_list;
mod phrase;
pub mod pieces;

pub use commands::unknown_fcntl;
pub use phrase::Text;

/// What becomes of a call's note by a flag, from the harmless on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It is as without the flag.
    Same,
    /// What the file holds changes, wherever it was to be written to.
    Overwrites,
    /// It is something else, which has a note of its own.
    Other,
    /// It cannot be undone.
    NotUndone,
}
use Effect::*;

/// A call's flags.
#[derive(Debug)]
pub struct Call {
    name: &'static str,
    flags: &'static [(u64, &'static str, Effect)],
}

/// openat2(2): `resolve`.
pub const OPENAT2: Call = Call {
    name: "openat2",
    flags: &[
        (0x01, "RESOLVE_NO_XDEV", Same),
        (0x02, "RESOLVE_NO_MAGICLINKS", Same),
        (0x04, "RESOLVE_NO_SYMLINKS", Same),
        (0x08, "RESOLVE_BENEATH", Same),
        // The name means another file.
        (0x10, "RESOLVE_IN_ROOT", NotUndone),
        (0x20, "RESOLVE_CACHED", Same),
    ],
};

/// renameat2(2).
pub const RENAMEAT2: Call = Call {
    name: "renameat2",
    flags: &[
        (1, "RENAME_NOREPLACE", Same),
        (2, "RENAME_EXCHANGE", Other),
        // It leaves a device in a file's place.
        (4, "RENAME_WHITEOUT", NotUndone),
    ],
};

/// linkat(2): what is made is the new name, whatever it leads to.
pub const LINKAT: Call =
    Call { name: "linkat", flags: &[(0x400, "AT_SYMLINK_FOLLOW", Same), (0x1000, "AT_EMPTY_PATH", Same)] };

/// unlinkat(2): what is there tells whether it is a directory.
pub const UNLINKAT: Call = Call { name: "unlinkat", flags: &[(0x200, "AT_REMOVEDIR", Same)] };

/// fallocate(2).
pub const FALLOCATE: Call = Call {
    name: "fallocate",
    flags: &[
        (0x01, "FALLOC_FL_KEEP_SIZE", Same),
        (0x02, "FALLOC_FL_PUNCH_HOLE", Overwrites),
        (0x04, "FALLOC_FL_NO_HIDE_STALE", Overwrites),
        (0x08, "FALLOC_FL_COLLAPSE_RANGE", Overwrites),
        (0x10, "FALLOC_FL_ZERO_RANGE", Overwrites),
        (0x20, "FALLOC_FL_INSERT_RANGE", Overwrites),
        (0x40, "FALLOC_FL_UNSHARE_RANGE", Same),
        (0x80, "FALLOC_FL_WRITE_ZEROES", Overwrites),
    ],
};

/// pwritev2(2), by a descriptor that writes to the file's end.
pub const PWRITEV2: Call = Call {
    name: "pwritev2",
    flags: &[
        (0x001, "RWF_HIPRI", Same),
        (0x002, "RWF_DSYNC", Same),
        (0x004, "RWF_SYNC", Same),
        (0x008, "RWF_NOWAIT", Same),
        (0x010, "RWF_APPEND", Same),
        (0x020, "RWF_NOAPPEND", Overwrites),
        (0x040, "RWF_ATOMIC", Same),
        (0x080, "RWF_DONTCACHE", Same),
        (0x100, "RWF_NOSIGNAL", Same),
    ],
};

impl Call {
    /// What the call does with these flags: the worst that one of them does.
    pub fn effect(&self, flags: u64) -> Effect {
        let known = self.flags.iter().filter(|(bit, ..)| flags & bit != 0);
        let unknown = flags & !self.flags.iter().fold(0, |all, (bit, ..)| all | bit);
        known.map(|f| f.2).chain((unknown != 0).then_some(NotUndone)).max().unwrap_or(Same)
    }

    /// The call and those of its flags that have the worst effect, for a message.
    pub fn named(&self, flags: u64) -> Text {
        let worst = self.effect(flags);
        let mut text = Text::of(self.name);
        let mut unknown = flags;
        for (bit, name, effect) in self.flags {
            unknown &= !bit;
            if flags & bit != 0 && *effect == worst {
                text.words(&[" ", name]);
            }
        }
        if unknown != 0 {
            text.words(&[" flags "]);
            text.hex(unknown);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&Call; 6] = [&OPENAT2, &RENAMEAT2, &LINKAT, &UNLINKAT, &FALLOCATE, &PWRITEV2];

    #[test]
    fn flags_are_the_c_librarys() {
        let of = |call: &Call, name: &str| call.flags.iter().find(|f| f.1 == name).map(|f| f.0 as i64);
        assert_eq!(of(&RENAMEAT2, "RENAME_EXCHANGE"), Some(libc::RENAME_EXCHANGE.into()));
        assert_eq!(of(&RENAMEAT2, "RENAME_WHITEOUT"), Some(libc::RENAME_WHITEOUT.into()));
        assert_eq!(of(&LINKAT, "AT_EMPTY_PATH"), Some(libc::AT_EMPTY_PATH.into()));
        assert_eq!(of(&LINKAT, "AT_SYMLINK_FOLLOW"), Some(libc::AT_SYMLINK_FOLLOW.into()));
        assert_eq!(of(&UNLINKAT, "AT_REMOVEDIR"), Some(libc::AT_REMOVEDIR.into()));
        assert_eq!(of(&FALLOCATE, "FALLOC_FL_PUNCH_HOLE"), Some(libc::FALLOC_FL_PUNCH_HOLE.into()));
        assert_eq!(of(&FALLOCATE, "FALLOC_FL_INSERT_RANGE"), Some(libc::FALLOC_FL_INSERT_RANGE.into()));
        assert_eq!(of(&PWRITEV2, "RWF_APPEND"), Some(libc::RWF_APPEND.into()));
        assert_eq!(of(&OPENAT2, "RESOLVE_IN_ROOT"), Some(libc::RESOLVE_IN_ROOT as i64));
    }

    #[test]
    fn a_flag_is_one_bit_in_one_row() {
        for call in ALL {
            for (i, (bit, name, _)) in call.flags.iter().enumerate() {
                assert!(bit.is_power_of_two(), "{name}");
                assert!(call.flags[..i].iter().all(|f| f.0 != *bit && f.1 != *name), "{name}");
            }
        }
    }

    #[test]
    fn the_worst_counts_and_what_is_unknown_is_that() {
        assert_eq!(FALLOCATE.effect(0), Same);
        assert_eq!(FALLOCATE.effect(1), Same);
        assert_eq!(FALLOCATE.effect(3), Overwrites);
        assert_eq!(FALLOCATE.effect(3 | 1 << 20), NotUndone);
        assert_eq!(RENAMEAT2.effect(2), Other);
        assert_eq!(RENAMEAT2.effect(6), NotUndone);
        for call in ALL {
            assert_eq!(call.effect(1 << 40), NotUndone, "{}", call.name);
        }
    }

    #[test]
    fn messages_name_what_is_in_the_way() {
        let said = |call: &Call, flags| String::from_utf8(call.named(flags).bytes().to_vec()).unwrap();
        assert_eq!(said(&OPENAT2, 0x1c), "openat2 RESOLVE_IN_ROOT");
        assert_eq!(said(&RENAMEAT2, 5), "renameat2 RENAME_WHITEOUT");
        assert_eq!(said(&PWRITEV2, 0x4_0001), "pwritev2 flags 0x40000");
        assert_eq!(said(&RENAMEAT2, u64::MAX), "renameat2 RENAME_WHITEOUT flags 0xfffffffffffffff8");
    }
}
