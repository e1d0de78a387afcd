//! From addresses to names: function, source file and line of a place in a program, by its debug information.
//!
//! The file that is read must be the one that ran: where the report has a build id, another one is not looked
//! into. Debug information may stand apart from the program, where distributions put it
//! (/usr/lib/debug/.build-id/xx/….debug). Without any, the symbol table still names the function; without
//! that, the module and the offset in it stand for the place.

use super::last_calls::Code;
use super::{construct, region_body};
use addr2line::{Loader, gimli};
use object::{Object, ObjectSection, ObjectSymbol};
use promp_report::Site;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A place in source code, as far as it could be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The function, as its author calls it.
    pub function: Option<String>,
    /// The same as the linker knows it, or as the debug information has it: "main._omp_fn.0".
    pub symbol: Option<String>,
    /// Source file.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Who called the function, where it was inlined: name, file, line, from the innermost on.
    pub callers: Vec<(String, Option<String>, Option<u32>)>,
    /// "app+0x12c4".
    pub address: String,
}

impl Place {
    /// "solver.c:120", or the address.
    pub fn short(&self) -> String {
        match (&self.file, self.line) {
            (Some(f), Some(l)) => format!("{}:{l}", base(f)),
            _ => self.address.clone(),
        }
    }
}

/// The last part of a path.
pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Looks places up; each module is opened once.
#[derive(Default)]
pub struct Places {
    modules: HashMap<(String, String), Module>,
}

/// A program or shared object that was looked for.
struct Module {
    /// Its debug information or at least its symbols.
    loader: Option<Loader>,
    /// Functions by beginning: end and name, for modules without debug information.
    symbols: Vec<(u64, u64, String)>,
    /// To see from which function the runtime was reached by a jump.
    code: Code,
    /// What is amiss, for the reader.
    note: Option<String>,
    /// It has no debug information.
    bare: bool,
}

impl Places {
    /// Finds the place of a call from its return address.
    pub fn find(&mut self, site: &Site) -> Place {
        let module = self.module(site);
        let mut place = Place { address: address(site), ..Place::default() };
        let at = module.call(site);
        if let Some(loader) = &module.loader {
            debug_information(loader, at, &mut place);
        }
        if place.symbol.is_none()
            && let Ok(i) = module.symbols.binary_search_by(|(from, to, _)| {
                if at < *from {
                    std::cmp::Ordering::Greater
                } else if at >= *to {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Equal
                }
            })
        {
            place.symbol = Some(module.symbols[i].2.clone());
            place.function = Some(readable(&module.symbols[i].2));
        }
        place
    }

    /// The place of a synchronisation: of a region the line of its directive, as far as that is known.
    pub fn of(&mut self, site: &Site, synchronisation: &str) -> Place {
        let mut place = self.find(site);
        if !synchronisation.starts_with("region") {
            return place;
        }
        let module = self.module(site);
        let call = module.call(site);
        let is_outlined = |at: &u64| module.symbol(*at).is_some_and(|s| s.contains(region_body::OUTLINED));
        let body = region_body::handed_over(&module.code, &module.symbols, call)
            .or_else(|| Some(call).filter(is_outlined));
        let (Some(body), Some(loader)) = (body, &module.loader) else { return place };
        // What is inlined there is not the region.
        let mut inner = Place::default();
        debug_information(loader, body, &mut inner);
        let own = (inner.function.unwrap_or_default(), inner.file, inner.line);
        let (function, file, line) = inner.callers.pop().unwrap_or(own);
        let stem = module.symbol(body).and_then(|s| s.split(region_body::OUTLINED).next());
        place.symbol = stem.map(str::to_owned).or(place.symbol);
        if let (Some(file), Some(line)) = (file, line) {
            place.line = construct::region(&file, line, &site.module).or(Some(line));
            (place.file, place.function) = (Some(file), Some(function));
        }
        place
    }

