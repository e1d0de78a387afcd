//! Jobs that are asked to end, or die, again and again, until they are done: what they write is what a run
//! writes that was left alone, byte for byte (docs/internals/jobs.md). With PROMP_TEST_LONG: 50 requests to
//! each of six programs, 200 runs of each with five deaths and more, a program of 1 GiB.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// A program, and the file that it writes its result to; none: standard output.
struct Job {
    name: String,
    exe: PathBuf,
    args: Vec<String>,
    out: Option<PathBuf>,
    want: String,
}

impl Job {
    fn new(exe: PathBuf, args: &[&str], out: Option<PathBuf>) -> Self {
        let name = exe.file_name().expect("a name").to_string_lossy().into_owned();
        let args: Vec<String> = args.iter().map(|a| (*a).into()).collect();
        let mut job = Self { name, exe, args, out, want: String::new() };
        let end =
            reference(&job.exe, &job.words(), &[("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive")]);
        assert_eq!(end.status, 0, "{}: {}", job.name, end.err);
        job.want = job.out.as_ref().map_or(end.out, |f| read(f));
        assert!(job.want.len() > 20, "{}", job.name);
        job
    }

    fn words(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    /// `promp run` of it, its output added to the file `log`.
    fn run(&self, dir: &Path, options: &[&str], log: &Path) -> Command {
        let mut c = run(dir, options, &self.exe, &self.words());
        let log = fs::OpenOptions::new().create(true).append(true).open(log).expect("the output");
        c.stdout(log);
        c
    }

    fn check(&self, log: &Path, what: &str) {
        let result = self.out.as_ref().map_or_else(|| read(log), |f| read(f));
        assert!(result == self.want, "{}, {what}: its output is another one:\n{result}", self.name);
    }
}

/// Letters in FASTA format, as many of them in lines as are asked for.
fn sequences(letters: &[u8], members: u64, length: u64) -> String {
    let mut rng = Seeded(length);
    let ancestor: Vec<u8> = (0..length).map(|_| *rng.pick(letters)).collect();
    let mut text = String::new();
    for i in 0..members {
        text += &format!(">s{i}\n");
        let other = |l: u8, rng: &mut Seeded| if rng.below(100) < 25 { *rng.pick(letters) } else { l };
        text.extend(ancestor.iter().map(|&l| char::from(other(l, &mut rng))));
        text.push('\n');
    }
    text
}

/// Serial steps and regions, tasks of NPB's kind in C and Fortran, a stencil; two of Debian's packages.
fn jobs(s: &Scratch) -> Vec<Job> {
    let (genes, proteins, tree) = (s.path("genes.fa"), s.path("proteins.fa"), s.path("aligned"));
    fs::write(&genes, sequences(b"ACGT", 60, 900)).expect("a file");
    fs::write(&proteins, sequences(b"ACDEFGHIKLMNPQRSTVWY", 30, 500)).expect("a file");
    let mut all = vec![Job::new(steps(), &["150", "", "4000"], None)];
    if long() {
        all.push(Job::new(build("npb/mg.c", &[]), &["W"], None));
        all.push(Job::new(build("npb/cg.f90", &[]), &["W"], None));
        all.push(Job::new(build("ft/jacobi.c", &[]), &["600", "1500"], None));
    }
    let packages = [
        ("/usr/bin/fasttreeMP", &["-nt", "-quiet", "-nosupport", text(&genes)][..], None),
        (
            "/usr/bin/clustalo",
            &["-i", text(&proteins), "--threads=2", "--force", "-o", text(&tree)],
            Some(tree.clone()),
        ),
    ];
    for (exe, args, out) in packages {
        if available(exe, Path::new(exe).exists()) {
            all.push(Job::new(exe.into(), args, out));
        }
    }
    if !long() {
        all.truncate(2);
    }
    all
}

/// `promp run --resume --on-signal TERM=checkpoint-exit`, asked to end at random times until it is done.
#[test]
fn asked_to_end_at_random_times() {
    let s = Scratch::new("preempted");
    let jobs = jobs(&s);
    let requests = if long() { 50 } else { 2 };
    let (dir, log) = (s.path("ckpt"), s.path("log"));
    let mut rng = Seeded(31);
    let mut seen = vec![0; jobs.len()];
    for round in 0..1000 {
        for (job, seen) in jobs.iter().zip(&mut seen).filter(|(_, n)| **n < requests) {
            let _ = fs::remove_dir_all(&dir);
            let _ = fs::remove_file(&log);
            let mut ends = 0;
            for turn in 0.. {
                assert!(turn < 100, "{}: it does not come to its end", job.name);
                let options = ["--every", "1h", "--resume", "--on-signal", "TERM=checkpoint-exit"];
                let promp = started(&mut job.run(&dir, &options, &log));
                let pid = promp.id() as i32;
                std::thread::sleep(Duration::from_millis(50 + rng.below(500) + 40 * turn));
                // To `promp` only, or to all processes of the job.
                kill(if rng.below(2) == 0 { pid } else { -pid }, libc::SIGTERM);
                let end = ended(promp, LIMIT);
                assert!(!end.hung, "{}: {}", job.name, end.err);
                match end.status {
                    0 => break,
                    85 => ends += 1,
                    // Before the handler was there, in a new process or one on its way from the image.
                    143 if !end.err.contains("no checkpoint could be taken") => {}
                    other => panic!("{}: status {other}: {}", job.name, end.err),
                }
            }
            job.check(&log, &format!("{ends} requests"));
            *seen += ends;
            if long() {
                eprintln!("round {round}: {}: {seen} requests so far", job.name);
            }
        }
    }
    assert!(seen.iter().all(|n| *n >= requests), "{seen:?}");
}

/// What tells the newest checkpoint from those before.
fn newest(dir: &Path) -> Option<(u64, SystemTime)> {
    let number = *promp_image::generation_files(dir).first()?;
    Some((number, dir.join(format!("gen-{number}")).metadata().ok()?.modified().ok()?))
}

/// Kills the program up to `times` times. Two of three deaths come somewhere behind a new checkpoint, so that
/// the program gets on; the others at any time after the death before, on the way from the image, too.
fn die_again_and_again(promp: &Child, dir: &Path, rng: &mut Seeded, times: u64) {
    let (mut checkpoint, mut process) = (None, None);
    for death in 0..times {
        let forward = death == 0 || rng.below(3) > 0;
        let mut child = 0;
        while is_gone(child) || began(child) == process || (forward && newest(dir) == checkpoint) {
            if is_gone(promp.id() as i32) {
                return;
            }
            std::thread::sleep(Duration::from_micros(500));
            child = child_of(promp).unwrap_or(-1);
        }
        std::thread::sleep(Duration::from_micros(rng.below(30_000)));
        (checkpoint, process) = (newest(dir), began(child));
        if process.is_some() && child_of(promp) == Some(child) {
            kill(child, libc::SIGKILL);
        }
    }
}

/// `rounds` runs of each with five deaths and more. They take turns, so that all die as often.
fn die_often(jobs: &[Job], s: &Scratch, rounds: u64) {
    let mut rng = Seeded(jobs[0].name.len() as u64);
    let (dir, log) = (s.path(&jobs[0].name), s.path(&format!("{}.log", jobs[0].name)));
    let mut deaths = vec![0; jobs.len()];
    for round in 0..rounds {
        for (job, deaths) in jobs.iter().zip(&mut deaths) {
            let mut tries = 0..50;
            loop {
                assert!(tries.next().is_some(), "{}: it is too short for five deaths", job.name);
                let _ = fs::remove_dir_all(&dir);
                let _ = fs::remove_file(&log);
                let promp = started(&mut job.run(&dir, &["--every", "20ms", "--auto-restart", "99"], &log));
                let times = 5 + rng.below(4);
                die_again_and_again(&promp, &dir, &mut rng, times);
                let end = ended(promp, LIMIT);
                let died = end.err.matches("killed by signal 9").count();
                let what = format!("round {round}, {died} deaths");
                assert!(!end.hung, "{}, {what}: it is not done after {LIMIT:?}: {}", job.name, end.err);
                assert_eq!(end.status, 0, "{}, {what}: {}", job.name, end.err);
                job.check(&log, &what);
                *deaths += died;
                if died >= 5 {
                    break; // else it has come to its end too early, and begins anew
                }
            }
        }
        if long() {
            let all: Vec<_> = jobs.iter().map(|j| j.name.as_str()).zip(&deaths).collect();
            eprintln!("{} runs with five deaths and more each; all deaths: {all:?}", round + 1);
        }
    }
}

/// Killed (the whole process) again and again, continued by `--auto-restart`.
#[test]
fn many_deaths_in_one_run() {
    let s = Scratch::new("deaths");
    let all = jobs(&s);
    let rounds = if long() { 200 } else { 1 };
    // Two at a time: one waits for a checkpoint while the other one computes.
    std::thread::scope(|scope| {
        for half in all.chunks(all.len().div_ceil(2)) {
            scope.spawn(|| die_often(half, &s, rounds));
        }
    });
}

/// Fills memory, and sums it up in regions.
const LARGE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    size_t n = strtoul(argv[1], 0, 10) << 17;
    unsigned long *a = malloc(8 * n), s = 0;
    for (size_t i = 0; i < n; i++)
        a[i] = i * 2654435761u ^ i >> 7;
    for (int k = 0; k < atoi(argv[2]); k++)
#pragma omp parallel for reduction(+ : s)
        for (size_t i = 0; i < n; i++)
            s += a[i] = a[i] * 6364136223846793005u + k;
    printf("the sum is %lu in the end\n", s);
    return 0;
}
"#;

