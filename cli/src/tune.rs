//! `promp tune`: runs a program until its loops are tuned, or shows what a tuning file has.

use crate::args::{Run, Tune};
use crate::options::Options;
use crate::restart::Terms;
use crate::{Failure, Outcome, restart, run, typed_values};
use promp_files::Scratch;
use promp_model::tuning_file::{Entry, Tuning, What};
use promp_settings::{
    CKPT_COPY, CKPT_DIR, CKPT_INTERVAL, CKPT_KEEP, CKPT_PLAN, CKPT_TRACK, CKPT_WHERE, ON_SIGNAL, TUNE,
    TUNE_EXACT,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// More than a tuning file has, in bytes.
const LONGEST: u64 = 16 << 20;

/// Does what was asked for.
pub fn tune(t: &Tune) -> Outcome {
    if let Some(file) = &t.show {
        return show(file, t.json);
    }
    let file = t.output.clone().unwrap_or_else(|| usual(&t.command[0]));
    let before = if file.exists() { read(&file)?.entries } else { vec![] };
    for i in 1..=t.runs {
        let command = t.command.clone();
        let options = Options::default().with(&TUNE, file.clone());
        let r = Run { threads: t.threads, options, command, ..Run::default() };
        let scratch = if t.exact { Some(scratch(t.scratch.as_deref())?) } else { None };
        if i == 1 {
            // A search may take hours: not only when it is over.
            typed_values::writable("-o", &file)?;
        }
        if t.exact && i == 1 {
            warn_of_others();
        }
        let mut c = run::command(&r)?;
        scratch.iter().for_each(|s| prepare(s, &mut c));
        let end = restart::start(&mut c, None, Terms::default())?;
        drop(scratch);
        if end.asked {
            end.follow();
        }
        let status = end.status;
        if !status.success() {
            let code = status.code().unwrap_or(70) as u8;
            return Err(Failure::new(code, format!("run {i} of {} ended with {status}", t.runs)));
        }
        eprintln!("promp: run {i} of {} is done", t.runs);
    }
    if !file.exists() {
        eprintln!(
            "promp: nothing was kept: the program has no loops that may be tuned, or they are executed less \
             than eight times (try --runs{})",
            if t.exact { "" } else { ", or --exact" }
        );
        return Ok(());
    }
    let entries = read(&file)?.entries;
    let new: Vec<_> = entries.into_iter().filter(|e| !before.contains(e)).collect();
    crate::end_with_the_reader();
    print!("{}", table(&new));
    print!("{}", ways(&new));
    println!(
        "{} new or changed; use them with: promp run --tune {} -- CMD",
        count(new.len()),
        file.display()
    );
    Ok(())
}

/// The file unless one is named: the program's name and ".tune", here.
fn usual(program: &std::ffi::OsStr) -> PathBuf {
    let name = Path::new(program).file_name().unwrap_or(program);
    PathBuf::from(name).with_extension("tune")
}

fn count(n: usize) -> String {
    if n == 1 { "1 entry".into() } else { format!("{n} entries") }
}

fn read(file: &Path) -> Result<Tuning, Failure> {
    let name = file.display();
    let fails = |e| Failure::new(66, format!("{name} cannot be read: {e}"));
    let text = promp_files::read(file, LONGEST).map_err(fails)?;
    Tuning::read(&String::from_utf8_lossy(&text)).ok_or_else(|| {
        Failure::new(
            65,
            format!(
                "{name} is not a tuning file: its first line is not \"{}\"",
                promp_model::tuning_file::FIRST
            ),
        )
    })
}

fn show(file: &Path, json: bool) -> Outcome {
    let t = read(file)?;
    if json {
        let list: Vec<_> = t.entries.iter().map(as_json).collect();
        println!("{}", serde_json::Value::from(list));
        return Ok(());
    }
    print!("{}", table(&t.entries));
    print!("{}", ways(&t.entries));
    println!("{}", count(t.entries.len()));
    for line in &t.damaged {
        eprintln!("promp: line {line} of {} is no entry", file.display());
    }
    Ok(())
}

fn as_json(e: &Entry) -> serde_json::Value {
    serde_json::json!({
        "what": what(e),
        "module": e.key.module,
        "offset": e.key.offset,
        "function": e.function,
        "class": e.key.class,
        "threads": e.key.threads,
        "machine": e.key.machine,
        "choice": e.choice.to_string(),
        "takes_s": e.takes,
        "own_s": e.own,
        "tried": e.tried.iter().map(|(c, s)| serde_json::json!({"choice": c.to_string(), "takes_s": s}))
            .collect::<Vec<_>>(),
        "date": e.date,
    })
}

fn what(e: &Entry) -> &'static str {
    match e.key.what {
        What::Loop => "loop",
        What::Region => "region",
    }
}

