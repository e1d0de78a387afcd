//! Guards (MADV_GUARD_INSTALL) through rollbacks and restarts: docs/internals/attributes.md.

use crate::common::kept::*;
use crate::common::*;

#[test]
fn guards_are_put_back() {
    let exe = build_kept("ckpt/guarded.c");
    let want = reference(&exe, &["3"], &[]);
    if want.out.contains("not here") || !tells() {
        println!("SKIPPED: the system has no guards, or does not tell of them");
        return;
    }
    kept(&want, "without promp");
    kept_throughout(&exe, &["1000"], 3, |seed| [300 + 10 * (seed % 50), 800], "60ms");
}

/// Linux 6.15 and later.
fn tells() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("/proc");
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}
