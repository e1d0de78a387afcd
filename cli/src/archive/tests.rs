use super::*;
use std::io::Write;

const FILES: [(&str, &[u8]); 3] = [("pages", &[9u8; 5000]), ("undo-3-1", b"abc"), ("gen-7", b"")];
const ROOM: u64 = 6 * 4096;

fn written(room: u64) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), 7, room).unwrap();
    for (name, content) in FILES {
        w.file(name, content.len() as u64).unwrap();
        w.content(content).unwrap();
    }
    w.finish().unwrap()
}

/// As promp wrote it before.
fn written_before(room: u64) -> Vec<u8> {
    let mut header = [&b"prompexp"[..], &3u32.to_le_bytes(), &[0; 4], &7u64.to_le_bytes()].concat();
    header.extend(room.to_le_bytes());
    header.extend(promp_image::sum(&header).to_le_bytes());
    let mut stream = Vec::new();
    for (name, content) in FILES {
        stream.extend((name.len() as u16).to_le_bytes());
        stream.extend(name.as_bytes());
        stream.extend((content.len() as u64).to_le_bytes());
        stream.extend(content);
    }
    stream.extend([0; 2]);
    stream.extend(promp_image::sum(&stream).to_le_bytes());
    [header, zstd::encode_all(&stream[..], 3).unwrap()].concat()
}

