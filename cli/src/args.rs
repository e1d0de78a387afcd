//! The command line's one definition; completions and the man page come from it.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// Runs OpenMP programs so that they survive the death of a thread.
#[derive(Parser)]
#[command(name = "promp", version, after_help = STATUSES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const STATUSES: &str = "Exit statuses: that of the program run; 64 bad usage or setting, 66 a file cannot be read, 69 the \
library is missing, 70 a failure could not be recovered, 74 input/output error, 126 the program cannot be run under \
promp, 127 it was not found.";

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program with libpromp.so in place of its OpenMP runtime.
    Run(Run),
    /// Summarise a report that PROMP_REPORT (or `promp run --report`) has written.
    Report(Report),
    /// Say what this machine supports.
    Doctor(Doctor),
    /// Print the completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page.
    Man,
}

/// `promp run`.
#[derive(Args)]
pub struct Run {
    /// Number of threads (OMP_NUM_THREADS).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: Option<u32>,
    /// Inject failures (PROMP_FAULT), e.g. `kill@thread=1,region=2,delay=200us`.
    #[arg(long, value_name = "SPEC")]
    pub fault: Option<String>,
    /// Which work may be executed again (PROMP_REPLAY): proven, assume, never, or function-name globs.
    #[arg(long, value_name = "WHICH")]
    pub replay: Option<String>,
    /// Write a JSON report (PROMP_REPORT).
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Take a thread for failed that holds up its team longer than this (PROMP_WATCHDOG), e.g. `500ms`.
    #[arg(long, value_name = "DURATION")]
    pub watchdog: Option<String>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// `promp report`.
#[derive(Args)]
pub struct Report {
    /// The report.
    pub file: PathBuf,
    /// Print the report as one JSON line instead.
    #[arg(long)]
    pub json: bool,
}

/// `promp doctor`.
#[derive(Args)]
pub struct Doctor {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