    /// What could not be found in modules that were looked into, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut all: Vec<String> = self.modules.values().filter_map(|m| m.note.clone()).collect();
        all.sort();
        let mut bare: Vec<&str> =
            self.modules.iter().filter(|(_, m)| m.bare).map(|((path, _), _)| path.as_str()).collect();
        bare.sort_unstable();
        let advice = "build with -g to see source files and lines";
        match bare[..] {
            [] => {}
            [one] => all.push(format!("{one} has no debug information: {advice}")),
            [first, ..] => {
                let names: Vec<&str> = bare.iter().map(|p| base(p)).collect();
                all.push(format!(
                    "{} files have no debug information ({}, the first is {first}): {advice}",
                    bare.len(),
                    names.join(", ")
                ));
            }
        }
        all
    }

    fn module(&mut self, site: &Site) -> &Module {
        self.modules
            .entry((site.module.clone(), site.build_id.clone()))
            .or_insert_with(|| Module::open(&site.module, &site.build_id))
    }
}

/// "app+0x12c4".
fn address(site: &Site) -> String {
    let name = if site.module.is_empty() { "?" } else { stem(base(&site.module)) };
    format!("{name}+{:#x}", site.offset)
}

/// The name of a module without what says for whom it was built: "_k_means" of
/// "_k_means.cpython-311-x86_64-linux-gnu.so", "libgomp" of "libgomp-a34b3233.so.1.0.0".
fn stem(name: &str) -> &str {
    let Some(end) =
        name.find(".so").filter(|&i| i > 0 && matches!(name.as_bytes().get(i + 3), None | Some(b'.')))
    else {
        return name;
    };
    let name = &name[..end];
    let tags = [".cpython-", ".pypy", ".abi3"];
    let name = tags.iter().find_map(|t| name.find(t)).filter(|&i| i > 0).map_or(name, |i| &name[..i]);
    match name.rsplit_once('-') {
        Some((bare, sum))
            if !bare.is_empty() && sum.len() >= 8 && sum.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            bare
        }
        _ => name,
    }
}

/// Fills in what the debug information says of address `at`.
fn debug_information(loader: &Loader, at: u64, place: &mut Place) {
    let Ok(mut frames) = loader.find_frames(at) else { return };
    let mut first = true;
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|f| f.raw_name().ok().map(|n| n.into_owned()));
        let fortran = frame.function.as_ref().and_then(|f| f.language).is_some_and(is_fortran);
        let file = frame.location.as_ref().and_then(|l| l.file.map(str::to_owned));
        let line = frame.location.as_ref().and_then(|l| l.line).filter(|l| *l > 0);
        let shown = name.as_deref().map(|n| {
            let n = readable(n);
            if fortran { n.strip_suffix('_').unwrap_or(&n).to_owned() } else { n }
        });
        if first {
            (place.symbol, place.function, place.file, place.line) = (name, shown, file, line);
            first = false;
        } else {
            place.callers.push((shown.unwrap_or_default(), file, line));
        }
    }
}

fn is_fortran(l: gimli::DwLang) -> bool {
    [
        gimli::DW_LANG_Fortran77,
        gimli::DW_LANG_Fortran90,
        gimli::DW_LANG_Fortran95,
        gimli::DW_LANG_Fortran03,
        gimli::DW_LANG_Fortran08,
    ]
    .contains(&l)
}

/// A linker's name as the function's author would write it: without the compiler's suffixes, and demangled.
pub fn readable(symbol: &str) -> String {
    let stem = match symbol.char_indices().skip(1).find(|(_, c)| *c == '.') {
        Some((dot, _)) => &symbol[..dot],
        None => symbol,
    };
    if let Some((module, procedure)) = stem.strip_prefix("__").and_then(|s| s.split_once("_MOD_")) {
        return format!("{module}::{procedure}");
    }
    if let Some(name) = cython(stem) {
        return name;
    }
    if stem == "MAIN__" {
        return "main program".into();
    }
    // A name of C's is not to be read as a type's: "g" would be __float128.
    let mangled = stem.starts_with("_Z").then(|| addr2line::demangle(stem, gimli::DW_LANG_C_plus_plus));
    match mangled.flatten() {
        Some(name) => without_parameters(&name).to_owned(),
        None => stem.to_owned(),
    }
}