/// What an entry gains: how many times as long the program's own way takes.
fn gain(e: &Entry) -> Option<f64> {
    (e.own > 0.0 && e.takes > 0.0).then(|| e.own / e.takes)
}

fn table(entries: &[Entry]) -> String {
    let mut t = format!(
        "{:<7} {:<28} {:>10} {:>8} {:>7}  {:<20} {:>19} {:>7}  date\n",
        "what", "function", "offset", "trips", "threads", "choice", "takes", "gain"
    );
    for e in entries {
        let trips = if e.key.what == What::Loop { format!("2^{}", e.key.class) } else { String::new() };
        let gain = gain(e).map_or_else(|| "-".into(), |g| format!("×{g:.2}"));
        let unit = if e.key.what == What::Loop { "/iteration" } else { "" };
        let takes = crate::model::time(e.takes) + unit;
        t += &format!(
            "{:<7} {:<28} {:>#10x} {trips:>8} {:>7}  {:<20} {takes:>19} {gain:>7}  {}\n",
            what(e),
            e.function,
            e.key.offset,
            e.key.threads,
            e.choice.to_string(),
            e.date
        );
    }
    t
}

/// What was compared from one state: a table for each entry that has it.
fn ways(entries: &[Entry]) -> String {
    let mut t = String::new();
    for e in entries.iter().filter(|e| !e.tried.is_empty()) {
        t += &format!("\n{} {}+{:#x}, from one state:\n", what(e), e.function, e.key.offset);
        let mut all: Vec<_> = e.tried.iter().collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (choice, seconds) in all {
            let mark = if *choice == e.choice { "  chosen" } else { "" };
            t += &format!("  {:<20} {:>11}{mark}\n", choice.to_string(), crate::model::time(*seconds));
        }
    }
    t
}

/// What others do at the same time is part of all times.
fn warn_of_others() {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = text.split(' ').next().and_then(|w| w.parse().ok()).unwrap_or(0.0);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    if load > cpus as f64 / 2.0 {
        eprintln!(
            "promp: others are at work on this machine (load {load:.1}, {cpus} CPUs): what is measured is \
             theirs, too"
        );
    }
}

/// A folder for the checkpoint that loops are compared from.
fn scratch(within: Option<&Path>) -> Result<Scratch, Failure> {
    let memory = Path::new("/dev/shm");
    let usual = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = within.unwrap_or(&usual);
    Scratch::within(folder, "promp-tune").map_err(|e| {
        Failure::new(74, format!("no folder can be made in {}: {e} (--scratch)", folder.display()))
    })
}

/// The environment that a program is compared in.
fn prepare(scratch: &Scratch, c: &mut Command) {
    c.env(TUNE_EXACT.name, "on").env(CKPT_DIR.name, scratch.path().join("ckpt"));
    // No others, and none while times are taken; nor faults where memory is written to the first time.
    c.env(CKPT_INTERVAL.name, "1000h").env(CKPT_KEEP.name, "1");
    c.env(CKPT_COPY.name, "stopped").env(CKPT_TRACK.name, "compare");
    for other in [&CKPT_PLAN, &CKPT_WHERE, &ON_SIGNAL] {
        c.env_remove(other.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_say_what_is_gained() {
        let line =
            "loop at=ab+0x10 in=f._omp_fn.0 n=2^8 threads=2 machine=M choice=guided,N/8 takes=1e-6 own=2e-6";
        let e = Entry::read(line).unwrap();
        let t = table(std::slice::from_ref(&e));
        assert!(
            t.contains("guided,N/8") && t.contains("×2.00") && t.contains("1.00 µs") && t.contains("0x10"),
            "{t}"
        );
        assert_eq!(as_json(&e)["choice"], "guided,N/8");
        assert_eq!(ways(std::slice::from_ref(&e)), "");
        let tried = Entry::read(&format!("{line} tried=given:2e-6;guided,N/8:1e-6")).unwrap();
        let t = ways(&[e.clone(), tried]);
        assert!(t.lines().nth(2).is_some_and(|l| l.contains("guided,N/8") && l.ends_with("chosen")), "{t}");
        assert_eq!(gain(&Entry { own: 0.0, ..e }), None);
    }

    #[test]
    fn the_usual_file_is_named_after_the_program() {
        assert_eq!(usual("./bin/app".as_ref()), PathBuf::from("app.tune"));
    }
}
