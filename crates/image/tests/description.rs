//! Images of before are read by the promp of today, and written as they were: description-4-5.json is what
//! versions 4 and 5 of the format say of a process, every key once, in order. A key may come to it that older
//! images do not have. Where one goes, moves, or is needed, the format has another version, and so the file
//! another name.

use promp_image::{Description, Sums, decode, encode};

const GOLDEN: &str = include_str!("description-4-5.json");
const VERSIONS: [u32; 2] = [4, 5];

/// Without what is for readers: its strings have no blanks.
fn written() -> String {
    GOLDEN.split_whitespace().collect()
}

fn read(text: &str) -> Result<Description, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn what_was_written_is_read_and_written_the_same() {
    let about = read(GOLDEN).expect("a description");
    assert_eq!(serde_json::to_string(&about).expect("plain data"), written());
    for (sums, version) in [Sums::Inside, Sums::Aside].into_iter().zip(VERSIONS) {
        let image = encode(7, &about, &[], sums);
        assert_eq!(image[8..12], version.to_le_bytes());
        let again = decode(&image, &mut |_, _| Ok(Vec::new())).expect("an image");
        assert_eq!((again.number, again.about), (7, about.clone()));
    }
}

/// What the first images had: all else may be missing.
#[test]
fn keys_that_came_later_may_be_missing() {
    let about = read(GOLDEN).expect("a description");
    let all = serde_json::to_value(&about).expect("plain data");
    let all = all.as_object().expect("keys");
    let needed = |key: &&String| {
        let mut others = all.clone();
        others.remove(*key);
        serde_json::from_value::<Description>(others.into()).is_err()
    };
    let mut found: Vec<&str> = all.keys().filter(needed).map(String::as_str).collect();
    found.sort_unstable();
    let first = [
        "arguments",
        "at_s",
        "brk",
        "contexts",
        "cpu",
        "directory",
        "environment",
        "era",
        "files",
        "limits",
        "mapped",
        "maps",
        "pid",
        "program",
        "promp",
        "region",
        "signals",
        "stack_limit",
        "threads",
        "umask",
        "vdso",
        "written",
    ];
    assert_eq!(found, first);
}

/// A working directory was its path alone at first.
#[test]
fn a_directory_may_be_a_path() {
    let older = written().replace(r#"{"path":"/d","inode":1,"born":2}"#, r#""/d""#);
    assert_eq!(read(&older).expect("a description").directory.path, "/d");
}
