//! Programs built by the drivers.

use super::*;

/// Compiles with a driver; what it printed.
pub fn compile(driver: &Path, args: &[&str]) -> String {
    let mut c = Command::new(driver);
    c.args(args);
    let r = limited(c, Duration::from_secs(120));
    assert_eq!(r.status, 0, "{driver:?} {args:?}: {}", r.err);
    r.err
}

/// A program built with a driver, not linked against libpromp: tests preload it, or not.
pub fn driven(driver: &Path, source: &str, flags: &[&str]) -> PathBuf {
    driven_and_reported(driver, source, flags).0
}

/// Likewise, and what the driver said. The same request is built once.
pub fn driven_and_reported(driver: &Path, source: &str, flags: &[&str]) -> (PathBuf, String) {
    let path = root().join("c-tests").join(source);
    let name = format!("{source} {}", flags.join(" ")).replace(['/', ' ', '=', '.', '-', ',', '+'], "_");
    let exe = shared_folder("driven").join(name.trim_end_matches('_'));
    let said = exe.with_extension("said");
    let parts = ["promp_plugin.so", "promp-cc"].map(|part| library().with_file_name(part));
    let words = [flags, &parts.each_ref().map(|part| part.to_str().expect("UTF-8"))].concat();
    built::once(&built::Request { exe: &exe, compiler: driver, words: &words }, |tmp, read| {
        let modules = exe.with_extension("mod");
        std::fs::create_dir_all(&modules).expect("target is writable");
        let mut args = vec!["-O2", "-fopenmp", "-w", "-fno-promp-runtime", "-MMD", "-MF"];
        args.push(read.to_str().expect("UTF-8"));
        args.extend(flags);
        if source.ends_with("90") {
            args.extend(["-cpp", "-J", modules.to_str().expect("UTF-8")]);
        }
        args.extend(["-o", tmp.to_str().expect("UTF-8"), path.to_str().expect("UTF-8"), "-lm"]);
        std::fs::write(&said, compile(driver, &args)).expect("target is writable");
    });
    (exe, std::fs::read_to_string(&said).expect("what the driver said"))
}
