//! `promp slurm`: a job script that takes a checkpoint at the time limit, or when the job is preempted, and
//! puts itself into the queue again.

use crate::{Failure, Outcome, args};
use std::ffi::OsStr;

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> Result<String, Failure> {
    let no = || Failure::new(64, format!("{} is not text that a script can hold", word.display()));
    let text = word.to_str().and_then(|text| shlex::try_quote(text).ok());
    text.map(Into::into).ok_or_else(no)
}

/// Prints the script.
pub fn slurm(s: &args::Slurm) -> Outcome {
    let good = |b: u8| b.is_ascii_digit() || b":-".contains(&b);
    if s.time.is_empty() || !s.time.bytes().all(good) {
        let what = format!("--time {}: expected a limit like 24:00:00 or 2-12:00:00", s.time);
        return Err(Failure::new(64, what));
    }
    let command = s.command.iter().map(|w| quoted(w)).collect::<Result<Vec<_>, _>>()?.join(" ");
    let threads = s.threads.map_or("${SLURM_CPUS_PER_TASK:-1}".into(), |n| n.to_string());
    let dir = match &s.ckpt {
        Some(d) => quoted(d.as_os_str())?,
        None => "\"$PWD/promp-$SLURM_JOB_ID\"".into(),
    };
    let cpus = s.threads.map_or(String::new(), |n| format!("#SBATCH --cpus-per-task={n}\n"));
    let (time, before, every) = (&s.time, s.before, quoted(OsStr::new(&s.every))?);
    print!(
        "#!/bin/bash
#SBATCH --time={time}
{cpus}#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@{before}
# Written by promp slurm. USR1 comes {before} s before the time limit, to this shell. TERM comes when the job is preempted, to
# all its processes. Then the program takes a checkpoint and ends with status 85, and the job goes into the queue again.
# (After scancel there is no job to be requeued.)
dir={dir}
# The program is asked in a way that does no harm if it has been asked already.
trap 'promp checkpoint \"$dir\" --then exit' USR1 TERM
promp run --resume --ckpt \"$dir\" --every {every} --on-signal TERM,USR1=checkpoint-exit --threads {threads} -- {command} &
pid=$!
# A signal ends wait early.
while :; do
    wait $pid
    status=$?
    kill -0 $pid 2>/dev/null || break
done
if [ $status = 85 ]; then
    # After a preemption it is there already. Otherwise Slurm ends what is left of the job.
    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60
fi
exit $status
"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_reads_as_they_are() {
        for word in ["a", "", "a b", "it's", "$(x)", "`x`", "a\nb", "\\", "*", "-x=1,2", "\"q\""] {
            let text = quoted(OsStr::new(word)).expect("text");
            let o = std::process::Command::new("sh").args(["-c", &format!("printf %s {text}")]).output();
            assert_eq!(String::from_utf8_lossy(&o.expect("sh").stdout), word, "{text}");
        }
    }
}
