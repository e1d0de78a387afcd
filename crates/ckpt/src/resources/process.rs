//! The process as such: what was started, its folder, its umask.

use super::resource::{Back, Frozen, No, Resource};
use crate::image::{Description, Place, Word};
use crate::sys;
use crate::sys::lock::Locked;
use crate::sys::maps;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use std::fs;
use std::os::fd::AsRawFd;

/// What a file of /proc holds, as words with a zero byte behind each.
pub fn words(path: &core::ffi::CStr) -> Vec<Word> {
    let bytes = maps::read_file(path).unwrap_or_default();
    let mut words: Vec<Word> = bytes.split(|&b| b == 0).map(Word::from).collect();
    words.pop();
    words
}

/// The program's file and its arguments.
pub fn command() -> (String, Vec<Word>) {
    let program = fs::read_link("/proc/thread-self/exe");
    let program = program.map(|l| l.to_string_lossy().into_owned()).unwrap_or_default();
    (program, words(c"/proc/thread-self/cmdline"))
}

/// What the process began with: the kernel does not show it to one that has made itself not dumpable.
static ENVIRONMENT: Locked<Vec<Word>> = Locked::new(Vec::new());

/// The process begins.
pub fn begin() {
    ENVIRONMENT.with(|e| *e = words(c"/proc/self/environ"));
}

/// The environment that it began with.
pub fn environment() -> Vec<Word> {
    ENVIRONMENT.with(|e| e.clone())
}

/// A device is open whose memory no image holds.
static DEVICE: AtomicBool = AtomicBool::new(false);

/// From here on there is such a device.
pub fn device_opens() {
    DEVICE.store(true, Relaxed);
}

/// The permissions that its new files do not get.
fn umask() -> Option<u32> {
    let status = maps::read_file(c"/proc/thread-self/status")?;
    let status = String::from_utf8_lossy(&status);
    status.lines().find_map(|l| u32::from_str_radix(l.strip_prefix("Umask:")?.trim(), 8).ok())
}

/// Folder and umask; a new process is made with them.
#[derive(Default)]
pub(crate) struct Process;

impl Resource for Process {
    fn obstacle(&self) -> Option<String> {
        DEVICE.load(Relaxed).then(|| "the program uses a device with memory of its own".into())
    }

    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        about.directory = Place::of_work().unwrap_or_default();
        about.umask = umask().unwrap_or(0o022);
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if to.new_process {
            return Ok(());
        }
        // SAFETY: plain call.
        unsafe { sys!(libc::SYS_umask, about.umask) };
        if about.directory.is_still(&Place::of_work().unwrap_or_default()) {
            return Ok(());
        }
        let failed = |why: String| format!("cannot go back to the folder {}: {why}", about.directory.path);
        let folder = about.directory.open_again().map_err(failed)?;
        // SAFETY: a descriptor of ours.
        match unsafe { sys!(libc::SYS_fchdir, folder.as_raw_fd()) } {
            0 => Ok(()),
            e => Err(failed(sys::why(e).to_string())),
        }
    }
}
