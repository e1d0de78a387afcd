//! Runs with checkpoints: under LD_PRELOAD with a folder for the images, killed after a while, restarted.

use super::*;
use std::fs;

/// A folder of a test's own, removed at its end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let d = std::env::temp_dir().join(format!("promp-test-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&d);
        fs::create_dir_all(&d).expect("a temporary folder");
        Self(d)
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn text(p: &Path) -> &str {
    p.to_str().expect("UTF-8")
}

pub const THREADS: (&str, &str) = ("OMP_NUM_THREADS", "4");

/// Did the last process of a program that was killed and restarted end well? Killed after its last word, it
/// has nothing to continue.
pub fn went_well(status: std::process::ExitStatus, messages: &str) -> bool {
    status.success() || (status.code() == Some(71) && messages.contains("has ended by itself"))
}

/// How memory is copied: PROMP_TEST_COPY=running for tests of programs with little of it.
fn copy() -> String {
    std::env::var("PROMP_TEST_COPY").unwrap_or("auto".into())
}

/// A run with checkpoints in `dir`, between others: its output goes to pipes, which keep what they have
/// taken.
pub fn checkpointed(exe: &Path, args: &[&str], dir: &Path, extra: &[(&str, &str)]) -> Run {
    let _ = fs::remove_dir_all(dir);
    let copy = copy();
    let mut env = vec![THREADS, ("PROMP_CKPT_DIR", text(dir)), ("PROMP_CKPT_INTERVAL", "100ms")];
    env.push(("PROMP_CKPT_COPY", &copy));
    env.extend(extra);
    promp(exe, args, &env)
}

/// `promp run` of what is added, with checkpoints in `dir`; the process dies as `fault` says, and goes on.
pub fn dying(dir: &Path, options: &[&str], fault: &str) -> Command {
    let _ = fs::remove_dir_all(dir);
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(["run", "--threads", "4", "--auto-restart", "9", "--ckpt", text(dir)]).args(options);
    c.args(["--fault", &draws::spaced(fault), "--"]);
    c
}

/// With PROMP_CKPT_POISON=1: was anything read that was said to be dead?
pub fn proof_was_wrong(run: &Run) -> bool {
    run.err.contains("a wrong proof")
}

/// Has a failure struck before the first checkpoint, or the whole process died? On a slow machine.
pub fn too_early(run: &Run) -> bool {
    let ends = [(70, "no checkpoint to return to"), (71, "died before its first one was complete")];
    ends.iter().any(|(status, says)| run.status == *status && run.err.contains(says))
}

/// The text of a file; none if it cannot be read.
pub fn read(p: &Path) -> String {
    String::from_utf8_lossy(&fs::read(p).unwrap_or_default()).into_owned()
}

/// What a command wrote to standard error that was started with its output going to `out`.
pub fn messages(out: &Path) -> String {
    read(&out.with_extension("err"))
}

/// `cmd`, a restart, ends at once with the status for a refusal and says `word`.
pub fn refused(cmd: Command, out: &Path, word: &str) {
    let status = start(cmd, out, None).expect("refused at once");
    let err = messages(out);
    assert_eq!(status.code(), Some(71), "{word}: {err}");
    assert!(err.contains(word), "expected \"{word}\": {err}");
}

pub fn command() -> PathBuf {
    library().with_file_name("promp")
}

/// Starts `cmd` with its output going to `out`, kills it after `after` (`None`: lets it end); its status if
/// it ended.
pub fn start(cmd: Command, out: &Path, after: Option<Duration>) -> Option<std::process::ExitStatus> {
    match after {
        Some(after) => start_with(cmd, out, Some(&|since| since > after), |_| ()),
        None => start_with(cmd, out, None, |_| ()),
    }
}

/// The children of a process, theirs, and so on.
pub fn descendants(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|t| fs::read_to_string(t.path().join("children")).ok());
    let own: Vec<u32> =
        lists.flat_map(|l| l.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>()).collect();
    own.iter().flat_map(|&c| [vec![c], descendants(c)].concat()).collect()
}

