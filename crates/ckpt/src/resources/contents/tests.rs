//! Which files have their content saved.

use super::*;

fn file(fd: i32, path: &str, inode: u64, flags: i32, length: u64) -> OpenFile {
    OpenFile { fd, path: path.into(), inode, flags, length, regular: true, ..Default::default() }
}

#[test]
fn small_files_that_are_read_come_first() {
    let update = libc::O_RDWR;
    let mut all = vec![
        file(2, "/messages", 1, update, 10),
        file(3, "/input", 2, libc::O_RDONLY, 10),
        file(4, "/large", 3, update, 900),
        file(5, "/small", 4, update, 300),
        file(6, "/tmp/#4 (deleted)", 5, update, 500),
        file(7, "/small", 4, libc::O_RDONLY, 300),
        file(8, "/proc/1/mem", 6, update, 10),
        file(9, "/dev/shm/memory", 7, update, 100),
        file(-1, "/output", 8, libc::O_WRONLY, 50), // cannot be opened again
        OpenFile { inherited: true, ..file(10, "/stream", 9, libc::O_WRONLY, 50) },
    ];
    let chosen = choose(&mut all, Some((0, 1)), 1000);
    let numbers: Vec<_> = all.iter().map(|f| f.content).collect();
    let want = [None, None, None, Some(2), Some(3), Some(2), None, Some(1), None, None];
    assert_eq!(numbers, want);
    assert_eq!(chosen.files.len(), 3);
    assert_eq!(chosen.left_out.len(), 1);
    assert!(chosen.left_out[0].contains("/large will not be put back: PROMP_CKPT_FILES allows 1000 bytes"));
    // Each once, by the descriptor that can do most.
    assert_eq!(saved(&all).map(|(f, _)| f.fd).collect::<Vec<_>>(), [5, 6, 9]);
    assert_eq!(bytes(&all), 900);
}
