//! The `promp` command.

#![cfg_attr(not(test), no_main)]

/// A line on standard error. If that is a pipe that nobody reads any more, or a log that may not become
/// longer, nobody gets it, and nothing ends by that.
macro_rules! eprintln {
    ($($what:tt)*) => { $crate::inheritance::say(format_args!($($what)*)) };
}

mod archive;
mod args;
mod checkpoint;
mod doctor;
mod elf;
mod export;
mod import;
mod inheritance;
mod inspect;
mod library;
mod model;
mod options;
mod part;
mod plan;
mod prefix;
mod process_stat;
mod report;
mod restart;
mod run;
mod slurm;
mod sober;
mod steps;
mod top;
mod topics;
mod tune;
mod typed_values;

use args::{Cli, Command};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use promp_settings::debugger_signals;
use std::io::Write;

/// A message for the user and an exit status.
#[derive(Debug)]
pub struct Failure {
    /// Says what happened, to what, and what to do.
    pub message: String,
    /// See `promp help`.
    pub status: u8,
}

impl Failure {
    /// A failure with exit status `status`.
    pub fn new(status: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), status }
    }
}

/// Exit status after an argument that is not understood.
const USAGE: u8 = 64;

/// What a subcommand comes to.
pub type Outcome = Result<(), Failure>;

/// Who reads the output may have seen enough (`promp inspect DIR | head`): the process then ends like any
/// other that writes to a pipe.
fn end_with_the_reader() {
    // SAFETY: the disposition that processes begin with.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Files that grow too long (`ulimit -f`) are an error of who writes them, with words, and not the end.
fn say_what_is_too_long() {
    // SAFETY: ignoring a signal is always possible.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// What clap says. Where another word stands for a subcommand: which was meant, or how a program is run.
fn say_what_is_wrong(e: &clap::Error) {
    let _ = e.print();
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidSubcommand) else { return };
    let mut err = std::io::stderr();
    if run::locate(word.as_ref()).is_ok() {
        let _ = writeln!(err, "\nTo run a program: promp run -- {word}");
    } else if e.get(ContextKind::SuggestedSubcommand).is_none() {
        let cli = Cli::command();
        if let Some(near) = promp_settings::meant(word, cli.get_subcommands().map(|c| c.get_name())) {
            let _ = writeln!(err, "\nDid you mean promp {near}?");
        }
    }
}

/// C's start code calls this. Rust's would ignore SIGPIPE, and give SIGSEGV and SIGBUS handlers that look for
/// stacks that overflow and take one that is sent for a fault, which would come again. So a signal ends this
/// command, until it waits for a program and passes it on.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn main() -> i32 {
    inheritance::open_what_is_closed();
    // Writes what waits to be written.
    std::process::exit(command().into())
}

fn command() -> u8 {
    let mut words = std::env::args_os();
    if words.next().is_some_and(|name| name == steps::front::NAME)
        && let Some(program) = words.next()
    {
        return status_of(steps::front::step(program.into(), words.collect()));
    }
    if let Some(page) = topics::asked(std::env::args_os().skip(1)) {
        end_with_the_reader();
        print!("{page}");
        return 0;
    }
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(e) => {
            promp_files::within_limit(|| say_what_is_wrong(&e));
            return if e.use_stderr() { USAGE } else { 0 };
        }
    };
    // Those that run a program outlive their own output.
    if !matches!(command, Command::Run(_) | Command::Restart(_) | Command::Tune(_)) {
        end_with_the_reader();
        say_what_is_too_long();
    }
    let outcome = match command {
        Command::Run(r) => run::run(&r),
        Command::Restart(r) => restart::restart(&r),
        Command::Checkpoint(c) => checkpoint::checkpoint(&c),
        Command::Slurm(s) => slurm::slurm(&s),
        Command::Inspect(i) => inspect::inspect(&i),
        Command::Export(e) => export::export(&e),
        Command::Import(i) => import::import(&i),
        Command::Plan(p) => plan::plan(&p),
        Command::Report(r) => report::report(&r),
        Command::Top(t) => top::top(&t),
        Command::Doctor(d) => doctor::doctor(&d),
        Command::Model(m) => model::model(&m),
        Command::Tune(t) => tune::tune(&t),
        Command::GdbScript { lldb: true } => {
            print!("{}", debugger_signals::for_lldb());
            Ok(())
        }
        Command::GdbScript { lldb: false } => {
            print!("{}", debugger_signals::for_gdb(libc::SIGRTMAX()));
            Ok(())
        }
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "promp", &mut std::io::stdout());
            Ok(())
        }
        Command::Man { dir: None } => clap_mangen::Man::new(Cli::command())
            .render(&mut std::io::stdout())
            .map_err(|e| Failure::new(74, format!("cannot write the man page: {e}"))),
        Command::Man { dir: Some(dir) } => clap_mangen::generate_to(Cli::command(), &dir)
            .map_err(|e| Failure::new(74, format!("cannot write the man pages to {}: {e}", dir.display()))),
    };
    status_of(outcome)
}

fn status_of(outcome: Outcome) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(f) => {
            eprintln!("promp: {}", sober::sober(&f.message));
            f.status
        }
    }
}
