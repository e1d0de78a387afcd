//! `promp restart --threads N`: may the program go on with another number of threads? It may not where
//! memory of its own may depend on the number: it has asked for it, or it may have something for each
//! thread.
//!
//! What it has asked the runtime for is in the image. `omp_get_thread_num` and `omp_get_num_threads` are
//! not, because compilers call them for every static loop of unmodified programs: here the files that were
//! mapped are searched for them, and the instructions behind a call say whose it is (static_loops). So
//! are they for thread-local data, of which threads that begin anew have none.

use super::static_loops;
use crate::report::symbolizer::{Place, Places, base};
use object::elf::{PF_X, PT_TLS, STT_TLS};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, Sym as _};
use object::{Endianness, elf};
use promp_image::{Asked, Description};
use promp_report::Site;
use std::path::Path;

/// Data of the calling thread's by other ways than the compiler's.
const KEYS: [&str; 2] = ["pthread_setspecific", "tss_set"];
/// By these a program can have its standard output in its memory, and read it, or have a say in how numbers
/// are printed: the number of threads would not only be shown then (plugin/src/segments/shown.cc).
const STREAMS: [&str; 7] = [
    "open_memstream",
    "open_wmemstream",
    "fmemopen",
    "fopencookie",
    "register_printf_function",
    "register_printf_specifier",
    "_ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E",
];
/// What promp-cc has made of calls whose value is only shown.
const SHOWN: &str = "promp_shown_";
/// The system's own: what they keep for a thread they make anew.
const SYSTEM: [&str; 12] = [
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "ld-linux",
    "libgcc_s.so",
    "libstdc++.so",
    "libgfortran.so",
    "libquadmath.so",
    "libgomp.so",
    "libpromp",
];

/// What in the program may depend on the number of threads, a part of a sentence each.
pub fn obstacles(about: &Description) -> Vec<String> {
    let mut places = Places::default();
    let asked = about.asked.iter().map(|a| match site(about, a) {
        Some(site) => {
            let place = places.find(&site);
            let function = place.function.as_ref().map_or(String::new(), |f| format!("{f}, "));
            format!("it has called {} ({function}{})", a.routine, place.short())
        }
        None => format!("it has called {}", a.routine),
    });
    let mut all: Vec<String> = asked.collect();
    let mut paths: Vec<&str> = about.maps.iter().filter(|m| m.inode != 0).map(|m| &*m.path).collect();
    paths.sort_unstable();
    paths.dedup();
    let (mut shows, mut streams) = (false, Vec::new());
    for path in paths.into_iter().filter(|p| !SYSTEM.iter().any(|s| base(p).starts_with(s))) {
        let of = of_file(Path::new(path), &mut places);
        all.extend(of.obstacles);
        shows |= of.shows;
        streams.extend(
            of.stream.map(|name| format!("{path} uses {name}, so what it has shown may be in memory")),
        );
    }
    if shows {
        all.append(&mut streams);
    }
    all
}

/// What there is in a file.
#[derive(Default)]
struct Found {
    /// That speaks against another number, a part of a sentence each.
    obstacles: Vec<String>,
    /// Calls that only show it.
    shows: bool,
    /// A function by which it can read what was shown.
    stream: Option<String>,
}

/// Where a call was made, for whoever looks names up.
fn site(about: &Description, a: &Asked) -> Option<Site> {
    let map = about.maps.iter().find(|m| (m.start..m.end).contains(&a.at) && m.inode != 0)?;
    let first = about.maps.iter().find(|m| m.path == map.path && m.offset == 0)?;
    let data = std::fs::read(&map.path).ok()?;
    let file = ElfFile64::<Endianness>::parse(&*data).ok()?;
    let fixed = file.elf_header().e_type(file.endian()) == elf::ET_EXEC;
    let offset = if fixed { a.at } else { a.at - first.start };
    Some(Site { module: map.path.clone(), build_id: String::new(), offset: offset as u64 })
}

/// What a program or library says of itself.
fn of_file(path: &Path, places: &mut Places) -> Found {
    let only = |why| Found { obstacles: vec![why], ..Found::default() };
    let Ok(data) = std::fs::read(path) else { return only(format!("{} cannot be read", path.display())) };
    let Ok(file) = ElfFile64::<Endianness>::parse(&*data) else { return Found::default() };
    let endian = file.endian();
    let headers = file.elf_program_headers();
    if !headers.iter().any(|h| h.p_flags(endian).0 & PF_X.0 != 0) {
        return Found::default();
    }
    let shown = path.display();
    let symbols = file.elf_dynamic_symbol_table();
    let named = |s: &elf::Sym64<Endianness>| {
        let name = symbols.symbol_name(endian, s).ok()?;
        core::str::from_utf8(name).ok().map(str::to_owned)
    };
    let wanted = |s: &&elf::Sym64<Endianness>| s.is_undefined(endian);
    let used: Vec<String> = symbols.iter().filter(wanted).filter_map(named).collect();
    let has = |names: &[&str]| used.iter().find(|u| names.contains(&&***u)).cloned();
    let mut all = Vec::new();
    if let Some((name, at)) = static_loops::uses(&data).into_iter().next() {
        let site = at.map(|offset| Site { module: shown.to_string(), build_id: String::new(), offset });
        let place = site.map(|s| places.find(&s));
        let of =
            |p: &Place| p.symbol.as_ref().or(p.function.as_ref()).map_or(String::new(), |f| format!("{f}, "));
        let place = place.map_or(String::new(), |p| format!(" ({}{})", of(&p), p.short()));
        all.push(format!("{shown} uses {name}{place}"));
    }
    if let Some(name) = has(&KEYS) {
        all.push(format!("{shown} uses {name}"));
    }
    let bytes: u64 = headers.iter().filter(|h| h.p_type(endian) == PT_TLS).map(|h| h.p_memsz(endian)).sum();
    if bytes > 0 {
        let table = file.elf_symbol_table();
        let mut locals = table.iter().filter(|s| s.st_type() == STT_TLS);
        let first = locals.find_map(|s| {
            let name = table.symbol_name(endian, s).ok()?;
            core::str::from_utf8(name).ok().map(|n| format!(", {n} among them"))
        });
        all.push(format!(
            "{shown} has {bytes} bytes for each thread (threadprivate, thread_local{})",
            first.unwrap_or_default()
        ));
    }
    let shows = used.iter().any(|name| name.starts_with(SHOWN));
    Found { obstacles: all, shows, stream: has(&STREAMS) }
}

/// Why it is refused to go on with `threads` threads; `None`: it is not.
pub fn refusal(about: &Description, threads: u32, vouched: bool) -> Option<String> {
    if let Some(why) = promp_image::fit::another(about, threads) {
        return Some(why);
    }
    let obstacles = if vouched || threads == about.threads { Vec::new() } else { obstacles(about) };
    (!obstacles.is_empty()).then(|| {
        format!(
            "with {threads} threads in place of {} memory of the program's might no longer fit, because {}. \
             If nothing in its memory depends on the number of threads, say --vouch",
            about.threads,
            obstacles.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_thread_local_data() {
        let of = |path: &Path| of_file(path, &mut Places::default()).obstacles;
        let all = of(&std::env::current_exe().unwrap());
        assert!(all.iter().any(|o| o.contains("for each thread")), "{all:?}");
        assert!(of(Path::new("/proc/self/status")).is_empty());
        assert_eq!(of(Path::new("/nowhere")), ["/nowhere cannot be read"]);
    }
}
