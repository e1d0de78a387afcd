//! What a kernel thread may do: its users and groups, capabilities, and what it has forsworn. The kernel keeps
//! all that for each thread; libc sets users and groups for all threads that it knows of.

use crate::pending_signals;
pub use promp_image::Rights;

/// Those of thread `tid` of this process; `None` if it is not there.
pub fn of(tid: u32) -> Option<Rights> {
    read(&pending_signals::status(tid)?)
}

/// The capabilities as capset(2) takes them: effective, permitted, inheritable, the lower halves first.
pub fn capability_words(of: &Rights) -> [u32; 6] {
    let [inheritable, permitted, effective, ..] = of.capabilities;
    let half = |shift: u32| [effective, permitted, inheritable].map(|set| (set >> shift) as u32);
    let ([a, b, c], [d, e, f]) = (half(0), half(32));
    [a, b, c, d, e, f]
}

/// Those that [`pending_signals::status`] tells of.
pub fn read(status: &str) -> Option<Rights> {
    let words = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or("").split_whitespace()
    };
    let numbers = |name: &str| words(name).filter_map(|w| w.parse::<u32>().ok());
    let four = |name: &str| <[u32; 4]>::try_from(numbers(name).collect::<Vec<_>>()).ok();
    let set = |name: &str| words(name).next().and_then(|w| u64::from_str_radix(w, 16).ok()).unwrap_or(0);
    Some(Rights {
        users: four("Uid")?,
        groups: four("Gid")?,
        also: numbers("Groups").collect(),
        capabilities: ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(set),
        no_new: numbers("NoNewPrivs").next() == Some(1),
        filters: (numbers("Seccomp").next().unwrap_or(0), numbers("Seccomp_filters").next().unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_read_as_the_kernel_writes_them() {
        let r = read(
            "Name:\tUid: 7\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nCapInh:\t0000000000000001\n\
             CapPrm:\t00000000000000ff\nCapEff:\t000000000000000f\nCapBnd:\t000001ffffffffff\n\
             CapAmb:\t0000000000000002\n\
             NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
        )
        .expect("all there");
        assert_eq!((r.users, r.groups, &r.also[..]), ([1, 2, 3, 4], [5, 6, 7, 8], &[9, 10][..]));
        assert_eq!(r.capabilities, [1, 0xff, 0xf, 0x1ff_ffff_ffff, 2]);
        assert_eq!((r.no_new, r.filters), (true, (2, 3)));
        assert_eq!(read("Uid:\t1\n"), None);
        assert!(of(crate::syscall::gettid()).is_some());
    }
}
