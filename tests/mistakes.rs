//! Typed mistakes: each ends with its status before anything is started, and the message says what, which
//! value, and what to do.

use crate::common::saved::{Scratch, command};
use crate::common::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Words as they are typed, the status, and what the message must have.
type Typed = (&'static str, i32, &'static [&'static str]);

/// What `promp run` does not begin with. `touch began` would be seen.
const RUN: [Typed; 50] = [
    ("run", 64, &["<CMD>"]),
    ("run --ckpt", 64, &["--ckpt <DIR>", "value is required"]),
    ("run --ckpt d", 64, &["<CMD>"]),
    ("run --ckptt d touch began", 64, &["--ckptt", "similar argument exists: '--ckpt'"]),
    ("run --ckptt d -- touch began", 64, &["--ckptt", "'--ckpt'"]),
    ("run --any-thread --ckpt d -- touch began", 64, &["--any-thread", "'--any-threads'"]),
    ("run --treads 4 touch began", 64, &["--treads", "'--threads'"]),
    ("run --reprot=x touch began", 64, &["--reprot", "'--report'"]),
    ("run -x touch began", 64, &["'-x'", "'-- -x'"]),
    ("run -t 4 -- touch began", 64, &["'-t'"]),
    ("run --threads 0 -- touch began", 64, &["--threads", "'0'", "from 1 to"]),
    ("run --threads four -- touch began", 64, &["--threads", "'four'", "a number from 1"]),
    ("run --threads -4 -- touch began", 64, &["'-4'"]),
    ("run --threads 99999999 -- touch began", 64, &["--threads", "'99999999'", "to 4194304"]),
    ("run --threads -- touch began", 64, &["--threads", "value is required"]),
    ("run --ckpt d --every 5 -- touch began", 64, &["--every", "'5'", "1.5s"]),
    ("run --ckpt d --every 0s -- touch began", 64, &["--every", "'0s'", "at least 1ms"]),
    ("run --ckpt d --every 5min -- touch began", 64, &["--every", "'5min'", "like 20ms"]),
    ("run --ckpt d --every reliability:2 -- touch began", 64, &["reliability:2", "between 0 and 1"]),
    ("run --ckpt d --every auto -- touch began", 64, &["--every auto", "PROMP_MTBF"]),
    ("run --every 1s -- touch began", 64, &["--ckpt <DIR>"]),
    ("run --fault kil -- touch began", 64, &["--fault", "'kil'", "accepted are kill, crash"]),
    ("run --fault kill@theard=1 -- touch began", 64, &["theard", "accepted are thread"]),
    ("run --fault kill@thread -- touch began", 64, &["\"thread\"", "key=value"]),
    ("run --fault kill@region=0 -- touch began", 64, &["region=0", "a number from 1"]),
    ("run --fault kill@delay=5 -- touch began", 64, &["delay=5", "250us"]),
    ("run --fault sdc@kernal=1 -- touch began", 64, &["kernal", "sdc accepts kernel"]),
    ("run --sdc lasy -- touch began", 64, &["--sdc", "'lasy'", "eager, lazy"]),
    ("run --sdc chunks:5 -- touch began", 64, &["'chunks:5'", "chunks:P%"]),
    ("run --devices gpu -- touch began", 64, &["--devices", "'gpu'", "nvptx"]),
    ("run --watchdog 20 -- touch began", 64, &["--watchdog", "'20'", "20ms"]),
    ("run --replay work(1) -- touch began", 64, &["--replay", "'work(1)'", "proven, assume"]),
    ("run --monitor=trce -- touch began", 64, &["'trce'", "segments, trace"]),
    ("run --monitor trace -- touch began", 127, &["trace", "--monitor=trace"]),
    ("run --ckpt d --keep 0 -- touch began", 64, &["--keep", "'0'", "from 1 to 1000"]),
    ("run --ckpt d --keep all -- touch began", 64, &["--keep", "'all'", "a number"]),
    ("run --ckpt d --cpu v9 -- touch began", 64, &["--cpu", "'v9'", "x86-64-v2"]),
    ("run --ckpt d --on-signal TERM -- touch began", 64, &["--on-signal TERM", "=checkpoint-exit"]),
    ("run --ckpt d --on-signal TREM=checkpoint -- touch began", 64, &["\"TREM\"", "TERM"]),
    ("run --on-signal TERM=checkpoint -- touch began", 64, &["--ckpt <DIR>"]),
    ("run --ckpt d --plan none -- touch began", 64, &["--plan none", "cannot be read"]),
    ("run --ckpt d --plan text -- touch began", 64, &["--plan text", "`promp plan`"]),
    ("run --ckpt d --auto-restart often -- touch began", 64, &["'often'", "a number"]),
    ("run --ckpt d --from-start -- touch began", 64, &["--auto-restart <N>"]),
    ("run --resume -- touch began", 64, &["--ckpt <DIR>"]),
    ("run --ckpt no/dir -- touch began", 64, &["--ckpt no/dir", "mkdir -p"]),
    ("run --ckpt text -- touch began", 64, &["--ckpt text", "not a file"]),
    ("run --report no/report.json -- touch began", 74, &["--report no/report.json", "directory"]),
    ("run --report folder -- touch began", 74, &["--report folder", "file in it"]),
    ("run --tune no/x.tune -- touch began", 74, &["--tune no/x.tune", "directory"]),
];

/// Programs that are none, and all other commands.
const OTHERS: [Typed; 56] = [
    ("run ./none", 127, &["./none", "look at the path"]),
    ("run none-of-this-name", 127, &["none-of-this-name", "PATH", "give its path"]),
    ("run text", 127, &["text", "./text"]),
    ("run -- --report", 127, &["--report", "PATH"]),
    ("rum ./text", 64, &["'rum'", "run"]),
    ("rn ./text", 64, &["'rn'", "Did you mean promp run?"]),
    ("ls", 64, &["'ls'", "promp run -- ls"]),
    ("--thraeds 3", 64, &["--thraeds"]),
    ("help runn", 64, &["'runn'", "run"]),
    ("restart", 64, &["<DIR>"]),
    ("restart none", 71, &["none", "no such directory"]),
    ("restart text", 71, &["text", "not a directory"]),
    ("restart folder", 71, &["mode 755", "chmod 700 folder"]),
    ("restart --threads 0 folder", 64, &["--threads", "'0'", "from 1 to 1024"]),
    ("restart --vouch folder", 64, &["--threads <N>"]),
    ("restart --thread 3 folder", 64, &["'--thread'", "'--threads'"]),
    ("checkpoint", 64, &["<PID|DIR>"]),
    ("checkpoint none", 66, &["none", "neither the number of a process nor a checkpoint directory"]),
    ("checkpoint folder", 66, &["folder", "no running program"]),
    ("checkpoint 999999999", 66, &["999999999", "promp run --ckpt"]),
    ("checkpoint --then stopp folder", 64, &["'stopp'", "'stop'"]),
    ("inspect", 64, &["<DIR>"]),
    ("inspect none", 66, &["none", "no such directory"]),
    ("inspect folder", 66, &["mode 755", "chmod 700"]),
    ("inspect --verfy folder", 64, &["--verfy", "'--verify'"]),
    ("export folder", 64, &["--output <FILE>"]),
    ("export none -o x", 66, &["none", "no such directory"]),
    ("import none d", 66, &["none", "No such file"]),
    ("import text d", 65, &["text", "promp export"]),
    ("import text d more", 64, &["'more'"]),
    ("plan text", 64, &["--output <FILE>"]),
    ("plan none -o p", 66, &["none", "No such file"]),
    ("plan text -o p", 65, &["text", "not a promp report"]),
    ("plan text -o p --every 5", 64, &["'5'", "500ms"]),
    ("report", 64, &["<FILE|DIR>"]),
    ("report none", 66, &["none", "No such file"]),
    ("report text", 65, &["text", "not a promp report"]),
    ("report --segments few text", 64, &["'few'", "a number"]),
    ("report --diff text", 64, &["2 values", "--diff"]),
    ("report --htlm x text", 64, &["--htlm", "'--html'"]),
    ("top swim", 64, &["'swim'", "a number"]),
    ("top --every 1 --once", 64, &["'1'", "500ms"]),
    ("doctor none", 127, &["none", "PATH"]),
    ("doctor --jsn", 64, &["--jsn", "'--json'"]),
    ("tune", 64, &["<CMD>"]),
    ("tune --rnus 3 touch began", 64, &["--rnus", "'--runs'"]),
    ("tune --runs 0 touch began", 64, &["'0'", "from 1"]),
    ("tune -o no/x touch began", 74, &["no/x", "directory"]),
    ("tune --show text", 65, &["text", "not a tuning file"]),
    ("model check --threads 0", 64, &["--threads 0", "1,2,4"]),
    ("model check --loops circle", 64, &["'circle'", "wavefront"]),
    ("model predict none", 66, &["none", "No such file"]),
    ("model calibrate --rounds many", 64, &["'many'", "from 1 to 64"]),
    ("slurm --time soon ./a", 64, &["--time soon", "24:00:00"]),
    ("slurm --every 5 ./a", 64, &["'5'", "like 20ms"]),
    ("completions ksh", 64, &["'ksh'", "bash"]),
];

#[test]
fn status_reason_and_advice() {
    let s = Scratch::new("mistakes");
    let mode = |name: &str, mode| {
        fs::set_permissions(s.path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    fs::write(s.path("text"), "no program, no report\n").expect("a file");
    fs::create_dir(s.path("folder")).expect("a folder");
    mode("folder", 0o755);
    for (typed, status, words) in RUN.iter().chain(&OTHERS) {
        let mut c = Command::new(command());
        clean(&mut c);
        c.args(typed.split(' ')).current_dir(&s.0);
        let run = limited(c, LIMIT);
        assert!(run.status == *status && run.out.is_empty(), "promp {typed}: {run:?}");
        for w in *words {
            assert!(run.err.contains(w), "promp {typed}: {w:?} is not in: {}", run.err);
        }
        assert!(!s.path("began").exists(), "promp {typed} has started the program");
        let default = run.err.contains("using the default") || run.err.contains("panicked");
        assert!(!default, "promp {typed}: {}", run.err);
        let _ = fs::remove_dir(s.path("d"));
    }
}

/// What stands behind the program is the program's, whatever it looks like.
#[test]
fn the_programs_own_options_are_its_own() {
    for (typed, out) in [
        ("run echo --ckptt d", "--ckptt d\n"),
        ("run -- echo -n --threads", "--threads"),
        ("run --threads 3 echo -- -x", "-- -x\n"),
        ("run echo run --help", "run --help\n"),
        ("slurm ./a --every x", ""),
    ] {
        let mut c = Command::new(command());
        clean(&mut c);
        c.args(typed.split(' '));
        let run = limited(c, LIMIT);
        assert!(run.status == 0 && run.err.is_empty(), "promp {typed}: {run:?}");
        assert!(out.is_empty() || run.out == out, "promp {typed}: {run:?}");
        assert!(!out.is_empty() || run.out.contains("./a --every x"), "promp {typed}: {run:?}");
    }
}