/// SIGTERM to a large program: its image is whole, and it goes on from it.
#[test]
fn a_large_program_is_asked_to_end() {
    let s = Scratch::new("large");
    let exe = compiled("preempted", "large", LARGE, &["-O2", "-fopenmp"]);
    let (dir, log) = (s.path("ckpt"), s.path("log"));
    let size = if long() { ["1024", "20"] } else { ["64", "400"] };
    let job = Job::new(exe, &size, None);
    let options = ["--every", "1h", "--resume", "--on-signal", "TERM=checkpoint-exit"];
    let mut asked = 0;
    let mut delays = vec![4000, 900, 1500, 400];
    while let Some(after) = delays.pop() {
        let promp = started(&mut job.run(&dir, &options, &log));
        std::thread::sleep(Duration::from_millis(after));
        kill(promp.id() as i32, libc::SIGTERM);
        let end = ended(promp, 2 * LIMIT);
        if end.status == 0 && asked == 0 && after > 10 {
            // It was faster: from the beginning, and sooner.
            let _ = (fs::remove_dir_all(&dir), fs::remove_file(&log));
            delays = vec![2 * after, after / 2];
            continue;
        }
        if end.status == 0 {
            break;
        }
        if end.status == 128 + libc::SIGTERM
            && asked == 0
            && !end.err.contains("no checkpoint could be taken")
        {
            continue; // the program had not begun yet
        }
        assert_eq!(end.status, 85, "{}", end.err);
        asked += 1;
        let seen = Command::new(command()).args(["inspect", "--verify"]).arg(&dir).output().expect("promp");
        let said = String::from_utf8_lossy(&seen.stdout).into_owned();
        assert!(seen.status.success() && said.contains("every page verified"), "{said}");
    }
    let end = ended(started(&mut job.run(&dir, &options, &log)), 4 * LIMIT);
    assert_eq!(end.status, 0, "{}", end.err);
    assert!(asked > 0);
    job.check(&log, "asked to end");
}

