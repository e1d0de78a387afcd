//! `promp run`.

use crate::args::Run;
use crate::part;
use crate::restart::checkpoint_directory::{self, Held};
use crate::restart::{self, Terms};
use crate::{Failure, Outcome, inheritance, library, steps, typed_values};
use promp_image::cpu::Level;
use promp_image::on_signal::OnSignal;
use promp_image::run_record::{self, Started};
use promp_settings::internal::RUN;
use promp_settings::{CKPT_CPU, CKPT_DIR, CKPT_PLAN, MONITOR, ON_SIGNAL, STEPS};
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
    if let Some(dir) = r.options.path(&CKPT_DIR) {
        if r.options.get(&STEPS).is_some() {
            return steps::run(r, dir, c, on, said);
        }
        return with_checkpoints(r, dir, c, on, said);
    }
    if let Ok(nonce) = run_record::nonce() {
        c.env(RUN.name, Started::now(&nonce, said).value());
    }
    let e = inheritance::exec(&mut c);
    Err(Failure::new(126, format!("{} cannot be started: {e}", Path::new(c.get_program()).display())))
}

/// Continues what `dir` holds of this command, or notes there what is started, and starts it.
fn with_checkpoints(r: &Run, dir: &Path, c: Command, on: OnSignal, said: bool) -> Outcome {
    let program = Path::new(c.get_program());
    let now = run_record::Run::new(&r.command, program)
        .map_err(|e| Failure::new(66, format!("{}: {e}", program.display())))?;
    checkpoint_directory::prepare(dir)?;
    let shown = dir.display();
    let terms = Terms { dir: Some(dir), goes_on: on.goes_on, ends: on.ends, ..Terms::default() };
    let status = if r.resume { restart::REFUSED } else { 64 };
    match checkpoint_directory::look(dir, &now, r.resume).map_err(|why| Failure::new(status, why))? {
        Held::Ended(status) => {
            let how = if status == 0 { String::new() } else { format!(", with status {status}") };
            eprintln!(
                "promp: the program of {shown} has ended by itself{how}: there is nothing to do. Without \
                 --resume it is run again."
            );
            std::process::exit(status);
        }
        Held::Checkpoints if r.resume => return restart::go_on(dir, r.auto_restart, r.threads, terms),
        Held::Checkpoints => eprintln!(
            "promp: beginning anew, without --resume: the checkpoints of this command in {shown} are replaced"
        ),
        Held::Begun if !checkpoint_directory::has_done(dir, program) => {}
        Held::Begun => eprintln!(
            "promp: the last run of this command in {shown} has ended before its first checkpoint was \
             complete: it begins anew, and what it has done before is done again"
        ),
        Held::Nothing => {}
    }
    now.write(dir).map_err(|e| Failure::new(74, format!("{shown}/run cannot be written: {e}")))?;
    let run = Some(Started::now(&now.nonce, said));
    let terms = Terms { run, ..terms };
    let Some(most) = r.auto_restart else { return restart::stand_for(c, None, terms) };
    let make = || command(r);
    let (again, from_start, begun) = (Some(&make as restart::FromStart), r.from_start, Some(&now));
    restart::supervise(c, None, &restart::Supervision { dir, most, again, from_start, begun, terms })
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
    // What this program is, the run around it need not know.
    c.env_remove(STEPS.name);
    if let Some(n) = r.threads {
        c.env("OMP_NUM_THREADS", n.to_string());
    }
    c.envs(r.options.all().map(|(setting, value)| (setting.name, value)));
    if let Some(plan) = r.options.path(&CKPT_PLAN) {
        // The program may go to another directory before it reads it.
        c.env(CKPT_PLAN.name, std::path::absolute(plan).unwrap_or_else(|_| plan.into()));
    }
    if let Some(level) = r.options.text(&CKPT_CPU).and_then(Level::parse) {
        bind(&mut c, level)?;
    }
    Ok(c)
}

/// Binds the program to what CPUs of `level` have.
fn bind(c: &mut Command, level: Level) -> Outcome {
    let missing = level.missing(&promp_image::cpu_features());
    if !missing.is_empty() {
        let (flag, name) = (CKPT_CPU.typed(), level.name());
        return Err(Failure::new(
            64,
            format!("{flag} {name}: this machine's CPUs lack {}", missing.join(" ")),
        ));
    }
    let before = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
    c.env("GLIBC_TUNABLES", level.tunables(&before));
    Ok(())
}

/// What `--on-signal` says, or the environment.
fn on_signal(r: &Run) -> Result<OnSignal, Failure> {
    let typed = r.options.text(&ON_SIGNAL).map(str::to_owned);
    let Some(text) = typed.or_else(|| std::env::var(ON_SIGNAL.name).ok()) else {
        return Ok(OnSignal::default());
    };
    let flag = ON_SIGNAL.typed();
    OnSignal::parse(text.trim()).map_err(|why| Failure::new(64, format!("{flag} {text}: {why}")))
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
            false if MONITOR.word(&shown.to_string()).is_some() => {
                format!("; if it belongs to {0}, write {0}={shown}", MONITOR.typed())
            }
            false => "; give its path, if it is not there".into(),
        };
        Failure::new(127, format!("{shown}: not found in PATH{todo}"))
    })
}
