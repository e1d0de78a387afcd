//! Map kinds, as GCC writes them (the low byte of an entry of `kinds`; the high one is the logarithm of
//! the alignment). What is not in this table is never guessed: [`check`] stops the program.

/// Allocate if it is not there.
pub const ALLOC: u8 = 0x00;
/// A pointer to an array section; its size entry is the bias.
pub const POINTER: u8 = 0x04;
/// A Fortran descriptor, followed by the pointers in it.
pub const TO_PSET: u8 = 0x05;
/// It must be there.
pub const FORCE_PRESENT: u8 = 0x06;
/// Remove at once.
pub const DELETE: u8 = 0x07;
/// A device pointer, passed on.
pub const FORCE_DEVICEPTR: u8 = 0x08;
/// OpenACC's device_resident.
pub const DEVICE_RESIDENT: u8 = 0x09;
/// OpenACC's link.
pub const LINK: u8 = 0x0a;
/// The device's if it is there, else the host's.
pub const IF_PRESENT: u8 = 0x0b;
/// A copy of the bits in the argument block.
pub const FIRSTPRIVATE: u8 = 0x0c;
/// The value itself in place of its address.
pub const FIRSTPRIVATE_INT: u8 = 0x0d;
/// The address is to be translated for the host.
pub const USE_DEVICE_PTR: u8 = 0x0e;
/// A section of no elements: used if it is there.
pub const ZERO_LEN: u8 = 0x0f;
/// As [`USE_DEVICE_PTR`], or the host's address.
pub const USE_DEVICE_PTR_IF_PRESENT: u8 = 0x10;
/// Members of a structure follow.
pub const STRUCT: u8 = 0x1c;
/// The same, in any order.
pub const STRUCT_UNORDERED: u8 = 0x5c;
/// A pointer in mapped memory gets the address of the item before.
pub const ALWAYS_POINTER: u8 = 0x1d;
/// A pointer to a section that may be empty.
pub const POINTER_TO_ZERO_LEN: u8 = 0x1e;
/// Removal of a section of no elements.
pub const DELETE_ZERO_LEN: u8 = 0x1f;
/// One user less.
pub const RELEASE: u8 = 0x17;
/// A pointer in mapped memory points to mapped memory from here on.
pub const ATTACH: u8 = 0x50;
/// See [`ATTACH`]; and no longer.
pub const DETACH: u8 = 0x51;
/// See [`ATTACH`], where the section may be empty.
pub const ATTACH_ZERO_LEN: u8 = 0x52;
/// See [`DETACH`], however often it was attached.
pub const FORCE_DETACH: u8 = 0xd1;

/// Does the mapping move data to the device?
pub fn copies_to(kind: u8) -> bool {
    is_data(kind) && kind & 1 != 0
}

/// Does it move data back?
pub fn copies_from(kind: u8) -> bool {
    is_data(kind) && kind & 2 != 0
}

/// ... even if it was there?
pub fn always_to(kind: u8) -> bool {
    matches!(kind, 0x11 | 0x13 | 0x95 | 0x97)
}

/// ... even if others still use it?
pub fn always_from(kind: u8) -> bool {
    matches!(kind, 0x12 | 0x13 | 0x96 | 0x97)
}

/// Was it mapped because the construct uses it, not because a clause says so?
pub fn implicit(kind: u8) -> bool {
    kind & 0x7c == 0x60
}

/// alloc, to, from and tofrom with their modifiers.
pub fn is_data(kind: u8) -> bool {
    matches!(kind, 0..=3 | 0x80..=0x83 | 0x11..=0x13 | 0x60..=0x63 | 0x95..=0x97)
}

/// Is it an error if it is not there?
pub fn must_be_there(kind: u8) -> bool {
    kind == FORCE_PRESENT || (0x95..=0x97).contains(&kind)
}

/// Do members of a structure follow?
pub fn is_structure(kind: u8) -> bool {
    matches!(kind, STRUCT | STRUCT_UNORDERED)
}

/// Is it an error if it is there?
pub fn forced(kind: u8) -> bool {
    (0x80..=0x83).contains(&kind)
}

/// A pointer that accompanies what it points to.
pub fn is_pointer(kind: u8) -> bool {
    matches!(kind, POINTER | POINTER_TO_ZERO_LEN)
}

/// A pointer in memory that is mapped by itself.
pub fn attaches(kind: u8) -> bool {
    matches!(kind, ATTACH | ATTACH_ZERO_LEN)
}

/// Is it one of those above?
pub fn known(kind: u8) -> bool {
    is_data(kind)
        || matches!(kind, POINTER..=ZERO_LEN | USE_DEVICE_PTR_IF_PRESENT | STRUCT..=DELETE_ZERO_LEN | RELEASE)
        || matches!(kind, ATTACH..=ATTACH_ZERO_LEN | FORCE_DETACH | STRUCT_UNORDERED)
}

/// Stops the program at a kind that this runtime does not know.
pub fn check(kind: u8) {
    if !known(kind) {
        super::fail(format_args!(
            "map kind {kind:#x} is not known: a newer compiler than this runtime knows has built the program"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions() {
        for (kind, to, from) in [
            (0, 0, 0),
            (1, 1, 0),
            (2, 0, 1),
            (3, 1, 1),
            (0x83, 1, 1),
            (0x12, 0, 1),
            (0x61, 1, 0),
            (0x96, 0, 1),
        ] {
            assert_eq!((copies_to(kind) as i32, copies_from(kind) as i32), (to, from), "{kind:#x}");
        }
        for kind in [POINTER, TO_PSET, DELETE, FIRSTPRIVATE_INT, ZERO_LEN, STRUCT, RELEASE, ATTACH, DETACH] {
            assert!(!copies_to(kind) && !copies_from(kind) && known(kind), "{kind:#x}");
        }
        assert!(implicit(0x63) && !implicit(3) && !implicit(0x13));
    }

    #[test]
    fn what_no_compiler_of_this_age_writes_is_unknown() {
        for kind in [0x14u8, 0x18, 0x20, 0x40, 0x53, 0x64, 0x70, 0x90, 0xff] {
            assert!(!known(kind), "{kind:#x}");
        }
    }
}