/// A name of Cython's: "__pyx_pf_7sklearn_7cluster_14_k_means_lloyd_6fit" is
/// sklearn.cluster._k_means_lloyd.fit. Parts have their length in front, the name of a Python function an
/// ordinal, that of a C function nothing.
fn cython(stem: &str) -> Option<String> {
    let (kind, mut rest) = stem.strip_prefix("__pyx_")?.split_once('_')?;
    let python = match kind {
        "pf" | "pw" => true,
        "f" => false,
        _ => return None,
    };
    let mut parts: Vec<&str> = Vec::new();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: Option<usize> = rest[..digits].parse().ok();
        let after = &rest[digits..];
        let part = length.and_then(|n| Some((after.get(..n)?, after.get(n..)?.strip_prefix('_')?)));
        match part {
            Some((part, next)) if !python || next.starts_with(|c: char| c.is_ascii_digit()) => {
                parts.push(part);
                rest = next;
            }
            _ => {
                parts.push(if python { after } else { rest });
                return (parts.len() > 1).then(|| parts.join("."));
            }
        }
    }
}

/// A C++ name up to its parameter list.
fn without_parameters(name: &str) -> &str {
    let mut depth = 0;
    let mut skip = 0;
    for (i, c) in name.char_indices() {
        match c {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            '(' if depth == 0 && i >= skip => {
                // Not the name's own brackets.
                if name[..i].ends_with("operator") {
                    skip = i + 2;
                } else if name[i..].starts_with("(anonymous namespace)") {
                    skip = i + 21;
                } else if i > 0 {
                    return &name[..i];
                }
            }
            _ => {}
        }
    }
    name
}

impl Module {
    /// The function that begins at `at`.
    fn symbol(&self, at: u64) -> Option<&str> {
        self.symbols.binary_search_by_key(&at, |s| s.0).ok().map(|i| &*self.symbols[i].2)
    }

    /// A byte of the call that returns to `site`, which may be the next line's; or of a function's last jump.
    fn call(&self, site: &Site) -> u64 {
        self.code.jumped(site.offset, &self.symbols).unwrap_or(site.offset.saturating_sub(1))
    }

    fn open(path: &str, build_id: &str) -> Self {
        let with =
            |loader, note| Self { loader, symbols: Vec::new(), code: Code::default(), note, bare: false };
        let none = |note: String| with(None, Some(note));
        if path.is_empty() || path.starts_with('[') {
            return none(format!(
                "{} is no file: its functions are not known",
                if path.is_empty() { "some code" } else { path }
            ));
        }
        let apart = debug_file(build_id);
        let data = match promp_files::read(path.as_ref(), super::MODULE) {
            Ok(d) => d,
            Err(e) => {
                return match apart.and_then(|p| Loader::new(p).ok()) {
                    Some(loader) => with(Some(loader), None),
                    None => none(format!("{path} cannot be read ({e}): its places are shown as offsets")),
                };
            }
        };
        let Ok(file) = object::File::parse(&*data) else {
            return none(format!("{path} is no program or library: its places are shown as offsets"));
        };
        let found: Option<String> =
            file.build_id().ok().flatten().map(|id| id.iter().map(|b| format!("{b:02x}")).collect());
        if !build_id.is_empty() && found.as_deref() != Some(build_id) {
            return none(format!(
                "{path} has been built anew since that run (its build id was {build_id}): names would be \
                 wrong, so its places are shown as offsets"
            ));
        }
        let has = |f: &object::File, name: &str| f.section_by_name(name).is_some_and(|s| s.size() > 0);
        let (debug, loader) = if has(&file, ".debug_info") {
            (true, Loader::new(path).ok())
        } else if let Some(l) = apart.and_then(|p| Loader::new(p).ok()) {
            (true, Some(l))
        } else {
            (false, None)
        };
        Self { symbols: symbols(&file), code: Code::of(&file), note: None, bare: !debug, loader }
    }
}

/// Where distributions and debuginfod put debug information that stands apart.
fn debug_file(build_id: &str) -> Option<PathBuf> {
    if build_id.len() < 4 || !build_id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    [
        format!("/usr/lib/debug/.build-id/{}/{}.debug", &build_id[..2], &build_id[2..]).into(),
        home.join(Path::new(".cache/debuginfod_client").join(build_id).join("debuginfo")),
    ]
    .into_iter()
    .find(|p: &PathBuf| p.is_file())
}

