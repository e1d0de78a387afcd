//! Random programs whose memory is filled with ones wherever it is said to be dead: they give the same
//! results as GCC's builds of them.

use super::draws::{first_seed, set_count};
use super::saved::{Scratch, text};
use super::*;

/// What is tried.
pub struct Filled<'a> {
    /// Of the folder for results.
    pub name: &'a str,
    /// The program of a seed.
    pub source: fn(u64) -> String,
    /// An option for promp-cc.
    pub option: &'a str,
    /// Behind this c-tests/compiler/poison.c tells how many bytes it has filled.
    pub told: &'a str,
    /// Programs in CI. PROMP_TEST_LONG=1: 2,000.
    pub few: u64,
}

impl Filled<'_> {
    /// Compiles and runs the programs; a quarter of them must have dead memory.
    pub fn give_the_same_results(&self) {
        let Some(cc) = driver("promp-cc") else { return };
        let s = Scratch::new(self.name);
        let poison = s.path("poison.o");
        let mut c = Command::new("gcc");
        c.args(["-O1", "-fopenmp", "-w", "-c", "-o", text(&poison)])
            .arg(root().join("c-tests/compiler/poison.c"));
        assert_eq!(limited(c, Duration::from_secs(60)).status, 0);
        let (first, count) = (first_seed(), set_count(if long() { 2000 } else { self.few }));
        let (mut some, mut bytes) = (0, 0);
        for seed in first..first + count {
            let (program, code) = (s.path("p.c"), (self.source)(seed));
            std::fs::write(&program, &code).expect("a file");
            let built = |cc: &std::path::Path, exe: &str, flags: &[&str]| {
                let exe = s.path(exe);
                let mut c = Command::new(cc);
                c.args(["-fopenmp", "-w", "-foffload=disable", "-o", text(&exe), text(&program)]).args(flags);
                let done = limited(c, Duration::from_secs(120));
                assert_eq!(done.status, 0, "seed {seed}: {}\n{code}", done.err);
                exe
            };
            let level = ["-O1", "-O2", "-O3"][seed as usize % 3];
            let plain = built("gcc".as_ref(), "plain", &["-O1"]);
            let exe = built(&cc, "filled", &[level, self.option, text(&poison)]);
            let run = |exe: &std::path::Path| {
                let mut c = Command::new(exe);
                c.env("OMP_NUM_THREADS", "3");
                limited(c, Duration::from_secs(60))
            };
            let (want, have) = (run(&plain), run(&exe));
            assert_eq!(
                (want.status, have.status, &want.out),
                (0, 0, &have.out),
                "seed {seed}, {level}\n{code}"
            );
            let n = have.err.lines().find_map(|l| l.strip_prefix(self.told)?.parse().ok());
            let n: u64 = n.unwrap_or_else(|| panic!("seed {seed}: {}", have.err));
            some += u64::from(n > 0);
            bytes += n;
        }
        println!("{some} of {count} programs with dead memory, {bytes} bytes filled");
        assert!(some > count / 4, "{some} of {count}");
    }
}
