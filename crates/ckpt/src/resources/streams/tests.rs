//! What a rollback must know of streams.

use super::*;

fn pipe() -> (i32, i32) {
    let mut fds = [0i32; 2];
    // SAFETY: two integers.
    unsafe { assert_eq!(libc::pipe(fds.as_mut_ptr()), 0) };
    (fds[0], fds[1])
}

fn open(fd: i32, flags: i32) -> OpenFile {
    OpenFile { fd, path: path_of(fd), inherited: true, flags, ..Default::default() }
}

fn about(files: &[OpenFile]) -> image::Description {
    image::Description { files: files.to_vec(), ..Default::default() }
}

#[test]
fn input_that_is_gone_and_output_that_comes_again() {
    let ((from, other), (another, to)) = (pipe(), pipe());
    let mut all = [open(from, libc::O_RDONLY), open(to, libc::O_WRONLY)];
    let mut s = Streams::new();
    let quiet = |s: &mut Streams| {
        let since = s.since(
            1,
            &about(&open_descriptors::numbers().iter().map(|&fd| open(fd, 0)).collect::<Vec<_>>()),
            false,
        );
        since.lost.is_none() && since.again.is_empty()
    };
    s.look_at(&mut all).expect("watched");
    assert!(quiet(&mut s));
    // SAFETY: plain calls with buffers of the length given.
    let send = |fd: i32| unsafe { assert_eq!(libc::write(fd, c"ab".as_ptr().cast(), 2), 2) };
    let read = |fd: i32| unsafe { assert_eq!(libc::read(fd, [0u8; 1].as_mut_ptr().cast(), 1), 1) };
    send(other);
    assert!(quiet(&mut s), "nobody has read it yet");
    read(from);
    // A checkpoint that does not become whole changes nothing; one that does makes it a part of it.
    for _ in 0..2 {
        s.look_at(&mut all).expect("watched");
        let why = s.since(7, &about(&all), false).lost.expect("gone");
        assert!(why.contains("pipe:") && why.ends_with("since checkpoint 7"), "{why}");
    }
    assert!(s.since(7, &about(&[]), false).lost.is_none(), "it was not there at the checkpoint");
    s.whole(&about(&[]));
    assert!(quiet(&mut s) && all[0].was_read && !all[0].has_ended);
    read(from);
    send(to);
    let since = s.since(8, &about(&all), false);
    assert!(since.lost.is_some() && since.again.len() == 1);
    s.go_back(&all);
    assert!(quiet(&mut s));
    send(to);
    assert_eq!(s.since(8, &about(&all), false).again.len(), 1, "watched anew");
    assert!(fit(&all, false).is_err(), "the same pipe");
    all[0].path = "pipe:[0]".into();
    assert_eq!(fit(&all, false).map(|said| said.len()), Ok(1), "another one");
    // SAFETY: descriptors of this test.
    unsafe { libc::close(other) };
    s.look_at(&mut all).expect("ended");
    assert!(all[0].has_ended && fit(&all, true).is_ok_and(|said| said.is_empty()));
    // SAFETY: as above.
    unsafe { [from, another, to].iter().for_each(|&fd| assert_eq!(libc::close(fd), 0)) };
}

#[test]
fn a_pipe_to_itself_is_its_own_affair() {
    let (from, to) = pipe();
    let all = [open(from, libc::O_RDONLY), open(to, libc::O_WRONLY)];
    assert!(kind(&all[0], &all).is_none() && kind(&all[1], &all).is_none());
    // SAFETY: descriptors of this test.
    unsafe { [from, to].iter().for_each(|&fd| assert_eq!(libc::close(fd), 0)) };
}

#[test]
fn events_that_inotify_writes() {
    let event = |wd: i32, mask: u32, name: &[u8]| {
        [&wd.to_ne_bytes()[..], &mask.to_ne_bytes(), &[0; 4], &(name.len() as u32).to_ne_bytes(), name]
            .concat()
    };
    let text = [event(3, 1, b""), event(-1, 0x4000, b"name\0\0\0\0"), event(5, 2, b"")].concat();
    assert_eq!(events(&text).collect::<Vec<_>>(), [(3, 1), (-1, 0x4000), (5, 2)]);
    assert_eq!(events(&text[..15]).count(), 0);
}
