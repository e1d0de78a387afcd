//! The programs that measure: C sources that the command carries with it, built by gcc and run under
//! libpromp.so.

use crate::{Failure, library};
use promp_files::Scratch;
use promp_settings::{REPORT, TUNE};
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER: &str = include_str!("../../../c-tests/model/measure.h");
/// Name and text of each.
const SOURCES: [(&str, &str); 4] = [
    ("calibrate", include_str!("../../../c-tests/model/calibrate.c")),
    ("jacobi", include_str!("../../../c-tests/model/jacobi.c")),
    ("wavefront", include_str!("../../../c-tests/model/wavefront.c")),
    ("pipeline", include_str!("../../../c-tests/model/pipeline.c")),
];

/// One measurement: "name threads parameter: time time …".
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What was measured.
    pub name: String,
    /// With how many threads (or another small number).
    pub threads: u32,
    /// Iterations, tile or the like.
    pub parameter: u64,
    /// Seconds, a repetition each.
    pub times: Vec<f64>,
}

impl Line {
    fn read(line: &str) -> Option<Self> {
        let (head, times) = line.split_once(':')?;
        let mut head = head.split_whitespace();
        let (name, threads) = (head.next()?.to_string(), head.next()?.parse().ok()?);
        let parameter = head.next()?.parse().ok()?;
        let times: Vec<f64> = times.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        (!times.is_empty()).then_some(Self { name, threads, parameter, times })
    }
}

/// A folder with the programs, removed when it is dropped.
pub struct Programs {
    folder: Scratch,
    library: PathBuf,
}

impl Programs {
    /// Builds them all.
    pub fn build() -> Result<Self, Failure> {
        let library = library::find()?;
        let fails = |what: &Path, e: std::io::Error| Failure::new(74, format!("{}: {e}", what.display()));
        let folder = Scratch::new("promp-model").map_err(|e| fails(&std::env::temp_dir(), e))?;
        let p = Self { folder, library };
        let put = |name: &str, text: &str| {
            let path = p.folder.path().join(name);
            std::fs::write(&path, text).map_err(|e| fails(&path, e))
        };
        put("measure.h", HEADER)?;
        for (name, text) in SOURCES {
            put(&format!("{name}.c"), text)?;
            let done = Command::new("gcc")
                .args(["-O2", "-fopenmp", "-o", name, &format!("{name}.c"), "-lm"])
                .current_dir(p.folder.path())
                .output()
                .map_err(|e| Failure::new(69, format!("gcc, which builds the programs that measure: {e}")))?;
            if !done.status.success() {
                let why = String::from_utf8_lossy(&done.stderr).into_owned();
                return Err(Failure::new(69, format!("gcc cannot build {name}.c:\n{why}")));
            }
        }
        Ok(p)
    }

    /// Runs one of them; its measurements.
    pub fn run(&self, name: &str, arguments: &[u64]) -> Result<Vec<Line>, Failure> {
        let mut c = Command::new(self.folder.path().join(name));
        library::preload(&mut c, &self.library)?;
        let done = c
            .args(arguments.iter().map(u64::to_string))
            .env_remove("OMP_NUM_THREADS")
            .env_remove(REPORT.name)
            .env_remove(TUNE.name)
            .output()
            .map_err(|e| Failure::new(126, format!("{name} cannot be started: {e}")))?;
        if !done.status.success() {
            return Err(Failure::new(70, format!("{name} has failed: {}", done.status)));
        }
        Ok(String::from_utf8_lossy(&done.stdout).lines().filter_map(Line::read).collect())
    }
}

/// The measurement of `name` with these threads.
pub fn times<'a>(lines: &'a [Line], name: &str, threads: u32) -> Option<&'a [f64]> {
    lines.iter().find(|l| l.name == name && l.threads == threads).map(|l| l.times.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let l = Line::read("post 2 500: 1e-7 2.5e-7").unwrap();
        assert_eq!((l.name.as_str(), l.threads, l.parameter, l.times), ("post", 2, 500, vec![1e-7, 2.5e-7]));
        for bad in ["sum: 3", "", "post 2 500:", "post two 500: 1", "post 2 500: x"] {
            assert_eq!(Line::read(bad), None, "{bad}");
        }
    }
}
