//! Where the loader of a restarting process has put the libraries.
//!
//! A restart replaces all memory but the code that does it: the runtime's and libc's must lie where the checkpoint has them. With
//! addresses that are not random they do, unless something has changed that the loader reads: it maps /etc/ld.so.cache while it
//! looks libraries up, above them, so that they lie lower by a page when the installation of a package has made that
//! file longer by one. Then the program is executed again with all libraries listed in LD_PRELOAD, in the same order: the loader looks
//! nothing up. Where it mapped something then that it does not map now, the list gets an object that only takes up as many
//! addresses. The environment is that of the process before it is replaced; the program never sees it.

use crate::image::Map;
use crate::image::layout::VARIABLE;
use crate::memory;
use crate::restart::execute;
use crate::sys;
use crate::sys::env;
use crate::sys::maps;
use crate::sys::objects::{self, Object};
use std::ffi::CString;

/// How often the program is executed again. The second time is for the spacer; a longer list may take a page of the loader's own memory.
const TRIES: u32 = 4;

/// What has been tried already.
struct Layout {
    tries: u32,
    spacer: Option<Spacer>,
}

/// An object that only takes up addresses.
#[derive(Clone, Copy)]
struct Spacer {
    fd: i32,
    pages: isize,
    /// Its place among the libraries.
    place: usize,
}

impl Layout {
    fn of_this_process() -> Self {
        let text = env::get(VARIABLE).unwrap_or_default();
        let mut words = text.split(',').map_while(|w| w.parse::<i64>().ok());
        let mut next = || words.next();
        let tries = next().map_or(0, |n| n as u32);
        let spacer = match (next(), next(), next()) {
            (Some(fd), Some(pages), Some(place)) if fd >= 0 => {
                Some(Spacer { fd: fd as i32, pages: pages as isize, place: place as usize })
            }
            _ => None,
        };
        Self { tries, spacer }
    }
}

/// Is the runtime's code, and what it calls, where the mappings that are `want`ed have it? If not, executes the program again; the
/// error says what cannot be brought there. `libraries`: see [`objects::loaded`].
pub fn settle(want: &[Map], libraries: &[Object]) -> Result<(), String> {
    let have = memory::mappings();
    let before = Layout::of_this_process();
    if let Some(s) = before.spacer {
        // SAFETY: opened for this process, which has mapped it.
        unsafe { sys!(libc::SYS_close, s.fd) };
    }
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const libc::c_char;
    }
    let ours = [
        settle as *const () as usize,
        libc::memcpy as *const () as usize,
        gnu_get_libc_version as *const () as usize,
    ];
    let astray = |at: &usize| distance(&have, want, *at).is_some_and(|d| d != 0);
    let Some(at) = ours.iter().copied().chain([objects::loader()]).find(astray) else { return Ok(()) };
    again(&have, want, libraries, &before).map_err(|why| {
        let path = maps::find(&have, at).map_or("", |m| &m.path);
        format!(
            "the loader puts {path} at another address than in the run ({why}); does it read the same as then \
             (/etc/ld.so.cache, /etc/ld.so.preload)?"
        )
    })
}

/// How far the file mapped at `at` lies below where it is `want`ed; nothing if that has no such mapping.
fn distance(have: &[Map], want: &[Map], at: usize) -> Option<isize> {
    let h = maps::find(have, at).filter(|h| h.inode != 0)?;
    let of_file = || want.iter().filter(|w| w.path == h.path);
    if of_file().any(|w| w.start.wrapping_sub(w.offset) == h.start.wrapping_sub(h.offset)) {
        return Some(0);
    }
    of_file().find(|w| w.offset == h.offset).map(|w| w.start.wrapping_sub(h.start) as isize)
}

/// Executes the program again, with libraries where the loader shall not look for them.
fn again(have: &[Map], want: &[Map], libraries: &[Object], before: &Layout) -> Result<(), String> {
    if before.tries == TRIES {
        return Err(format!("after {TRIES} attempts"));
    }
    let spacer_path = |s: Spacer| format!("/proc/self/fd/{}", s.fd);
    let mut libraries: Vec<_> = libraries.iter().collect();
    libraries.retain(|o| before.spacer.is_none_or(|s| o.path != spacer_path(s)));
    if let Some(o) = libraries.iter().find(|o| o.path.contains([':', ' ', ';'])) {
        return Err(format!("LD_PRELOAD cannot name {}", o.path));
    }
    let mut spacer = None;
    // The first time it may be due to what the loader maps besides.
    if before.tries > 0 {
        let far = |o: &Object| distance(have, want, o.start).filter(|&d| d != 0);
        let (first, by) = libraries
            .iter()
            .enumerate()
            .find_map(|(i, o)| Some((i, far(o)?)))
            .ok_or("and no library with it")?;
        let (pages, place) = before.spacer.map_or((0, first), |s| (s.pages, s.place));
        let pages = pages - by / 4096;
        if pages < 0 {
            return Err(format!("{} is {} pages too low", libraries[first].path, by / 4096));
        }
        if pages > 0 {
            let fd = objects::spacer(pages as usize).map_err(|e| e.to_string())?;
            spacer = Some(Spacer { fd, pages, place });
        }
    }
    let mut list: Vec<String> = libraries.into_iter().map(|o| o.path.clone()).collect();
    if let Some(s) = spacer {
        list.insert(s.place.min(list.len()), spacer_path(s));
    }
    let Spacer { fd, pages, place } = spacer.unwrap_or(Spacer { fd: -1, pages: 0, place: 0 });
    let set = [
        format!("LD_PRELOAD={}", list.join(":")),
        format!("{VARIABLE}={},{fd},{pages},{place}", before.tries + 1),
    ];
    let text = maps::read_file(c"/proc/thread-self/environ").unwrap_or_default();
    let mut environment: Vec<CString> = text
        .split(|&b| b == 0)
        .filter(|line| !line.is_empty())
        .filter(|line| !["LD_PRELOAD=", VARIABLE].iter().any(|p| line.starts_with(p.as_bytes())))
        .filter_map(|line| CString::new(line).ok())
        .collect();
    environment.extend(set.into_iter().filter_map(|line| CString::new(line).ok()));
    let mut pointers: Vec<_> = environment.iter().map(|line| line.as_ptr()).collect();
    pointers.push(core::ptr::null());
    // SAFETY: a list of C strings with a null at its end.
    unsafe { execute(pointers.as_ptr()) };
    Err("and it cannot be executed again".into())
}
