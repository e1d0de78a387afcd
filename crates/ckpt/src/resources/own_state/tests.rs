//! What a host calls to have what a thread had.

use super::*;

fn root() -> Rights {
    Rights { capabilities: [0, 0xff, 0xff, 0xff, 0], ..Rights::default() }
}

#[test]
fn equal_rights_need_no_calls() {
    assert_eq!(to_have(&root(), &root(), (0, 0)), Ok(Vec::new()));
}

#[test]
fn rights_given_up_are_given_up_again() {
    let mut want = root();
    want.users = [7; 4];
    want.capabilities = [0, 0, 0, 0x7f, 0];
    want.no_new = true;
    let numbers: Vec<i64> =
        to_have(&want, &root(), (0, 0)).expect("possible").iter().map(|c| c[0] as i64).collect();
    let (p, u, c) = (libc::SYS_prctl, libc::SYS_setresuid, libc::SYS_capset);
    assert_eq!(numbers, [p, p, u, c, p, p]);
}

#[test]
fn a_filter_is_not_put_back() {
    let want = Rights { filters: (2, 1), ..root() };
    assert!(to_have(&want, &root(), (0, 0)).is_err());
    let more = Rights { filters: (2, 1), ..root() };
    assert_eq!(to_have(&root(), &more, (0, 0)), Ok(Vec::new()), "fewer rights than it had");
}

#[test]
fn what_the_caller_has() {
    let own = Own::of_caller();
    assert!(own.slack() > 0 || own.policy().0 == 0);
    let none = Attributes {
        name: crate::image::Word::from(&b"x"[..]),
        cpus: None,
        scheduling: None,
        pending: 0,
        memory_policy: None,
        io_priority: None,
        timer_slack: Some(own.slack() + 1),
        rights: None,
        own: None,
    };
    let (calls, less) = changes(&own, None, &none, &own, false).expect("possible");
    assert!(!less);
    assert_eq!(calls.len(), 1);
    let c =
        Changes { count: AtomicUsize::new(0), calls: [const { [const { AtomicUsize::new(0) }; 6] }; MOST] };
    c.set(&calls);
    assert_eq!(c.make(), Ok(()));
    assert_eq!(Own::of_caller().slack(), own.slack() + 1);
}
