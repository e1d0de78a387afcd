//! The script of `promp slurm` under a real slurmctld and slurmd (Debian: slurmctld, slurmd, slurm-client):
//! preempted three times, its program's output is that of a run that was left alone. With PROMP_TEST_LONG,
//! as root.

use crate::common::jobs::*;
use crate::common::saved::*;
use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The two daemons, with a configuration of their own in a folder; they end with it.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<std::process::Child>,
}

impl Cluster {
    fn start(folder: PathBuf) -> Self {
        let name = host_name();
        let shown = folder.display();
        for sub in ["state", "spool"] {
            fs::create_dir_all(folder.join(sub)).expect("a folder");
        }
        let port = 20000 + std::process::id() % 20000;
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={name}(127.0.0.1)\nSlurmUser=root\nAuthType=auth/none\n\
             CredType=cred/none\nStateSaveLocation={shown}/state\nSlurmdSpoolDir={shown}/spool\n\
             SlurmctldPidFile={shown}/ctld.pid\nSlurmdPidFile={shown}/d.pid\nSlurmctldPort={port}\n\
             SlurmdPort={}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/linear\nSchedulerType=sched/builtin\nPreemptType=preempt/partition_prio\n\
             PreemptMode=REQUEUE\nKillWait=60\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\n\
             SchedulerParameters=sched_interval=1\nNodeName={name} NodeAddr=127.0.0.1 CPUs={cpus}\n\
             PartitionName=low Nodes={name} Default=YES PriorityTier=1\n\
             PartitionName=high Nodes={name} PriorityTier=10\n",
            port + 1
        );
        fs::write(folder.join("slurm.conf"), conf).expect("a configuration");
        let mut cluster = Self { folder, daemons: Vec::new() };
        for daemon in ["slurmctld", "slurmd"] {
            let log = fs::File::create(cluster.folder.join(daemon)).expect("a log");
            let mut c = cluster.command(daemon);
            c.arg("-D").arg("-f").arg(cluster.folder.join("slurm.conf"));
            c.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
            cluster.daemons.push(started(&mut c));
        }
        wait("a node", || cluster.says("sinfo", &["-h", "-o", "%T"]).contains("idle"));
        cluster
    }

    fn command(&self, name: &str) -> Command {
        let mut c = Command::new(name);
        clean(&mut c);
        c.env("SLURM_CONF", self.folder.join("slurm.conf")).current_dir(&self.folder);
        c
    }

    fn says(&self, name: &str, args: &[&str]) -> String {
        let mut c = self.command(name);
        c.args(args);
        limited(c, LIMIT).out
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.says("scancel", &["-u", "root"]);
        for mut d in self.daemons.drain(..).rev() {
            kill(d.id() as i32, libc::SIGTERM);
            let _ = d.wait();
        }
    }
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().split('.').next().unwrap_or_default().into()
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// The number of the program's process, if it runs.
fn program_in(dir: &Path) -> Option<i32> {
    let pid: i32 = fs::read_to_string(dir.join("lock")).ok()?.trim().parse().ok()?;
    (!is_gone(pid)).then_some(pid)
}

#[test]
fn a_job_that_is_preempted_goes_on() {
    // SAFETY: a plain call.
    let root = unsafe { libc::geteuid() } == 0;
    if !long() || !root || !["slurmctld", "slurmd", "sbatch"].iter().all(|p| is_installed(p)) {
        println!("SKIPPED: with PROMP_TEST_LONG, as root, where slurmctld, slurmd and sbatch are installed");
        return;
    }
    let s = Scratch::new("slurm");
    let cluster = Cluster::start(s.path("cluster"));
    let exe = steps();
    let args = ["6000", "", "20000"];
    let want = limited(
        {
            let mut c = Command::new(&exe);
            clean(&mut c);
            c.args(args).env("OMP_NUM_THREADS", "2");
            c
        },
        4 * LIMIT,
    )
    .out;
    let (dir, log, script) = (s.path("ckpt"), s.path("log"), s.path("job.sh"));
    let mut c = Command::new(command());
    clean(&mut c);
    c.args(["slurm", "--time", "01:00:00", "--threads", "2", "--ckpt"])
        .arg(&dir)
        .arg("--")
        .arg(&exe)
        .args(args);
    let printed = limited(c, LIMIT);
    assert_eq!(printed.status, 0, "{}", printed.err);
    let bin = command().parent().expect("a folder").to_path_buf();
    let path = format!("export PATH={}:$PATH\ndir=", bin.display());
    fs::write(&script, printed.out.replacen("dir=", &path, 1)).expect("a script");
    let said = cluster.says("sbatch", &["--parsable", "-p", "low", "-o", text(&log), text(&script)]);
    let job = said.trim().to_string();
    assert!(!job.is_empty(), "it cannot be submitted");
    let mut preempted = 0;
    let begin = std::time::Instant::now();
    loop {
        let state = cluster.says("squeue", &["-h", "-j", &job, "-o", "%T"]);
        assert!(begin.elapsed() < Duration::from_secs(600), "it does not end: {state}");
        match state.trim() {
            // A job that was requeued waits two minutes unless it is told not to.
            "PENDING" => _ = cluster.says("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]),
            "RUNNING" if preempted < 3 => {
                let Some(pid) = program_in(&dir) else { continue };
                std::thread::sleep(Duration::from_millis(800));
                let other = ["-p", "high", "-o", "/dev/null", "--wrap", "sleep 1"];
                cluster.says("sbatch", &other);
                wait("it ends", || is_gone(pid));
                let there = promp_image::generation_files(&dir);
                assert!(!there.is_empty(), "no checkpoint was taken: {}", read(&log));
                preempted += 1;
            }
            "COMPLETED" | "" => break,
            "FAILED" | "TIMEOUT" | "CANCELLED" => panic!("{state}: {}", read(&log)),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    let all = read(&log);
    let ours: Vec<&str> =
        all.lines().filter(|l| ["step", "region", "sum"].iter().any(|w| l.starts_with(w))).collect();
    assert_eq!(preempted, 3, "{all}");
    assert!(
        all.matches("DUE TO PREEMPTION").count() >= 3 && all.matches("ending with status 85").count() >= 3,
        "{all}"
    );
    assert!(ours.join("\n") + "\n" == want, "its output is not that of a run that was left alone: {all}");
}
