//! Where the loader of a restarting process has put the libraries.
//!
//! A restart replaces all memory but the code that does it: the runtime's and libc's must lie where the
//! checkpoint has them. With addresses that are not random they do, unless something has changed that the
//! loader reads: it maps /etc/ld.so.cache while it looks libraries up, above them, so that they lie lower by
//! a page when the installation of a package has made that file longer by one. Then the program is executed
//! again with all libraries listed in LD_PRELOAD, in the same order: the loader looks nothing up. The
//! environment is that of the process before it is replaced; the program never sees it.
//!
//! That may not do. The kernel puts each library into the highest gap that it fits into, and large ones of
//! some file systems at multiples of 2 MiB, which leaves gaps above them: a library may go into one now that
//! something else had for a moment in the run. Then the libraries are listed from the highest place that one
//! shall have to the lowest, each behind a spacer, an object that only takes up as many addresses as are to
//! lie between it and the one above. What the loader takes for its own notes moves all that come later, so
//! that spacers are made larger or smaller by as much.

use crate::image::Map;
use crate::memory;
use crate::restart::execute;
use crate::sys;
use crate::sys::env;
use crate::sys::maps;
use crate::sys::objects::{self, Object};
use promp_settings::internal::RESTART_LAYOUT;
use std::ffi::CString;

/// How often the program is executed again. First without spacers; each time from the third one on corrects what the one before has
/// shown.
const TRIES: usize = 20;
/// Pages of 2 MiB.
const ALIGNED: isize = 512;
/// Pages, fewer than any library takes.
const FEW: isize = 4;

/// What has been tried already.
struct Layout {
    tries: usize,
    /// The spacers: descriptors, and the pages that they take up.
    spacers: Vec<(i32, isize)>,
}

impl Layout {
    fn of_this_process() -> Self {
        let text = env::get(RESTART_LAYOUT.name).unwrap_or_default();
        let mut words = text.split(',').map_while(|w| w.parse::<i32>().ok());
        let tries = words.next().map_or(0, |n| n as usize);
        let numbers: Vec<_> = words.collect();
        Self { tries, spacers: numbers.as_chunks().0.iter().map(|&[fd, n]| (fd, n as isize)).collect() }
    }
}

fn spacer_path(fd: i32) -> String {
    format!("/proc/self/fd/{fd}")
}

