//! Clocks that begin anew with the system go on for a program that is continued after a new start, or on
//! another machine: it gets a time namespace (time_namespaces(7)) in which they are where they were. That
//! is right for everything that goes by them: the program's own calls, deadlines, waits that the checkpoint
//! has found in the kernel, timers. A clock that is ahead stays as it is: it looks as if the program had
//! not had a CPU for a while.
//!
//! It needs CAP_SYS_ADMIN. Where that is missing the program's process says that its times go back.

use promp_image::Clocks;
use std::sync::OnceLock;

const CLONE_NEWTIME: libc::c_int = 0x80;
const OFFSETS: &str = "/proc/self/timens_offsets";

/// Has the processes that are made from here on see clocks that are at least what they were at `was`.
/// False: nothing has been done.
pub fn go_on_from(was: &Clocks) -> bool {
    let behind = Clocks::now().behind(was);
    if behind == Clocks::default() {
        return false;
    }
    // Of this process: what is made for children may have others already.
    static OWN: OnceLock<[i128; 2]> = OnceLock::new();
    let own = OWN.get_or_init(|| offsets(&std::fs::read_to_string(OFFSETS).unwrap_or_default()));
    // SAFETY: plain call.
    if unsafe { libc::unshare(CLONE_NEWTIME) } != 0 {
        return false;
    }
    std::fs::write(OFFSETS, text(own[0] + i128::from(behind.monotonic), own[1] + i128::from(behind.boottime)))
        .is_ok()
}

const SECOND: i128 = 1_000_000_000;

/// Offsets of the monotonic and the boottime clock in nanoseconds, as the kernel shows them.
fn offsets(text: &str) -> [i128; 2] {
    let of = |name: &str| -> Option<i128> {
        let mut words = text.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace();
        let mut number = || words.next()?.parse::<i128>().ok();
        Some(number()? * SECOND + number()?)
    };
    ["monotonic", "boottime"].map(|name| of(name).unwrap_or(0))
}

/// Offsets as the kernel takes them.
fn text(monotonic: i128, boottime: i128) -> String {
    let line = |name: &str, ns: i128| format!("{name} {} {}\n", ns.div_euclid(SECOND), ns.rem_euclid(SECOND));
    line("monotonic", monotonic) + &line("boottime", boottime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_they_are_written() {
        for (m, b) in [(0, 0), (5, -7), (-1, 1), (-123_456_789_012, 3 * SECOND), (i128::from(u64::MAX), 1)] {
            assert_eq!(offsets(&text(m, b)), [m, b]);
        }
        assert_eq!(
            offsets("monotonic           0         0\nboottime   -100  500000000\n"),
            [0, -100 * SECOND + SECOND / 2]
        );
        assert_eq!(offsets(""), [0, 0]);
    }
}
