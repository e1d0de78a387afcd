//! `promp run`.

use crate::args::{Monitor, Run};
use crate::part::{self, Part};
use crate::restart::held::{self, Held};
use crate::restart::{self, Terms};
use crate::{Failure, Outcome, library, typed_values};
use clap::ValueEnum;
use promp_image::on_signal::OnSignal;
use promp_image::run_record::{self, Started};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sets the environment and becomes the program; with checkpoints, stays in front of it.
pub fn run(r: &Run) -> Outcome {
    typed_values::run(r)?;
    let on = on_signal(r)?;
    let mut c = command(r)?;
    let said = part::say_what_cannot_be_had(r, Path::new(c.get_program()))?;
    part::say_unknown_names();
    if let Some(dir) = &r.ckpt {
        return with_checkpoints(r, dir, c, on, said);
    }
    if let Ok(nonce) = run_record::nonce() {
        c.env(run_record::VARIABLE, Started::now(&nonce, said).value());
    }
    let e = c.exec();
    Err(Failure::new(126, format!("{} cannot be started: {e}", Path::new(c.get_program()).display())))
}

/// Continues what `dir` holds of this command, or notes there what is started, and starts it.
fn with_checkpoints(r: &Run, dir: &Path, c: Command, on: OnSignal, said: bool) -> Outcome {
    let program = Path::new(c.get_program());
    let now = run_record::Run::new(&r.command, program)
        .map_err(|e| Failure::new(66, format!("{}: {e}", program.display())))?;
    held::prepare(dir)?;
    let shown = dir.display();
    let status = if r.resume { restart::REFUSED } else { 64 };
    match held::look(dir, &now, r.resume).map_err(|why| Failure::new(status, why))? {
        Held::Ended(status) => {
            let how = if status == 0 { String::new() } else { format!(", with status {status}") };
            eprintln!(
                "promp: the program of {shown} has ended by itself{how}: there is nothing to do. Without \
                 --resume it is run again."
            );
            std::process::exit(status);
        }
        Held::Checkpoints if r.resume => return restart::go_on(dir, r.auto_restart, on, r.threads),
        Held::Checkpoints => eprintln!(
            "promp: beginning anew, without --resume: the checkpoints of this command in {shown} are replaced"
        ),
        // One that is linked with OpenMP has done nothing before it takes the directory.
        Held::Begun if part::of(program) == Part::Runtime && !dir.join("lock").exists() => {}
        Held::Begun => eprintln!(
            "promp: the last run of this command in {shown} has ended before its first checkpoint was \
             complete: it begins anew, and what it has done before is done again"
        ),
        Held::Nothing => {}
    }
    now.write(dir).map_err(|e| Failure::new(74, format!("{shown}/run cannot be written: {e}")))?;
    let run = Some(Started::now(&now.nonce, said));
    let terms = Terms { dir: Some(dir), run, goes_on: on.goes_on, ends: on.ends };
    let Some(most) = r.auto_restart else { return restart::stand_for(c, None, terms) };
    let make = || command(r);
    let from_start: Option<restart::FromStart> = if r.from_start { Some(&make) } else { None };
    restart::supervise(c, None, &restart::Supervision { dir, most, from_start, terms })
}

/// The program with its arguments and the environment that was asked for.
pub fn command(r: &Run) -> Result<Command, Failure> {
    let lib = library::find()?;
    let program = locate(&r.command[0])?;
    part::check(&program)?;
    let mut c = Command::new(&program);
    // Programs print the name by which they were called, into logs and headers of files.
    c.arg0(&r.command[0]).args(&r.command[1..]);
    library::preload(&mut c, &lib)?;
    fn set(c: &mut Command, name: &str, value: Option<impl AsRef<OsStr>>) {
        if let Some(v) = value {
            c.env(name, v);
        }
    }
    set(&mut c, "OMP_NUM_THREADS", r.threads.map(|n| n.to_string()));
    set(&mut c, "PROMP_FAULT", r.fault.as_ref());
    set(&mut c, "PROMP_REPLAY", r.replay.as_ref());
    set(&mut c, "PROMP_WATCHDOG", r.watchdog.as_ref());
    set(&mut c, "PROMP_REPORT", r.report.as_ref());
    set(&mut c, "PROMP_MONITOR", r.monitor.and_then(|m| Some(m.to_possible_value()?.get_name().to_owned())));
    set(&mut c, "PROMP_TUNE", r.tune.as_ref());
    set(&mut c, "PROMP_DEVICES", r.devices.as_ref());
    set(&mut c, "PROMP_SDC", r.sdc.as_ref());
    set(&mut c, "PROMP_CKPT_DIR", r.ckpt.as_ref());
    set(&mut c, "PROMP_CKPT_INTERVAL", r.every.as_ref());
    set(&mut c, "PROMP_CKPT_KEEP", r.keep.map(|n| n.to_string()));
    set(&mut c, "PROMP_CKPT_THREADS", r.all_threads.then_some("all"));
    let plan = r.plan.as_ref().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.clone()));
    set(&mut c, "PROMP_CKPT_PLAN", plan);
    set(&mut c, "PROMP_CKPT_WHERE", r.any_threads.then_some("serial"));
    if let Some(level) = r.cpu {
        let missing = level.missing(&promp_image::cpu_features());
        if !missing.is_empty() {
            let why = format!("--cpu {}: this machine's CPUs lack {}", level.name(), missing.join(" "));
            return Err(Failure::new(64, why));
        }
        let before = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
        set(&mut c, "GLIBC_TUNABLES", Some(level.tunables(&before)));
        set(&mut c, "PROMP_CKPT_CPU", Some(level.name()));
    }
    set(&mut c, "PROMP_CKPT_SELF_CONTAINED", r.self_contained.then_some("1"));
    set(&mut c, "PROMP_ON_SIGNAL", (!r.on_signal.is_empty()).then(|| r.on_signal.join(";")));
    Ok(c)
}

/// What `--on-signal` says, or the environment.
fn on_signal(r: &Run) -> Result<OnSignal, Failure> {
    let text = match r.on_signal.is_empty() {
        true => std::env::var("PROMP_ON_SIGNAL").ok(),
        false => Some(r.on_signal.join(";")),
    };
    let Some(text) = text else { return Ok(OnSignal::default()) };
    OnSignal::parse(text.trim()).map_err(|why| Failure::new(64, format!("--on-signal {text}: {why}")))
}

/// The program's file: as given if it has a slash, otherwise by PATH.
pub fn locate(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.display();
    if name.as_bytes().contains(&b'/') {
        let p = PathBuf::from(name);
        return if p.exists() {
            Ok(p)
        } else {
            Err(Failure::new(127, format!("{shown}: there is no such program; look at the path")))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file()).ok_or_else(|| {
        let todo = match Path::new(name).exists() {
            true => format!("; what is here is called ./{shown}"),
            false if Monitor::from_str(&shown.to_string(), false).is_ok() => {
                format!("; if it belongs to --monitor, write --monitor={shown}")
            }
            false => "; give its path, if it is not there".into(),
        };
        Failure::new(127, format!("{shown}: not found in PATH{todo}"))
    })
}
