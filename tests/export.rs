//! `promp export` and `promp import`: a checkpoint as one file, and its variables for NumPy
//! (docs/internals/restart-elsewhere.md).

use crate::common::archive::before;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn promp_command(args: &[&str]) -> Run {
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(args);
    limited(c, LIMIT)
}

/// Runs `exe` until it has said something, if that is asked for, and has taken `n` checkpoints since;
/// kills it.
fn killed(exe: &Path, args: &[&str], dir: &Path, out: &Path, (word, n): (&str, u64)) {
    let _ = fs::remove_dir_all(dir);
    let _ = fs::remove_file(out);
    let newest = || promp_image::generation_files(dir).first().copied().unwrap_or(0);
    let said_at = std::cell::Cell::new(None);
    let kill = |_: Duration| {
        if said_at.get().is_none() && read(out).contains(word) {
            said_at.set(Some(newest()));
        }
        said_at.get().is_some_and(|at| newest() >= at + n)
    };
    let ended = start_with(first_run(exe, args, dir), out, Some(&kill), |_| ());
    assert!(ended.is_none(), "it ended before it was killed: {}", messages(out));
}

#[test]
fn one_file_and_back() {
    let s = Scratch::new("export");
    let exe = build("ckpt/elastic.c", &[]);
    let want = reference(&exe, &["1500"], &[THREADS]).out;
    let (dir, out, file, there) = (s.path("ckpt"), s.path("out"), s.path("file"), s.path("there"));
    killed(&exe, &["1500"], &dir, &out, ("", 3));
    let run = promp_command(&["export", text(&dir), "-o", text(&file)]);
    assert_eq!(run.status, 0, "{}", run.err);
    let mode =
        |p: &Path| std::os::unix::fs::PermissionsExt::mode(&p.metadata().unwrap().permissions()) & 0o777;
    assert_eq!(mode(&file), 0o600);
    // Damaged in any way it makes no directory; the original stays as it is.
    let good = fs::read(&file).unwrap();
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("cut", good[..good.len() / 2].to_vec(), "truncated"),
        ("empty", Vec::new(), "truncated"),
        ("another", b"PK\x03\x04 something else, of some length".to_vec(), "not a file that `promp export`"),
        ("flipped", [&good[..], &[]].concat(), "damaged"),
        ("newer", before(&good), "newer format, version 9"),
    ];
    for (name, mut bytes, says) in cases {
        let n = bytes.len();
        match name {
            "flipped" => bytes[n / 2] ^= 16,
            "newer" => bytes[8] = 9,
            _ => {}
        }
        let bad = s.path(name);
        fs::write(&bad, bytes).unwrap();
        let run = promp_command(&["import", text(&bad), text(&there)]);
        assert_eq!(run.status, 65, "{name}: {}", run.err);
        assert!(run.err.contains(says) && !there.exists(), "{name}: {}", run.err);
    }
    let run = promp_command(&["import", text(&file), text(&there)]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(mode(&there), 0o700);
    // Not into what holds something.
    let run = promp_command(&["import", text(&file), text(&there)]);
    assert!(run.status == 64 && run.err.contains("is not empty"), "{}", run.err);
    fs::remove_dir_all(&dir).unwrap();
    // It goes on, and so does what it saves then: the checksums of pages that have not changed since were in
    // the file of the generation that was imported.
    let whole = |dir: &Path| {
        let d = promp_image::Directory::open(dir).unwrap();
        let all = d.generations().into_iter().map(|n| d.read(n).unwrap());
        all.inspect(|g| d.verify(g, |_| ()).unwrap()).count()
    };
    let imported = promp_image::generation_files(&there)[0];
    let kill = |_: Duration| promp_image::generation_files(&there)[0] >= imported + 2;
    assert!(!there.join(promp_image::SUMS).exists());
    assert!(start_with(restart(&there), &out, Some(&kill), |_| ()).is_none(), "{}", messages(&out));
    assert!(whole(&there) >= 1 && there.join(promp_image::SUMS).exists());
    let ended = start(restart(&there), &out, None).expect("it ends");
    assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    assert_eq!(read(&out), want);
    let run = promp_command(&["export", text(&dir), "-o", text(&file)]);
    assert_eq!(run.status, 66, "{}", run.err);
}

