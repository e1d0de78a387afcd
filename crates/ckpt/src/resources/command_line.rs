//! Where the kernel finds the command line and the environment that it shows of this process (`ps`,
//! `pgrep -f`, /proc/PID/cmdline): in the memory in which they were when the program began. A restarted
//! process has been given other ones, elsewhere on its first stack; once memory has been put back something
//! else lies there. So the kernel is told where the program's are.

use super::process;
use super::resource::{Back, Frozen, No, Resource};
use crate::image::{Description, Word};
use crate::sys;
use crate::sys::stat::Stat;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The first and the last address of either, as in /proc/PID/stat. In memory that is saved; zeros: not known.
static WHERE: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Fields of /proc/PID/stat.
const CODE: [usize; 2] = [26, 27];
const STACK: usize = 28;
const DATA: [usize; 2] = [45, 46];
const BREAK: usize = 47;
const SHOWN: [usize; 4] = [48, 49, 50, 51];

/// Notes where they are: call once, before the first checkpoint.
pub(crate) fn learn() {
    if let Some(shown) = stat().and_then(|s| s.all(SHOWN)) {
        WHERE.iter().zip(shown).for_each(|(to, at)| to.store(at, Relaxed));
    }
}

/// The program, its arguments and its environment, as they were when it began; none: not asked for yet. The
/// kernel shows a restarted process' own.
#[derive(Default)]
pub(crate) struct CommandLine(Option<(String, Vec<Word>, Vec<Word>)>);

impl Resource for CommandLine {
    fn save(&mut self, _: &Frozen, about: &mut Description) -> Result<(), No> {
        let began = self.0.get_or_insert_with(|| {
            let (program, arguments) = process::command();
            (program, arguments, process::environment())
        });
        (about.program, about.arguments, about.environment) = began.clone();
        Ok(())
    }

    fn put_back(&mut self, to: &Back, about: &mut Description) -> Result<(), String> {
        if to.new_process {
            self.0 = Some((about.program.clone(), about.arguments.clone(), about.environment.clone()));
            put_back();
        }
        Ok(())
    }
}

/// The program's memory has been put back in a new process. Where the kernel refuses (prctl(2) without
/// CONFIG_CHECKPOINT_RESTORE, or forbidden by a filter) it shows whatever lies there.
fn put_back() {
    let shown = WHERE.each_ref().map(|w| w.load(Relaxed));
    let Some(map) = stat().and_then(|s| Map::with(&s, shown)).filter(|_| !shown.contains(&0)) else { return };
    // SAFETY: the kernel reads the structure.
    unsafe { sys!(libc::SYS_prctl, libc::PR_SET_MM, libc::PR_SET_MM_MAP, &raw const map, size_of::<Map>()) };
}

/// `struct prctl_mm_map`, see prctl(2).
#[repr(C)]
#[derive(Debug, PartialEq, Eq)]
struct Map {
    code: [u64; 2],
    data: [u64; 2],
    /// Where the heap of brk(2) begins, and its end.
    brk: [u64; 2],
    stack: u64,
    shown: [u64; 4],
    /// None: as it is.
    auxv: u64,
    auxv_bytes: u32,
    /// None: as it is.
    executable: u32,
}

fn stat() -> Option<Stat> {
    Stat::read(c"/proc/thread-self/stat")
}

impl Map {
    /// This process with another command line and environment.
    fn with(of: &Stat, shown: [usize; 4]) -> Option<Self> {
        // SAFETY: asks where the heap ends.
        let end = unsafe { sys!(libc::SYS_brk, 0) };
        let numbers = |numbers: [usize; 2]| of.all(numbers).map(|n| n.map(|n| n as u64));
        let [start, stack] = numbers([BREAK, STACK])?;
        Some(Self {
            code: numbers(CODE)?,
            data: numbers(DATA)?,
            brk: [start, end as u64],
            stack,
            shown: shown.map(|n| n as u64),
            auxv: 0,
            auxv_bytes: 0,
            executable: u32::MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_is_told() {
        let numbers: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let s = Stat::of(&format!("1 (a) b) S {}", numbers.join(" "))).expect("fields");
        let map = Map::with(&s, [1, 2, 3, 4]).expect("all are there");
        assert_eq!((map.code, map.data, map.brk[0], map.stack), ([26, 27], [45, 46], 47, 28));
        assert_eq!(map.shown, [1, 2, 3, 4]);
        // What the kernel does not tell is 0, or not there.
        for text in [format!("1 (a) S {}", ["0"; 49].join(" ")), "1 (a) S 1 2".into()] {
            let s = Stat::of(&text).expect("fields");
            assert!(s.all(SHOWN).is_none() && Map::with(&s, [1; 4]).is_none());
        }
    }

    #[test]
    fn the_command_line_is_where_it_says() {
        let at = stat().and_then(|s| s.all(SHOWN)).expect("a process may look at itself");
        // SAFETY: the kernel has put the arguments there, and they stay.
        let bytes = unsafe { core::slice::from_raw_parts(at[0] as *const u8, at[1] - at[0]) };
        assert_eq!(Some(bytes.to_vec()), crate::sys::maps::read_file(c"/proc/self/cmdline"));
    }
}
