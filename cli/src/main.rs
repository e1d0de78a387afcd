//! The `promp` command.

mod args;
mod doctor;
mod elf;
mod inspect;
mod library;
mod report;
mod restart;
mod run;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// A message for the user and an exit status.
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

/// What a subcommand comes to.
pub type Outcome = Result<(), Failure>;

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Run(r) => run::run(&r),
        Command::Restart(r) => restart::restart(&r),
        Command::Inspect(i) => inspect::inspect(&i),
        Command::Report(r) => report::report(&r),
        Command::Doctor(d) => doctor::doctor(&d),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "promp", &mut std::io::stdout());
            Ok(())
        }
        Command::Man => clap_mangen::Man::new(Cli::command())
            .render(&mut std::io::stdout())
            .map_err(|e| Failure::new(74, format!("cannot write the man page: {e}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(f) => {
            eprintln!("promp: {}", f.message);
            ExitCode::from(f.status)
        }
    }
}
