//! The command line's one definition; completions and the man page come from it.

use crate::options::Options;
use crate::typed_values as typed;
use clap::{Args, Parser, Subcommand};
use promp_settings::{CKPT_INTERVAL, Group};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The largest number of threads and processes that Linux has (PID_MAX_LIMIT).
const MANY: u64 = 1 << 22;

/// Runs OpenMP programs so that they survive the death of a thread.
#[derive(Parser)]
#[command(name = "promp", version, after_help = format!("{}\n\n{STATUSES}", crate::topics::list()))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const STATUSES: &str = "Exit statuses: that of the program run; 64 bad usage or setting, 65 a file is not \
what it should be, 66 a file cannot be read, 69 the library is missing, 70 a failure could not be recovered, \
71 a restart was refused, 74 input/output error, 76 two OpenMP runtimes would meet in the program, 85 a checkpoint \
was taken and the program ended as it was asked to, 126 the program cannot be run under promp, 127 it was not found.";

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program with libpromp.so in place of its OpenMP runtime.
    Run(Box<Run>),
    /// Continue a program from its last checkpoint.
    Restart(Restart),
    /// Ask a running program for a checkpoint.
    Checkpoint(Checkpoint),
    /// Print a Slurm job script that checkpoints a program at the time limit and requeues itself.
    Slurm(Slurm),
    /// Show what a checkpoint directory holds.
    Inspect(Inspect),
    /// Write the last checkpoint to one file, or what the program's variables hold in it.
    Export(Export),
    /// Make a checkpoint directory of a file that `promp export` has written.
    Import(Import),
    /// Find the best places for a program's checkpoints, from the report of a run.
    Plan(Plan),
    /// Summarise a report that PROMP_REPORT (or `promp run --report`) has written.
    Report(Report),
    /// Watch a running program that is being measured (`promp run --monitor`).
    Top(Top),
    /// Say what this machine supports, or whether a program can run under promp.
    Doctor(Doctor),
    /// Run a program until its loops are tuned; show what was found.
    Tune(Tune),
    /// The cost model: measure this machine, check the model against it, predict a run with other threads.
    Model(Model),
    /// Print the commands by which gdb passes the runtime's signals on (`gdb -x FILE`).
    GdbScript {
        /// For lldb, once the process is there.
        #[arg(long)]
        lldb: bool,
    },
    /// Print the completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page.
    Man {
        /// Write one page for each subcommand to this folder instead.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// `promp run`.
#[derive(Args, Default)]
pub struct Run {
    /// Number of threads (OMP_NUM_THREADS).
    #[arg(long, value_name = "N", value_parser = typed::number::<u32, 1, MANY>)]
    #[arg(help_heading = Group::Run.title())]
    pub threads: Option<u32>,
    /// Do not start a program in which promp is known to have no part (status 126).
    #[arg(long, help_heading = Group::Run.title())]
    pub strict: bool,
    /// Those that set settings.
    #[command(flatten)]
    pub options: Options,
    /// When a signal kills the program, continue it from its last checkpoint, at most this often.
    #[arg(long, value_name = "N", requires = "ckpt", value_parser = typed::number::<u32, 0, MANY>)]
    #[arg(help_heading = Group::Checkpoints.title())]
    pub auto_restart: Option<u32>,
    /// If it is killed before its first checkpoint is complete, begin it anew: what it has done may be done
    /// twice.
    #[arg(long, requires = "auto_restart", help_heading = Group::Checkpoints.title())]
    pub from_start: bool,
    /// Continue from the last checkpoint in the directory if there is one; else start the program. Safe to
    /// repeat.
    #[arg(long, requires = "ckpt", help_heading = Group::Checkpoints.title())]
    pub resume: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `promp restart`.
#[derive(Args)]
pub struct Restart {
    /// The checkpoint directory.
    pub dir: PathBuf,
    /// Go on with so many threads. Refused where the checkpoint was not taken in serial code (`promp run
    /// --any-threads`), or memory of the program's may depend on their number.
    #[arg(long, value_name = "N", value_parser = typed::number::<u32, 1, 1024>)]
    pub threads: Option<u32>,
    /// Nothing in the program's memory depends on the number of threads, whatever it has asked for.
    #[arg(long, requires = "threads")]
    pub vouch: bool,
    /// Continue from this checkpoint instead of the newest one (`promp inspect` shows which there are). Newer
    /// ones are removed.
    #[arg(long, value_name = "N")]
    pub generation: Option<u64>,
    /// When a signal kills the program again, continue it again, at most this often.
    #[arg(long, value_name = "N")]
    pub auto_restart: Option<u32>,
}

/// `promp checkpoint`.
#[derive(Args)]
pub struct Checkpoint {
    /// The number of a process (the program's, or that of the `promp` which runs it), or its checkpoint
    /// directory.
    #[arg(value_name = "PID|DIR")]
    pub whose: OsString,
    /// Wait until the checkpoint is whole.
    #[arg(long)]
    pub wait: bool,
    /// What the program does then: end with status 85, or stop (SIGCONT lets it go on).
    #[arg(long, value_enum, value_name = "WHAT")]
    pub then: Option<Then>,
}

/// What follows a checkpoint.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Then {
    /// It ends, with status 85.
    Exit,
    /// It stops.
    Stop,
}

/// `promp slurm`.
#[derive(Args)]
pub struct Slurm {
    /// The job's time limit, as sbatch takes it.
    #[arg(long, value_name = "TIME", default_value = "24:00:00")]
    pub time: String,
    /// How many seconds before the limit the checkpoint is taken.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    #[arg(value_parser = typed::number::<u32, 0, MANY>)]
    pub before: u32,
    /// Number of threads.
    #[arg(long, value_name = "N", value_parser = typed::number::<u32, 1, MANY>)]
    pub threads: Option<u32>,
    /// The checkpoint directory; by default `promp-JOB` where the job runs, by its number.
    #[arg(long, value_name = "DIR")]
    pub ckpt: Option<PathBuf>,
    /// How often checkpoints are taken besides, e.g. `10m`.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = typed::of(&CKPT_INTERVAL))]
    pub every: String,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
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
    /// Show the program's environment, too: it may hold passwords and tokens.
    #[arg(long)]
    pub env: bool,
}

/// `promp export`.
#[derive(Args)]
pub struct Export {
    /// The checkpoint directory.
    pub dir: PathBuf,
    /// The file.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Write the program's static variables instead, by name, as NumPy's load() reads them. The program has
    /// to be built with -g.
    #[arg(long)]
    pub npz: bool,
}

/// `promp import`.
#[derive(Args)]
pub struct Import {
    /// The file.
    pub file: PathBuf,
    /// The checkpoint directory to be; it must not be there yet, or be empty.
    pub dir: PathBuf,
}

/// `promp plan`.
#[derive(Args)]
pub struct Plan {
    /// The report of a run with checkpoints (`promp run --ckpt DIR --report FILE -- CMD`).
    pub report: PathBuf,
    /// The plan: for `promp run --plan`.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The time between two checkpoints, at most; that of the run unless given.
    #[arg(long, value_name = "DURATION", value_parser = typed::duration)]
    pub every: Option<Duration>,
}

/// `promp report`.
#[derive(Args)]
pub struct Report {
    /// The report; several, or folders of them (of a job array, say), are shown as one table.
    #[arg(value_name = "FILE|DIR", required_unless_present = "diff", conflicts_with = "diff")]
    pub files: Vec<PathBuf>,
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
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = typed::number::<usize, 0, MANY>)]
    pub segments: usize,
    /// Explain promp-cc's verdicts instead: how the time in loops is shared between them, the reasons, and
    /// what would change most.
    #[arg(long, conflicts_with_all = ["diff", "html", "trace", "json"])]
    pub explain: bool,
    /// Print the report, with the names that were found, as one JSON line instead.
    #[arg(long)]
    pub json: bool,
}