/// What `file` holds, by Python's standard library: name, type, order, shape, the bytes as numbers.
fn arrays(file: &Path) -> String {
    const SCRIPT: &str = r#"
import ast, struct, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
for name in z.namelist():
    data = z.read(name)
    assert data[:6] == b"\x93NUMPY" and data[6] == 1, name
    (n,) = struct.unpack("<H", data[8:10])
    assert (10 + n) % 64 == 0 and data[9 + n] == 10, name
    h = ast.literal_eval(data[10 : 10 + n].decode())
    body = data[10 + n :]
    kind = h["descr"]
    letter = {"'<f8'": "d", "'<f4'": "f", "'<i4'": "i", "'<i2'": "h", "'<u8'": "Q", "'<i8'": "q",
              "'<c8'": "f", "'<c16'": "d"}.get(repr(kind))
    values = struct.unpack("<%d%s" % (len(body) // struct.calcsize(letter), letter), body) if letter else body
    print(name, kind, h["fortran_order"], h["shape"], list(values[:12]) if letter else body.hex())
"#;
    let mut c = Command::new("python3");
    c.args(["-c", SCRIPT]).arg(file);
    let run = limited(c, LIMIT);
    assert_eq!(run.status, 0, "{}", run.err);
    run.out
}

#[test]
fn variables_for_numpy() {
    let s = Scratch::new("npz");
    let (dir, out, file) = (s.path("ckpt"), s.path("out"), s.path("file.npz"));
    let exe = build("ckpt/named.c", &["-g", "-O0"]);
    killed(&exe, &[], &dir, &out, ("set", 2));
    let run = promp_command(&["export", text(&dir), "--npz", "-o", text(&file)]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.contains("1 that were dead are left out"), "{}", run.out);
    let all = arrays(&file);
    let pair = "[('x', '<f4'), ('tag', '|i1'), ('', '|V3'), ('y', '<f8', (2,))]";
    // Of the first element: 0.0f, 0, gap, 0.0, 0.0; of the second 1.0f, -1, …, 3.0, 5.0.
    let lines = [
        "matrix.npy <f8 False (300, 5) [0.0, 0.125, 0.25, 0.375, 0.5, 1.0,",
        "wave.npy <c8 False (7,) [0.0, -0.0, 1.0, -2.0, 2.0, -4.0,",
        "counts.npy <i4 False (4,) [1, 2, 3, 4]",
        "large.npy <u8 False () [9223372036854775808]",
        "next.calls.npy <i2 False () [42]",
        &format!("pairs.npy {pair} False (3,) "),
    ];
    for line in lines {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("work.npy") && !all.contains("text.npy"), "{all}");
    assert!(all.contains("0000803fff"), "1.0f and -1 in the second pair: {all}");

    let exe = build("ckpt/named.f90", &["-g", "-O0"]);
    killed(&exe, &[], &dir, &out, ("set", 2));
    let run = promp_command(&["export", text(&dir), "--npz", "-o", text(&file)]);
    assert_eq!(run.status, 0, "{}", run.err);
    let all = arrays(&file);
    let lines = [
        "fields.u.npy <f8 True (4, 5) [10.0, 11.0, 12.0, 13.0, 20.0,",
        "fields.fixed.npy <f4 True (2, 3) [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]",
        "fields.z.npy <c16 True (4,) [1.0, -1.0, 2.0, -2.0,",
        "fields.steps.npy <i4 False () [7]",
        "fields.word.npy |S5 False () 6162636465",
        "tally.npy <i8 False () [123456789012]",
    ];
    for line in lines {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains("never"), "{all}");

    // Without debug information there are no names.
    let exe = build("ckpt/elastic.c", &[]);
    killed(&exe, &["1500"], &dir, &out, ("", 2));
    let _ = fs::remove_file(&file);
    let run = promp_command(&["export", text(&dir), "--npz", "-o", text(&file)]);
    assert!(run.status == 65 && run.err.contains("build it with -g"), "{}", run.err);
    assert!(!file.exists());
}
