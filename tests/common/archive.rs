//! Archives of checkpoints: made by hand, and in the form that promp wrote before they were tars.

use std::io::Read;

/// The form that promp writes, and the one before.
pub const FORMS: [u32; 2] = [4, 3];

/// The first bytes of an archive in form 3.
fn header(generation: u64, room: u64) -> Vec<u8> {
    let words = [generation.to_le_bytes(), room.to_le_bytes()].concat();
    let mut header = [&b"prompexp"[..], &3u32.to_le_bytes(), &[0; 4], &words].concat();
    header.extend(promp_image::sum(&header).to_le_bytes());
    header
}

/// What stands in front of a file in form 3.
fn named(name: &str, length: u64) -> Vec<u8> {
    [&(name.len() as u16).to_le_bytes(), name.as_bytes(), &length.to_le_bytes()].concat()
}

/// What stands in front of a file in a tar.
fn entry(name: &str, length: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).expect("a name");
    header.set_size(length);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// An archive's uncompressed beginning, and the beginning of its stream: it says that it takes `room` bytes
/// on a disk; a file that has `length` bytes follows.
pub fn begin(form: u32, room: u64, length: u64) -> (Vec<u8>, Vec<u8>) {
    if form == 3 {
        return (header(1, room), named("pages", length));
    }
    let mut head = format!("{{\"format\": 4, \"generation\": 1, \"room\": {room}}}").into_bytes();
    let first = entry("promp.json", head.len() as u64);
    head.resize(512, 0);
    (Vec::new(), [first, head, entry("pages", length)].concat())
}

/// The same archive in form 3.
pub fn before(archive: &[u8]) -> Vec<u8> {
    let mut tar = tar::Archive::new(zstd::Decoder::new(archive).expect("zstd"));
    let (mut words, mut stream) = ((0, 0), Vec::new());
    for entry in tar.entries().expect("a tar") {
        let mut entry = entry.expect("an entry");
        let name = entry.path().expect("a name").to_str().expect("UTF-8").to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("a file");
        if name == "promp.json" {
            let head: serde_json::Value = serde_json::from_slice(&content).expect("JSON");
            let word = |name: &str| head[name].as_u64().expect("a number");
            words = (word("generation"), word("room"));
        } else if name != "sums" {
            stream.extend(named(&name, content.len() as u64));
            stream.extend(content);
        }
    }
    stream.extend([0; 2]);
    stream.extend(promp_image::sum(&stream).to_le_bytes());
    [header(words.0, words.1), zstd::encode_all(&stream[..], 3).expect("zstd")].concat()
}
