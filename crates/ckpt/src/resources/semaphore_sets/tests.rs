//! Values of semaphores go back.

use super::*;

/// Makes a set of two, which is removed at the end.
struct Made(c_int);

impl Made {
    fn new() -> Self {
        // SAFETY: makes a set.
        let id = unsafe { libc::semget(libc::IPC_PRIVATE, 2, 0o600) };
        assert!(id >= 0 && made(id, 2));
        Self(id)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        of(self.0).expect("it is counted").is_gone();
        control(self.0, 0, libc::IPC_RMID, 0);
    }
}

#[test]
fn the_way_never_leaves_what_a_value_can_be() {
    for value in [0, 1, 7, 32767] {
        for at_end in [-32767, -8, -1, 0, 1, 8, 32767] {
            let (base, counted, plain) = way_to(value, at_end);
            assert_eq!((base + counted + plain, counted), (value, -at_end));
            assert!([base, base + counted].iter().all(|v| (0..=32767).contains(v)), "{value} {at_end}");
        }
    }
}

/// One test: the sets are the process's.
#[test]
fn values_go_back_unless_others_may_have_changed_them() {
    let made = Made::new();
    let set = of(made.0).expect("it is counted");
    let one = |number, by, flags| libc::sembuf { sem_num: number, sem_op: by, sem_flg: flags };
    let operations = [one(0, 3, SEM_UNDO), one(1, 5, 0), one(0, -1, 0)];
    let undone = Undone::of((set, made.0), &operations).expect("few").expect("one has it");
    assert_eq!(undone.try_now(), 0);
    let then = saved().expect("nobody else's");
    assert_eq!(then, [(made.0, vec![(2, -3), (5, 0)])]);
    // What cannot be done at once changes nothing.
    let down = [one(1, -4, SEM_UNDO), one(0, -9, 0)];
    let undone = Undone::of((set, made.0), &down).expect("few").expect("one has it");
    assert_eq!(undone.try_now(), -(libc::EAGAIN as isize));
    assert_eq!(undone.wait([0u64; 2].as_ptr().cast()), -(libc::EAGAIN as isize));
    assert_eq!(saved().as_ref(), Ok(&then));
    // That it can be done changes nothing either.
    let down = [one(1, -4, SEM_UNDO), one(0, -1, 0)];
    let undone = Undone::of((set, made.0), &down).expect("few").expect("one has it");
    assert_eq!(undone.wait(core::ptr::null()), 0);
    assert_eq!(saved().as_ref(), Ok(&then));
    assert_eq!(undone.try_now(), 0);
    assert_eq!(saved(), Ok(vec![(made.0, vec![(1, -3), (1, 4)])]));
    assert_eq!(put_back(&then, syscall::getpid(), true), Ok(()));
    assert_eq!(control(made.0, 0, GETVAL, 0), 2);
    assert_eq!(control(made.0, 1, GETVAL, 0), 5);
    // SAFETY: the child makes one call and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        control(made.0, 1, SETVAL, 4);
        unsafe { libc::_exit(0) };
    }
    // SAFETY: the child above.
    unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
    assert!(is_ours_alone(made.0, 2, &[syscall::getpid()]).is_err_and(|why| why.starts_with(BY_OTHERS)));
    assert_eq!(is_ours_alone(made.0, 2, &[syscall::getpid(), child as u32]), Ok(()));
    // Nor if they are not the last ones.
    control(made.0, 1, SETVAL, 4);
    assert_eq!(is_ours_alone(made.0, 2, &[syscall::getpid()]), Ok(()));
    assert_eq!(saved(), Err(BY_CHILDREN.into()));
    assert_eq!(put_back(&then, syscall::getpid(), false), Err(BY_CHILDREN.into()));
}