/// Asks for the status of `left`, which have become our children and end now, so that their numbers are
/// free. Some of those that stand for init in containers ask only every other second.
fn reap(mut left: Vec<u32>) {
    let began = Instant::now();
    while !left.is_empty() && began.elapsed() < Duration::from_millis(500) {
        // SAFETY: nobody else waits for these.
        left.retain(|&c| unsafe { libc::waitpid(c as i32, std::ptr::null_mut(), libc::WNOHANG) } == 0);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Like [`start`], but kills it as soon as `kill` says so, which gets the time since the start; `set` adds
/// to the environment, from which our variables have been removed.
pub fn start_with(
    mut cmd: Command,
    out: &Path,
    kill: Option<&dyn Fn(Duration) -> bool>,
    set: impl FnOnce(&mut Command),
) -> Option<std::process::ExitStatus> {
    for (k, _) in std::env::vars().filter(|(k, _)| ["OMP_", "PROMP_", "LD_"].iter().any(|p| k.starts_with(p)))
    {
        cmd.env_remove(k);
    }
    cmd.stdin(Stdio::null());
    let is_set = |c: &Command, name: &str| c.get_envs().any(|(k, v)| k == name && v.is_some());
    for (k, v) in everywhere() {
        if !is_set(&cmd, &k) {
            cmd.env(k, v);
        }
    }
    set(&mut cmd);
    draws::space(&mut cmd);
    let file = fs::OpenOptions::new()
        .create(true)
        .append(false)
        .write(true)
        .truncate(false)
        .open(out)
        .expect("the output");
    let errors = fs::File::create(out.with_extension("err")).expect("the messages");
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let mut child = cmd.stdout(file).stderr(errors).spawn().expect("the command");
    let began = Instant::now();
    loop {
        if let Some(s) = child.try_wait().expect("a child") {
            return Some(s);
        }
        let since = began.elapsed().div_f64(draws::rarity());
        let (late, due) = (began.elapsed() > LIMIT, kill.is_some_and(|kill| kill(since)));
        if late || due {
            let others = descendants(child.id());
            child.kill().expect("a child");
            child.wait().expect("a child");
            reap(others);
            assert!(due, "{cmd:?} hangs");
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn first_run(exe: &Path, args: &[&str], dir: &Path) -> Command {
    let mut c = Command::new(command());
    c.args(["run", "--threads", "4", "--every", "50ms", "--ckpt"]).arg(dir).arg("--").arg(exe).args(args);
    c.env("PROMP_CKPT_COPY", copy());
    c
}

pub fn restart(dir: &Path) -> Command {
    let mut c = Command::new(command());
    c.arg("restart").arg(dir);
    c
}

/// May the number of a process be chosen here (`promp doctor`)?
pub fn may_choose_number() -> bool {
    let out = Command::new(command()).arg("doctor").output().expect("promp doctor");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().find(|l| l.contains("same process number")).expect("it says so").starts_with("yes")
}

/// Had the program already noted that it ends by itself, when it was killed? Then there is nothing to go on
/// with.
pub fn had_ended(dir: &Path) -> bool {
    let said = Command::new(command()).arg("inspect").arg(dir).output().expect("promp inspect");
    String::from_utf8_lossy(&said.stdout).contains("has ended by itself")
}

pub fn has_generation(dir: &Path) -> bool {
    !promp_image::generation_files(dir).is_empty()
}

/// `out` is `want`, but for pieces that come twice in a row, of at most the lengths that restarts have
/// announced in `said`: a process may die between sending something to a pipe and noting that.
pub fn as_announced(out: &str, want: &str, said: &str) -> bool {
    let announced = said.split("promp: up to ").skip(1);
    let longest: Vec<usize> = announced.filter_map(|t| t.split(' ').next()?.parse().ok()).collect();
    repeats(out.as_bytes(), want.as_bytes(), &longest)
}

fn repeats(out: &[u8], want: &[u8], longest: &[usize]) -> bool {
    let same = out.iter().zip(want).take_while(|(a, b)| a == b).count();
    let (out, rest) = (&out[same..], &want[same..]);
    if out.is_empty() || rest.len() > out.len() {
        return out.is_empty() && rest.is_empty();
    }
    // Which of the pieces that were announced came twice is not known.
    (0..longest.len()).any(|i| {
        let most = longest[i].min(same);
        (1..=most).any(|n| repeats(out, &want[same - n..], &longest[i + 1..]))
    })
}