/// `promp top`.
#[derive(Args)]
pub struct Top {
    /// The process; may be left out if only one of yours is measured.
    #[arg(value_parser = typed::number::<u32, 1, MANY>)]
    pub pid: Option<u32>,
    /// Look so often.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = typed::duration)]
    pub every: Duration,
    /// Print the state once, as text, and end.
    #[arg(long)]
    pub once: bool,
    /// Print the state once, as one JSON line, and end.
    #[arg(long)]
    pub json: bool,
    /// With --once: show so many segments.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = typed::number::<usize, 0, MANY>)]
    pub segments: usize,
}

/// `promp doctor`.
#[derive(Args)]
pub struct Doctor {
    /// Look at this program instead: does anything in it ask for OpenMP names that promp does not have?
    pub program: Option<OsString>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// `promp tune`.
#[derive(Args)]
pub struct Tune {
    /// How often to run the program: programs that execute their loops seldom need several runs.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = typed::number::<u32, 1, MANY>)]
    pub runs: u32,
    /// Number of threads (OMP_NUM_THREADS); what is found holds for this number.
    #[arg(long, value_name = "N", value_parser = typed::number::<u32, 1, MANY>)]
    pub threads: Option<u32>,
    /// The tuning file, added to if it is there; the program's name and `.tune` unless given.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Compare all ways to execute a loop on the same work: memory goes back to a checkpoint before each, so
    /// that one execution of a loop is enough. What has effects outside of the program is left out.
    #[arg(long)]
    pub exact: bool,
    /// With --exact: where the checkpoint is kept, in a folder of its own; in memory (/dev/shm) unless given.
    #[arg(long, value_name = "DIR", requires = "exact")]
    pub scratch: Option<PathBuf>,
    /// Show what a tuning file has.
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub show: Option<PathBuf>,
    /// With --show: print JSON.
    #[arg(long, requires = "show")]
    pub json: bool,
    /// The program and its arguments.
    #[arg(required_unless_present = "show", trailing_var_arg = true)]
    #[arg(value_name = "CMD")]
    pub command: Vec<OsString>,
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
    #[arg(long, value_name = "N", value_parser = typed::number::<u32, 1, 1024>)]
    pub threads: Option<u32>,
    /// Repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = typed::number::<u64, 1, 64>)]
    pub rounds: u64,
    /// Where to keep the figures; ~/.cache/promp/costs unless given.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A loop of `promp model check`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ModelLoop {
    /// Sweeps that can be executed at once (DOALL).
    Jacobi,
    /// Tiles that wait for each other (DOACROSS).
    Wavefront,
    /// Two stages (DSWP).
    Pipeline,
}

/// `promp model check`.
#[derive(Args)]
pub struct Check {
    /// Numbers of threads; more than there are CPUs are marked.
    #[arg(long, value_name = "LIST", default_value = "1,2")]
    pub threads: String,
    /// Repetitions of each measurement.
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = typed::number::<u64, 1, 64>)]
    pub rounds: u64,
    /// Some of the loops.
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',')]
    #[arg(default_values_t = [ModelLoop::Jacobi, ModelLoop::Wavefront, ModelLoop::Pipeline])]
    pub loops: Vec<ModelLoop>,
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
