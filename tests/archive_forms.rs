//! What `promp export` writes is a tar in zstd that other programs read; what it wrote before is imported
//! as well.

use crate::common::archive::before;
use crate::common::saved::*;
use crate::common::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn shell(script: &str, args: &[&Path]) -> Run {
    let mut c = Command::new("sh");
    clean(&mut c);
    c.args(["-ec", script, "sh"]).args(args).arg(command());
    limited(c, LIMIT)
}

/// The files below a folder, and what they hold.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in prefix::below(folder) {
        if let Ok(bytes) = fs::read(folder.join(&name)) {
            found.insert(name, bytes);
        }
    }
    found
}

#[test]
fn others_read_it() {
    let s = Scratch::new("archive-forms");
    let exe = build("ckpt/elastic.c", &[]);
    let want = reference(&exe, &["1500"], &[THREADS]).out;
    let (dir, out, file, there) = (s.path("ckpt"), s.path("out"), s.path("file"), s.path("there"));
    let kill = |_: Duration| promp_image::generation_files(&dir).first().is_some_and(|n| *n > 3);
    assert!(start_with(first_run(&exe, &["1500"], &dir), &out, Some(&kill), |_| ()).is_none());
    let run = shell("\"$3\" export \"$1\" -o \"$2\"", &[&dir, &file]);
    assert_eq!(run.status, 0, "{run:?}");
    let run = shell("\"$3\" import \"$1\" \"$2\"", &[&file, &there]);
    assert_eq!(run.status, 0, "{run:?}");
    let imported = contents(&there);
    assert!(imported.contains_key("pages"), "{:?}", imported.keys());
    if available("zstd(1)", shell("zstd --version", &[]).status == 0) {
        let unpacked = s.path("unpacked");
        fs::create_dir(&unpacked).expect("a folder");
        let run = shell("tar --zstd -tf \"$1\"; cd \"$2\"; tar --zstd -xf \"$1\"", &[&file, &unpacked]);
        assert!(run.status == 0 && run.err.is_empty(), "{run:?}");
        let names: Vec<_> = run.out.lines().collect();
        assert!(names[0] == "promp.json" && names.contains(&"pages"), "{names:?}");
        let mut all = contents(&unpacked);
        let own = ["promp.json", "sums"].map(|name| all.remove(name).expect("it is there"));
        assert!(all == imported, "{:?} {:?}", all.keys(), imported.keys());
        let sums = String::from_utf8_lossy(&own[1]);
        for (name, bytes) in &all {
            let line = format!("XXH3_{:016x}  {name}\n", promp_image::sum(bytes));
            assert!(sums.contains(&line), "{line}: {sums}");
        }
    }
    // In the form before it makes the same directory, and that goes on.
    let again = s.path("again");
    fs::write(&file, before(&fs::read(&file).expect("a file"))).expect("a file");
    let run = shell("\"$3\" import \"$1\" \"$2\"", &[&file, &again]);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(contents(&again) == imported);
    let ended = start(restart(&again), &out, None).expect("it ends");
    assert!(went_well(ended, &messages(&out)), "{}", messages(&out));
    assert_eq!(read(&out), want);
}