/// The functions of a file's symbol tables, by address.
fn symbols(file: &object::File) -> Vec<(u64, u64, String)> {
    let mut all: Vec<(u64, u64, String)> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|s| s.kind() == object::SymbolKind::Text && s.size() > 0)
        .filter_map(|s| {
            let end = s.address().checked_add(s.size())?;
            Some((s.address(), end, s.name().ok()?.to_owned()))
        })
        .collect();
    all.sort();
    all.dedup_by_key(|s| s.0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_their_authors_wrote() {
        for (symbol, name) in [
            ("main", "main"),
            ("main._omp_fn.0", "main"),
            ("solve.constprop.0._omp_fn.3", "solve"),
            ("_ZN5solve4stepEid._omp_fn.0", "solve::step"),
            ("_ZN4GridIdE5sweepERKS0_", "Grid<double>::sweep"),
            ("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work"),
            ("_ZN3FooclEi", "Foo::operator()"),
            ("__solver_MOD_x_solve", "solver::x_solve"),
            ("__solver_MOD_x_solve._omp_fn.1", "solver::x_solve"),
            ("MAIN__._omp_fn.0", "main program"),
            (".plt", ".plt"),
            ("g", "g"),
            ("f._omp_fn.0", "f"),
            ("PKc", "PKc"),
            (
                "__pyx_pf_7sklearn_7cluster_14_k_means_lloyd_6lloyd_iter_chunked_dense._omp_fn.0",
                "sklearn.cluster._k_means_lloyd.lloyd_iter_chunked_dense",
            ),
            ("__pyx_pf_3lib_9splitting_8Splitter_4find_node_split", "lib.splitting.Splitter.find_node_split"),
            ("__pyx_f_3lib_8_binning__map_col_to_bins", "lib._binning._map_col_to_bins"),
            ("__pyx_pf_99999999999999999999", "__pyx_pf_99999999999999999999"),
            ("__pyx_pf_", "__pyx_pf_"),
        ] {
            assert_eq!(readable(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn modules_have_short_names() {
        for (name, short) in [
            ("_k_means_lloyd.cpython-311-x86_64-linux-gnu.so", "_k_means_lloyd"),
            ("_x.pypy39-pp73-x86_64-linux-gnu.so", "_x"),
            ("_y.abi3.so", "_y"),
            ("libgomp-a34b3233.so.1.0.0", "libgomp"),
            ("libscipy_openblas64_-56d6093b.so", "libscipy_openblas64_"),
            ("libopenblas.so.0", "libopenblas"),
            ("libstdc++.so.6", "libstdc++"),
            ("lib-cafe.so", "lib-cafe"),
            ("solver", "solver"),
            ("my.solver", "my.solver"),
            ("a.source", "a.source"),
            (".so", ".so"),
            ("[vdso]", "[vdso]"),
        ] {
            assert_eq!(stem(name), short, "{name}");
        }
    }

    #[test]
    fn this_program_knows_itself_and_nothing_breaks_on_what_is_none() {
        let exe = std::env::current_exe().unwrap().display().to_string();
        let data = std::fs::read(&exe).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let main = symbols(&file).into_iter().find(|s| s.2 == "main").expect("a main function");
        let mut places = Places::default();
        let at = |module: &str, build_id: &str, offset| Site {
            module: module.into(),
            build_id: build_id.into(),
            offset,
        };
        let place = places.find(&at(&exe, "", main.0 + 2));
        assert_eq!(place.symbol.as_deref(), Some("main"), "{place:?}");
        for (module, id, word) in [
            (exe.as_str(), "0123456789", "built anew"),
            ("/nonexistent/app", "", "cannot be read"),
            ("/etc/passwd", "", "no program"),
            ("[vdso]", "", "no file"),
            ("", "", "no file"),
        ] {
            let mut places = Places::default();
            let place = places.find(&at(module, id, 0x10));
            assert!(place.function.is_none() && place.address.ends_with("+0x10"), "{place:?}");
            assert!(places.notes().iter().any(|n| n.contains(word)), "{:?}", places.notes());
        }
        for offset in [0, 1, u64::MAX] {
            let _ = places.find(&at(&exe, "", offset));
        }
    }
}
