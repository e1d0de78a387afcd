//! The command line's one definition; completions and the man page come from it.

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs OpenMP programs so that they survive the death of a thread.
#[derive(Parser)]
#[command(name = "promp", version, after_help = STATUSES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const STATUSES: &str = "Exit statuses: that of the program run; 64 bad usage or setting, 65 a file is not what it should \
be, 66 a file cannot be read, 69 the library is missing, 70 a failure could not be recovered, 71 a restart was \
refused, 74 input/output error, 126 the program cannot be run under promp, 127 it was not found.";

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program with libpromp.so in place of its OpenMP runtime.
    Run(Run),
    /// Continue a program from its last checkpoint.
    Restart(Restart),
    /// Show what a checkpoint directory holds.
    Inspect(Inspect),
    /// Summarise a report that PROMP_REPORT (or `promp run --report`) has written.
    Report(Report),
    /// Say what this machine supports.
    Doctor(Doctor),
    /// The cost model: measure this machine, check the model against it, predict a run with other threads.
    Model(Model),
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
    /// Measure where threads wait for each other (PROMP_MONITOR): segments, or trace: events with times, too.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "segments")]
    pub monitor: Option<Monitor>,
    /// Take a thread for failed that holds up its team longer than this (PROMP_WATCHDOG), e.g. `500ms`.
    #[arg(long, value_name = "DURATION")]
    pub watchdog: Option<String>,
    /// Take checkpoints and keep them in this directory (PROMP_CKPT_DIR).
    #[arg(long, value_name = "DIR")]
    pub ckpt: Option<PathBuf>,
    /// How often (PROMP_CKPT_INTERVAL), e.g. `30s`.
    #[arg(long, value_name = "DURATION", requires = "ckpt")]
    pub every: Option<String>,
    /// Save the program's own threads, too (PROMP_CKPT_THREADS=all).
    #[arg(long, requires = "ckpt")]
    pub all_threads: bool,
    /// When a signal kills the program, continue it from its last checkpoint, at most this often.
    #[arg(long, value_name = "N", requires = "ckpt")]
    pub auto_restart: Option<u32>,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// What `promp run --monitor` measures.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Monitor {
    /// Segments between synchronisation points.
    Segments,
    /// Events with times, too.
    Trace,
}

/// `promp restart`.
#[derive(Args)]
pub struct Restart {
    /// The checkpoint directory.
    pub dir: PathBuf,
    /// When a signal kills the program again, continue it again, at most this often.
    #[arg(long, value_name = "N")]
    pub auto_restart: Option<u32>,
}

/// `promp inspect`.
#[derive(Args)]
pub struct Inspect {
    /// The checkpoint directory.
    pub dir: PathBuf,
    /// Read every page and compare its checksum.
    #[arg(long)]
    pub verify: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `promp report`.
#[derive(Args)]
pub struct Report {
    /// The report.
    #[arg(required_unless_present = "diff", conflicts_with = "diff")]
    pub file: Option<PathBuf>,
    /// Write it as one self-contained page for a browser (`-`: standard output).
    #[arg(long, value_name = "OUT", conflicts_with = "diff")]
    pub html: Option<PathBuf>,
    /// Write its trace in Chrome's format, for ui.perfetto.dev (`-`: standard output).
    #[arg(long, value_name = "OUT", conflicts_with = "diff")]
    pub trace: Option<PathBuf>,
    /// Compare two runs.
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    pub diff: Option<Vec<PathBuf>>,
    /// Show so many segments.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub segments: usize,
    /// Print the report, with the names that were found, as one JSON line instead.
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

/// `promp model`.
#[derive(Args)]
pub struct Model {
    /// What to do.
    #[command(subcommand)]
    pub command: ModelCommand,
}

/// Its subcommands.
#[derive(Subcommand)]
pub enum ModelCommand {
    /// Measure what the runtime costs on this machine.
    Calibrate(Calibrate),
    /// Measure three loops and compare with what the model says.
    Check(Check),
    /// Say what a reported run would take with other numbers of threads.
    Predict(Predict),
}

/// `promp model calibrate`.
#[derive(Args)]
pub struct Calibrate {
    /// Up to how many threads; the CPUs there are unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub rounds: u64,
    /// Where to keep the figures; ~/.cache/promp/costs unless given.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `promp model check`.
#[derive(Args)]
pub struct Check {
    /// Numbers of threads; more than there are CPUs are marked.
    #[arg(long, value_name = "LIST", default_value = "1,2")]
    pub threads: String,
    /// Repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub rounds: u64,
    /// The smallest size of each loop only.
    #[arg(long)]
    pub quick: bool,
    /// What `promp model calibrate` has kept, for the paper's formulas.
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// Write a plot.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `promp model predict`.
#[derive(Args)]
pub struct Predict {
    /// A report with segments (`promp run --monitor --report FILE -- CMD`).
    pub report: PathBuf,
    /// Numbers of threads.
    #[arg(long, value_name = "LIST", default_value = "1,2,4,8,16,32,64")]
    pub threads: String,
    /// Write a plot.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