/// All processes of a job get the signal, as from a batch system or a service manager: `promp` in front of
/// the program passes on what the program has got, too. That is one request.
#[test]
fn all_processes_of_a_job_are_asked_to_end() {
    let s = Scratch::new("all-of-it");
    let exe = steps();
    let dir = s.path("ckpt");
    let options = ["--every", "1h", "--resume", "--on-signal", "TERM,USR1=checkpoint-exit"];
    for round in 0..6 * scale() {
        let promp = started(&mut run(&dir, &options, &exe, &["1000000"]));
        let pid = promp.id() as i32;
        wait("it takes checkpoints", || {
            let asked = Command::new(command()).args(["checkpoint", "--wait"]).arg(&dir).output();
            asked.expect("promp").status.success()
        });
        kill(-pid, libc::SIGTERM);
        if round % 2 == 1 {
            // A job's script adds the signal that it knows.
            kill(pid, libc::SIGUSR1);
        }
        let end = ended(promp, LIMIT);
        let front = end.err.contains("restarted from");
        // By `promp` in front it is the second one of that way.
        let twice = front && round % 2 == 1;
        assert!(
            end.status == 85 || (twice && [138, 143].contains(&end.status)),
            "{round}: {} {}",
            end.status,
            end.err
        );
        assert_eq!(front, round > 0, "{}", end.err);
    }
}

/// Has a child process, so no checkpoint can be taken.
const CHILD: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    printf("%d\n", n);
    fflush(stdout);
    while (1)
        usleep(1000);
}
"#;

/// Where no checkpoint can be taken, a second request ends the program at once.
#[test]
fn a_second_request_ends_the_program() {
    let s = Scratch::new("second");
    let exe = compiled("preempted", "child", CHILD, &["-O2", "-fopenmp"]);
    let (dir, out) = (s.path("ckpt"), s.path("out"));
    let mut c = run(&dir, &["--every", "1h", "--on-signal", "TERM=checkpoint-exit"], &exe, &[]);
    let promp = started(c.stdout(fs::File::create(&out).expect("a file")).stderr(Stdio::piped()));
    let pid = promp.id() as i32;
    wait("it has a child", || !read(&out).is_empty());
    let taken = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        !status.lines().any(|l| l.starts_with("ShdPnd:") && l.contains('4'))
    };
    kill(pid, libc::SIGTERM);
    wait("the first one is taken", taken);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_gone(pid), "one is a request");
    let begin = Instant::now();
    kill(pid, libc::SIGTERM);
    let end = ended(promp, LIMIT);
    assert_eq!(end.status, 128 + libc::SIGTERM, "{}", end.err);
    assert!(!end.err.contains("no checkpoint could be taken"), "{:?}: {}", begin.elapsed(), end.err);
}
