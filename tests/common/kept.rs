//! Programs that look whether what they have set is as they have set it, and print `kept` at the end: through
//! rollbacks and restarts.

use super::draws::Draws;
use super::*;

/// Such a program, which says at its end, too, what of the runtime's data goes back and leads to what does
/// not (ckpt/kept_pointers.h).
pub fn build_kept(source: &str) -> PathBuf {
    let header = root().join("c-tests/ckpt/kept_pointers.h");
    build(source, &["-include", saved::text(&header)])
}

/// What such a run says: nothing has changed.
pub fn kept(r: &Run, what: &str) {
    assert!(!r.hung && r.status == 0 && r.out.ends_with("kept\n"), "{what}: {r:?}");
}

/// Memory is lost and the whole process dies, in turn, until each was seen `least` times: the program says
/// that it has kept what it should. `died`: at which regions.
pub fn kept_throughout(
    exe: &std::path::Path,
    args: &[&str],
    least: usize,
    died: impl Fn(u64) -> [u64; 2],
    lost: &str,
) {
    let (mut back, mut restarts, mut draws) = (0, 0, Draws::between(if long() { 40 } else { 1 }, 100));
    let words = args.iter().filter(|a| !a.contains('/'));
    let name =
        words.fold(exe.file_name().expect("a name").to_string_lossy().into_owned(), |n, a| n + "-" + a);
    while let Some(seed) = draws.next(back >= least && restarts >= least) {
        let scratch = saved::Scratch::new(&name);
        let dir = scratch.path("ckpt");
        let died = died(seed).map(|region| format!("die@region={region}")).join(";");
        let lost = format!("memerr@mtbf={lost},count=3,seed={seed}");
        let env = [
            ("PROMP_FAULT", [&died[..], &lost][seed as usize % 2]),
            ("PROMP_CKPT_DIR", saved::text(&dir)),
            ("PROMP_CKPT_INTERVAL", "15ms"),
        ];
        let mut r = promp(exe, args, &env);
        back += r.err.matches("rolled back").count();
        while r.status == 137 {
            r = limited(saved::restart(&dir), LIMIT);
            restarts += usize::from(r.err.contains("restarted from"));
        }
        // Nor one since it has made what is not undone, where it is killed too early on a busy machine.
        let none = ["holds no checkpoint", "System V since the checkpoint, which cannot be undone"];
        let without = r.status == 71 && none.iter().any(|why| r.err.contains(why));
        if !saved::too_early(&r) && !without {
            let what = format!("{args:?}, {:?}", env[0]);
            assert_eq!((r.status, &r.out[..]), (0, "kept\n"), "{what}: {}", r.err);
            assert!(!r.err.contains("no checkpoint now"), "{what}: {}", r.err);
        }
    }
    assert!(back >= least && restarts >= least, "{args:?}: {back} rollbacks, {restarts} restarts");
}
