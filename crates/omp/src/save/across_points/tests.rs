//! The mark that waits are light ends with what it was made for.

use super::*;
use crate::save::price::ON;
use crate::task::lightness::ACROSS;
use crate::team::region;
use crate::team::team::Team;

/// Of the calling thread, which becomes a logical one.
fn thread_with_light_waits() -> &'static Thread {
    let thr = upward::adopt_caller();
    upward::lighten_across(thr, true);
    assert!(thr.light.get() & ACROSS != 0, "nobody looks");
    thr
}

#[test]
fn a_region_ends_them() {
    let none = None::<fn(&'static Team)>;
    // The second time the thread is prepared for the region.
    for _ in 0..3 {
        let thr = thread_with_light_waits();
        region::start(thr, (0, 0), 1, 0, none);
        region::finish(thr);
        assert!(thr.light.get() & ACROSS == 0, "behind a region");
    }
}

#[test]
fn a_loop_that_saves_ends_them() {
    static SITE: Site = Site::new(ON);
    let thr = thread_with_light_waits();
    region::start(thr, (0, 0), 1, 0, None::<fn(&'static Team)>);
    thr.set_saving(true);
    thr.base.store(1, Relaxed); // somewhere on its stack
    upward::lighten_across(thr, true);
    assert_eq!((begin(thr, &SITE), thr.light.get() & ACROSS), (1, 0));
    thr.set_saving(false);
    region::finish(thr);
}