/// A tar of these entries, with what stands in front of each content.
fn tar_of(entries: &[(tar::EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut all = tar::Builder::new(Vec::new());
    for (kind, name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        all.append(&header, *content).unwrap();
    }
    zstd::encode_all(&all.into_inner().unwrap()[..], 3).unwrap()
}

/// The generation, and the files.
struct Taken(u64, Vec<(String, Vec<u8>)>);

impl Taker for Taken {
    fn file(&mut self, name: &str, length: u64, content: &mut dyn Read) -> Result<(), Problem> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        assert_eq!(bytes.len() as u64, length);
        self.1.push((name.into(), bytes));
        Ok(())
    }
}

fn taken(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Problem> {
    let all = read(bytes, |head| Ok(Taken(head.number, Vec::new())))?;
    assert_eq!(all.0, 7);
    Ok(all.1)
}

fn why(bytes: &[u8]) -> String {
    match taken(bytes) {
        Err(Problem::Bad(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_written_is_read() {
    for bytes in [written(ROOM), written_before(ROOM)] {
        let all = taken(&bytes).unwrap();
        let all: Vec<_> = all.iter().map(|(n, c)| (n.as_str(), c.as_slice())).collect();
        assert_eq!(all, FILES);
    }
}

#[test]
fn every_flipped_bit_and_every_truncation_is_noticed() {
    for good in [written(ROOM), written_before(ROOM)] {
        let files = taken(&good).unwrap();
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                // A bit of the compressed stream that means nothing changes nothing.
                let all = taken(&bad);
                assert!(all.is_err() || all.is_ok_and(|all| all == files), "byte {i} bit {bit}");
            }
            assert!(taken(&good[..i]).is_err(), "{i}");
        }
        assert!(taken(&[&good[..], &good[..]].concat()).is_err());
    }
}

#[test]
fn it_holds_no_more_than_it_says() {
    let needed: u64 = FILES.iter().map(|f| on_disk(f.1.len() as u64)).sum();
    assert_eq!((needed, on_disk(u64::MAX), on_disk(u64::MAX - 10_000)), (ROOM, u64::MAX, u64::MAX - 4095));
    for (room, fits) in [(0, false), (needed - 1, false), (needed, true), (u64::MAX, true)] {
        for bytes in [written(room), written_before(room)] {
            assert_eq!(taken(&bytes).is_ok(), fits, "{room}");
        }
    }
}

#[test]
fn a_newer_format_is_named() {
    let mut bytes = written_before(ROOM);
    bytes[8] = 5;
    assert!(why(&bytes).contains("a newer format, version 5; this promp reads versions 3 to 4"));
    bytes[8] = 2;
    assert!(why(&bytes).contains("an older format, version 2"));
    let newer = tar_of(&[(tar::EntryType::Regular, "promp.json", br#"{"format": 5, "what": "else"}"#)]);
    assert!(why(&newer).contains("a newer format, version 5"));
}

/// Tars that others have made.
#[test]
fn a_tar_that_is_none_of_ours() {
    use tar::EntryType as T;
    let head = br#"{"format": 4, "generation": 7, "room": 100000}"#;
    let first = (T::Regular, "promp.json", &head[..]);
    let sum = |name: &str, content: &[u8]| format!("XXH3_{:016x}  {name}\n", promp_image::sum(content));
    let sums = sum("promp.json", head);
    let last = (T::Regular, "sums", sums.as_bytes());
    assert_eq!(taken(&tar_of(&[first, last])).unwrap(), []);
    let long = [b'x'; 5000];
    let says = [
        (vec![], "truncated"),
        (vec![last], "not a file that"),
        (vec![(T::Regular, "promp.json", &b"[]"[..])], "not a file that"),
        (
            vec![(T::Regular, "promp.json", &br#"{"format": 4, "generation": -7, "room": 1}"#[..])],
            "its first file",
        ),
        (vec![(T::Regular, "promp.json", &long)], "not a file that"),
        (vec![(T::XHeader, "promp.json", head)], "something else than files"),
        (vec![first], "truncated"),
        (vec![first, last, last], "follows its end"),
        (vec![first, (T::Regular, "pages", &b"abc"[..]), last], "checksum"),
        (vec![first, (T::Regular, "sums", &b"XXH3_"[..])], "checksum"),
        (vec![first, (T::Regular, "gen-8", &b""[..])], "the name of a file"),
        (vec![first, (T::Regular, "promp.json", &b""[..])], "the name of a file"),
        (vec![first, (T::GNULongName, "pages", &b"pages\0"[..]), last], "something else than files"),
        (vec![first, (T::Symlink, "undo-3-4", &b""[..]), last], "something else than files"),
        (vec![first, (T::Directory, "files", &b""[..]), last], "something else than files"),
        (vec![first, (T::GNUSparse, "pages", &b""[..]), last], "something else than files"),
        (vec![first, (T::Regular, "link/undo-3-4", &long), last], "leads nowhere"),
    ];
    for (entries, want) in says {
        let why = why(&tar_of(&entries));
        assert!(why.contains(want), "{want}: {why}");
    }
    // What follows the end.
    let tar = zstd::decode_all(&tar_of(&[first, last])[..]).unwrap();
    for (more, fine) in [(&[0; 9000][..], true), (&[0; 20_000], false), (&[1], false), (&tar, false)] {
        let bytes = zstd::encode_all(&[&tar, more].concat()[..], 3).unwrap();
        assert_eq!(taken(&bytes).is_ok(), fine, "{}", more.len());
    }
    let mut second = Vec::from(&tar_of(&[first, last])[..]);
    zstd::Encoder::new(&mut second, 1).unwrap().auto_finish().write_all(b"x").unwrap();
    assert!(why(&second).contains("follows its end"));
}

#[test]
fn names_stay_in_the_directory() {
    for bad in [
        "",
        ".",
        "../x",
        "gen-8",
        "gen-",
        "undo-",
        "undo-1-",
        "sent-x",
        "lock",
        "pages/",
        "/etc",
        "files/x",
        "files/../x",
        "link/",
        "link/pages",
        "link/undo-3",
        "link/link/undo-3-4",
        "link/../undo-3-4",
    ] {
        assert!(!is_named(bad, 7), "{bad}");
    }
    let copy = "files/0123456789abcdef-1f";
    assert!(
        ["pages", "state", "gen-7", "undo-12", "undo-3-4", "link/undo-3-4", "sent-0", copy]
            .iter()
            .all(|n| is_named(n, 7))
    );
}
