//! `promp run --steps`: a process that is linked with OpenMP, and is no descendant of another one, is a step
//! of the script. When it is loaded it executes `promp` in its place, by the name `promp-step`: that looks
//! for the step's place, and starts it, continues it or ends with its status (cli/src/steps).

use crate::sys::env;
use crate::{process, say, whose};
use promp_settings::STEPS;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The name by which the command is told that it is a step.
const NAME: &str = "promp-step";

/// The command's process, which began the run: what PROMP_STEPS begins with.
fn front() -> Option<u32> {
    env::get(STEPS.name)?.split(':').next()?.parse().ok()
}

/// The library is being loaded into a process that is linked with OpenMP: becomes a step, if there are to be
/// some. Returns where that is not so, or cannot be.
pub(crate) fn become_one() {
    let Some(front) = front() else { return };
    let program = fs::read_link("/proc/self/exe").map(|p| p.into_os_string().into_vec());
    let Ok(program) = program else { return };
    let mut words = vec![NAME.into(), program];
    words.extend(process::command().1.iter().map(|w| w.as_os_str().as_bytes().to_vec()));
    let words: Vec<CString> = words.into_iter().filter_map(|w| CString::new(w).ok()).collect();
    let mut pointers: Vec<_> = words.iter().map(|w| w.as_ptr()).collect();
    pointers.push(core::ptr::null());
    let Ok(command) = CString::new(format!("/proc/{front}/exe")) else { return };
    // SAFETY: C strings, and a list of them with null at its end.
    unsafe { libc::execv(command.as_ptr(), pointers.as_ptr()) };
    say!(
        "no step: promp cannot be executed ({}); this program is executed again",
        std::io::Error::last_os_error().kind()
    );
}

/// This process, which is no step, uses OpenMP for the first time: it has loaded it later. Where its messages
/// go where the run's do, that is said.
pub(crate) fn has_come_late() {
    if front().is_some_and(whose::is_heard_with) {
        let (program, _) = process::command();
        say!(
            "{program} is no step, for it has loaded its OpenMP runtime itself: it is executed again each \
             time. Put `promp run --resume --ckpt DIR --` in front of it in the script"
        );
    }
}
