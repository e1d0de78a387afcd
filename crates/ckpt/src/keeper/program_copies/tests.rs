//! Which copies are synced by which checkpoint.

use super::*;
use promp_files::Scratch;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A process that has `path` mapped.
fn with(path: &std::path::Path) -> Description {
    let inode = fs::metadata(path).expect("a file").ino();
    let path = path.display().to_string();
    let m = Map { start: 4096, end: 8192, prot: 1, dev: "08:01".into(), inode, path, ..Map::default() };
    Description { maps: vec![m], ..Description::default() }
}

#[test]
fn copies_are_synced_until_a_checkpoint_is_whole() {
    let s = Scratch::new("promp-contained").expect("a folder");
    let (file, dir) = (s.path().join("lib.so"), s.path().join("ckpt"));
    fs::write(&file, "code").expect("a file");
    fs::create_dir(&dir).expect("a folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("ours");
    let settings = Settings { dir, contained: true, ..Settings::default() };
    let mut files = MappedFiles::default();
    let look = |files: &mut MappedFiles| {
        let told = files.recognise(&mut with(&file), &settings, None);
        assert!(told.is_empty(), "{told:?}");
        files.unsynced.len()
    };
    assert_eq!(look(&mut files), 1);
    // The checkpoint fails, before it is committed, and in that: the next one counts on the copy, too.
    assert_eq!(look(&mut files), 1);
    files.is_in_vain();
    assert_eq!(look(&mut files), 1);
    // It is whole.
    files.unsynced.clear();
    assert_eq!(look(&mut files), 0);
    // Another process finds the copy, which may not have been synced.
    assert_eq!(look(&mut MappedFiles::default()), 1);
}