/// Is the runtime's code, and what it calls, where the mappings that are `want`ed have it? If not, executes the program again; the
/// error says what cannot be brought there. `libraries`: see [`objects::loaded`].
pub fn settle(want: &[Map], libraries: &[Object]) -> Result<(), String> {
    let have = memory::mappings();
    let before = Layout::of_this_process();
    for (fd, _) in before.spacers.iter().filter(|s| s.0 >= 0) {
        // SAFETY: opened for this process, which has mapped it.
        unsafe { sys!(libc::SYS_close, *fd) };
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
    let is_spacer = |o: &&Object| before.spacers.iter().any(|s| o.path == spacer_path(s.0));
    let mut libraries: Vec<_> = libraries.iter().filter(|o| !is_spacer(o)).collect();
    if let Some(o) = libraries.iter().find(|o| o.path.contains([':', ' ', ';'])) {
        return Err(format!("LD_PRELOAD cannot name {}", o.path));
    }
    let mut spacers = Vec::new();
    if before.tries > 0 {
        let place = |o: &Object| {
            let start = o.start.wrapping_add_signed(distance(have, want, o.start)?);
            Some((start, start + (o.end - o.start)))
        };
        libraries.sort_by_key(|o| core::cmp::Reverse(place(o)));
        let places: Vec<_> = libraries.iter().map_while(|o| place(o)).collect();
        spacers = match before.tries {
            1 => gaps(&places, highest()),
            _ => {
                let have: Vec<_> = libraries.iter().map(|o| o.start).collect();
                corrected(&before.spacers, &have, &places)
            }
        };
    }
    let mut list = Vec::new();
    let mut variable = format!("{}={}", RESTART_LAYOUT.name, before.tries + 1);
    for (i, o) in libraries.iter().enumerate() {
        let pages = spacers.get(i).copied().unwrap_or(0);
        let mut fd = -1;
        if pages > 0 {
            fd = objects::spacer(pages as usize).map_err(|e| e.kind().to_string())?;
            list.push(spacer_path(fd));
        }
        variable += &format!(",{fd},{pages}");
        list.push(o.path.clone());
    }
    let set = [format!("LD_PRELOAD={}", list.join(":")), variable];
    let text = maps::read_file(c"/proc/thread-self/environ").unwrap_or_default();
    let mut environment: Vec<CString> = text
        .split(|&b| b == 0)
        .filter(|line| !line.is_empty())
        .filter(|line| !["LD_PRELOAD=", RESTART_LAYOUT.name].iter().any(|p| line.starts_with(p.as_bytes())))
        .filter_map(|line| CString::new(line).ok())
        .collect();
    environment.extend(set.into_iter().filter_map(|line| CString::new(line).ok()));
    let mut pointers: Vec<_> = environment.iter().map(|line| line.as_ptr()).collect();
    pointers.push(core::ptr::null());
    // SAFETY: a list of C strings with a null at its end.
    unsafe { execute(pointers.as_ptr()) };
    Err("and it cannot be executed again".into())
}

/// Where the highest library may end: below the loader, and what the kernel maps for the process.
fn highest() -> usize {
    let all = maps::all();
    let loader = maps::find(&all, objects::loader()).map_or(0, |m| m.inode);
    let first = |m: &&maps::Mapping| m.path.starts_with("[vv") || m.path == "[vdso]" || m.inode == loader;
    all.iter().filter(first).map(|m| m.start).min().unwrap_or(0)
}

/// Pages between each of `places` (first address, and behind the last one; from the highest one) and the one above.
fn gaps(places: &[(usize, usize)], highest: usize) -> Vec<isize> {
    let above = core::iter::once(highest).chain(places.iter().map(|p| p.0));
    above.zip(places).map(|(above, p)| pages(above, p.1)).collect()
}

fn pages(a: usize, b: usize) -> isize {
    (a.wrapping_sub(b) as isize) >> 12
}

/// What is to be between the libraries instead of the spacers `before`, which have brought them to `have`. The first one that is not where
/// it shall be has another spacer; where those below it come then is seen the next time.
fn corrected(before: &[(i32, isize)], have: &[usize], places: &[(usize, usize)]) -> Vec<isize> {
    let mut spacers: Vec<_> = before.iter().map(|s| s.1).collect();
    let mut too_high = have.iter().zip(places).map(|(have, place)| pages(*have, place.0));
    if let Some((i, by)) = too_high.by_ref().enumerate().find(|(_, by)| *by != 0) {
        // A large one lies at multiples of 2 MiB, and too low for want of a page or two.
        spacers[i] += if by < 0 && by % ALIGNED == 0 { -FEW } else { by };
        spacers[i] = spacers[i].max(0);
    }
    spacers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages. The loader at 900; two libraries in the gap above a large one.
    const PLACES: [(usize, usize); 3] = [(800, 890), (400, 780), (280, 400)];

    fn bytes(places: &[(usize, usize)]) -> Vec<(usize, usize)> {
        places.iter().map(|p| (p.0 << 12, p.1 << 12)).collect()
    }

    #[test]
    fn spacers_are_as_large_as_what_lies_between() {
        assert_eq!(gaps(&bytes(&PLACES), 900 << 12), [10, 20, 0]);
    }

    #[test]
    fn the_first_library_that_is_astray_has_another_spacer() {
        let at = |have: [usize; 3]| {
            corrected(&[(3, 10), (4, 20), (-1, 0)], &have.map(|n| n << 12), &bytes(&PLACES))
        };
        // Two pages are taken in front of the first one; the second one has none it needs, and has gone into a gap.
        assert_eq!(at([798, 398, 278]), [8, 20, 0]);
        assert_eq!(at([800, 430, 280]), [10, 50, 0]);
        assert_eq!(at([800, 400, 277]), [10, 20, 0], "too low without a spacer");
        // It lies at multiples of 2 MiB.
        let large = [(1600, 1690), (1024, 1580)];
        assert_eq!(corrected(&[(3, 10), (4, 20)], &[1600 << 12, 512 << 12], &bytes(&large)), [10, 16]);
    }
}
