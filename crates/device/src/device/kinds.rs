//! Map kinds, as GCC writes them (the low byte of an entry of `kinds`; the high one is the logarithm of
//! the alignment). What is not in this table is never guessed: [`check`] stops the program.

/// A pointer to an array section; its size entry is the bias.
pub(crate) const POINTER: u8 = 0x04;
/// A Fortran descriptor, followed by the pointers in it.
pub(crate) const TO_PSET: u8 = 0x05;
/// It must be there.
pub(crate) const FORCE_PRESENT: u8 = 0x06;
/// Remove at once.
pub(crate) const DELETE: u8 = 0x07;
/// A device pointer, passed on.
pub(crate) const FORCE_DEVICEPTR: u8 = 0x08;
/// The device's if it is there, else the host's.
pub(crate) const IF_PRESENT: u8 = 0x0b;
/// A copy of the bits in the argument block.
pub const FIRSTPRIVATE: u8 = 0x0c;
/// The value itself in place of its address.
pub(crate) const FIRSTPRIVATE_INT: u8 = 0x0d;
/// The address is to be translated for the host.
pub(crate) const USE_DEVICE_PTR: u8 = 0x0e;
/// A section of no elements: used if it is there.
pub(crate) const ZERO_LEN: u8 = 0x0f;
/// As [`USE_DEVICE_PTR`], or the host's address.
pub(crate) const USE_DEVICE_PTR_IF_PRESENT: u8 = 0x10;
/// Members of a structure follow.
pub(crate) const STRUCT: u8 = 0x1c;
/// The same, in any order.
pub(crate) const STRUCT_UNORDERED: u8 = 0x5c;
/// A pointer in mapped memory gets the address of the item before.
pub(crate) const ALWAYS_POINTER: u8 = 0x1d;
/// A pointer to a section that may be empty.
pub(crate) const POINTER_TO_ZERO_LEN: u8 = 0x1e;
/// Removal of a section of no elements.
pub(crate) const DELETE_ZERO_LEN: u8 = 0x1f;
/// One user less.
pub(crate) const RELEASE: u8 = 0x17;
/// A pointer in mapped memory points to mapped memory from here on.
pub(crate) const ATTACH: u8 = 0x50;
/// See [`ATTACH`]; and no longer.
pub(crate) const DETACH: u8 = 0x51;
/// See [`ATTACH`], where the section may be empty.
pub(crate) const ATTACH_ZERO_LEN: u8 = 0x52;
/// See [`DETACH`], however often it was attached.
pub(crate) const FORCE_DETACH: u8 = 0xd1;

// What a kind means: these together.
const DATA: u16 = 1;
const TO: u16 = 1 << 1;
const FROM: u16 = 1 << 2;
const ALWAYS_TO: u16 = 1 << 3;
const ALWAYS_FROM: u16 = 1 << 4;
const PRESENT: u16 = 1 << 5;
const IMPLICIT: u16 = 1 << 6;
const FORCED: u16 = 1 << 7;
const A_POINTER: u16 = 1 << 8;
const ATTACHES: u16 = 1 << 9;
const STRUCTURE: u16 = 1 << 10;
const POINTERS_SIZE: u16 = 1 << 11;
const KNOWN: u16 = 1 << 12;

/// By kind. What is not here is not known.
static CLASSES: [u16; 256] = {
    let mut all = [0; 256];
    let mut kind = 0;
    while kind < 256 {
        all[kind] = class(kind as u8);
        kind += 1;
    }
    all
};

const fn class(kind: u8) -> u16 {
    // alloc, to, from and tofrom with their modifiers.
    let data = match kind {
        0..=3 => DATA,
        0x80..=0x83 => DATA | FORCED,
        0x11 => DATA | ALWAYS_TO,
        0x12 => DATA | ALWAYS_FROM,
        0x13 => DATA | ALWAYS_TO | ALWAYS_FROM,
        0x60..=0x63 => DATA | IMPLICIT,
        0x95 => DATA | PRESENT | ALWAYS_TO,
        0x96 => DATA | PRESENT | ALWAYS_FROM,
        0x97 => DATA | PRESENT | ALWAYS_TO | ALWAYS_FROM,
        _ => 0,
    };
    if data != 0 {
        let to = if kind & 1 != 0 { TO } else { 0 };
        let from = if kind & 2 != 0 { FROM } else { 0 };
        return data | to | from | KNOWN;
    }
    match kind {
        FORCE_PRESENT => KNOWN | PRESENT,
        POINTER | POINTER_TO_ZERO_LEN => KNOWN | A_POINTER | POINTERS_SIZE,
        ATTACH | ATTACH_ZERO_LEN => KNOWN | ATTACHES | POINTERS_SIZE,
        ALWAYS_POINTER | FORCE_DEVICEPTR => KNOWN | POINTERS_SIZE,
        STRUCT | STRUCT_UNORDERED => KNOWN | STRUCTURE,
        POINTER..=ZERO_LEN | USE_DEVICE_PTR_IF_PRESENT | STRUCT..=DELETE_ZERO_LEN | RELEASE => KNOWN,
        DETACH | FORCE_DETACH => KNOWN,
        _ => 0,
    }
}

#[inline]
fn is(kind: u8, what: u16) -> bool {
    CLASSES[kind as usize] & what != 0
}

/// Does the mapping move data to the device?
#[inline]
pub(crate) fn copies_to(kind: u8) -> bool {
    is(kind, TO)
}

/// Does it move data back?
#[inline]
pub(crate) fn copies_from(kind: u8) -> bool {
    is(kind, FROM)
}

/// ... even if it was there?
#[inline]
pub(crate) fn always_to(kind: u8) -> bool {
    is(kind, ALWAYS_TO)
}

/// ... even if others still use it?
#[inline]
pub(crate) fn always_from(kind: u8) -> bool {
    is(kind, ALWAYS_FROM)
}

/// Was it mapped because the construct uses it, not because a clause says so?
#[inline]
pub(crate) fn implicit(kind: u8) -> bool {
    is(kind, IMPLICIT)
}

/// alloc, to, from and tofrom with their modifiers.
#[inline]
pub(crate) fn is_data(kind: u8) -> bool {
    is(kind, DATA)
}

/// Is it an error if it is not there?
#[inline]
pub(crate) fn must_be_there(kind: u8) -> bool {
    is(kind, PRESENT)
}

/// Do members of a structure follow?
#[inline]
pub(crate) fn is_structure(kind: u8) -> bool {
    is(kind, STRUCTURE)
}

/// Is it an error if it is there?
#[inline]
pub(crate) fn forced(kind: u8) -> bool {
    is(kind, FORCED)
}

/// A pointer that accompanies what it points to.
#[inline]
pub(crate) fn is_pointer(kind: u8) -> bool {
    is(kind, A_POINTER)
}

/// A pointer in memory that is mapped by itself.
#[inline]
pub fn attaches(kind: u8) -> bool {
    is(kind, ATTACHES)
}

/// Is it about a pointer's bytes, whatever its size entry says?
#[inline]
pub(crate) fn has_a_pointers_size(kind: u8) -> bool {
    is(kind, POINTERS_SIZE)
}

/// Is it one of those above?
#[inline]
pub(crate) fn known(kind: u8) -> bool {
    is(kind, KNOWN)
}

/// Stops the program at a kind that this runtime does not know.
#[inline]
pub(crate) fn check(kind: u8) {
    if !known(kind) {
        unknown(kind);
    }
}

#[cold]
fn unknown(kind: u8) -> ! {
    super::fail(format_args!(
        "map kind {kind:#x} is not known: a newer compiler than this runtime knows has built the program"
    ))
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
