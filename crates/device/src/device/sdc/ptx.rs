//! Which kernels give the same bits when they run again: found in the PTX text that GCC put into the
//! program, before a kernel first runs. Whatever in a kernel's call graph may depend on the order in which
//! threads come, or on what a section does not put back, makes it *order-dependent*; what is not
//! understood counts as such.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What the text says of one function.
#[derive(Default)]
struct Function {
    /// Why it alone is order-dependent.
    reason: Option<String>,
    /// Functions that it calls.
    calls: BTreeSet<String>,
    /// Words that may name functions and variables.
    names: BTreeSet<String>,
}

/// All of an image.
#[derive(Default)]
pub(crate) struct Program {
    functions: BTreeMap<String, Function>,
    /// Variables in the device's memory.
    globals: HashSet<String>,
    /// ... those that the host knows, and a section puts back.
    known: HashSet<String>,
}

/// Calls whose effect a section cannot put back, or whose answer may be another the next time.
const CALLS: [(&str, &[&str]); 6] = [
    ("output", &["vprintf", "printf", "puts", "putchar", "write", "fwrite", "fputs", "fputc", "vfprintf"]),
    (
        "memory allocation",
        &[
            "malloc",
            "calloc",
            "realloc",
            "free",
            "GOMP_alloc",
            "GOMP_free",
            "omp_alloc",
            "omp_free",
            // GCC's names for those of C.
            "__nvptx_malloc",
            "__nvptx_realloc",
            "__nvptx_free",
        ],
    ),
    ("random numbers", &["rand", "srand", "random", "srandom", "drand48", "lrand48", "mrand48", "srand48"]),
    (
        "the clock",
        &[
            "clock",
            "time",
            "gettimeofday",
            "clock_gettime",
            "omp_get_wtime",
            "omp_get_wtime_",
            "_gfortran_system_clock_4",
        ],
    ),
    (
        "a critical section or lock",
        &[
            "GOMP_critical_start",
            "GOMP_critical_name_start",
            "GOMP_atomic_start",
            "omp_set_lock",
            "omp_test_lock",
            "omp_set_nest_lock",
            "omp_test_nest_lock",
        ],
    ),
    ("the way to the host", &["abort", "exit", "_exit", "GOMP_target_ext", "__assert_func"]),
];

/// Beginnings of names of GCC's runtime on the device that hand work out in the order in which threads ask
/// for it.
const HANDED_OUT: [&str; 9] = [
    "GOMP_task",
    "GOMP_loop_dynamic",
    "GOMP_loop_guided",
    "GOMP_loop_nonmonotonic",
    "GOMP_loop_ull",
    "GOMP_loop_runtime",
    "GOMP_sections",
    "GOMP_single",
    // Who has not come that far yet does less.
    "GOMP_cancel",
];

/// Names of the runtime whose own text is not looked into: threads, teams and barriers.
fn is_runtime(name: &str) -> bool {
    ["GOMP_", "gomp_", "omp_get_", "omp_is_", "omp_in_", "GOACC_", "goacc_", "acc_on_device"]
        .iter()
        .any(|p| name.starts_with(p))
}

/// Variables of the runtime and of newlib that say nothing of the program's results.
fn is_harmless(name: &str) -> bool {
    name.starts_with("gomp_")
        || ["__nvptx_stacks", "__nvptx_uni", "__nvptx_clocktick", "_impure_ptr", "impure_data", "errno"]
            .contains(&name)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_word(c)).filter(|w| !w.is_empty())
}

impl Program {
    /// Reads the objects of an image; `known` are the variables that the host knows, too.
    pub(crate) fn read<'a>(
        objects: impl Iterator<Item = &'a str>,
        known: impl Iterator<Item = String>,
    ) -> Self {
        let mut p = Self { known: known.collect(), ..Self::default() };
        for text in objects {
            p.object(text);
        }
        p
    }

    fn object(&mut self, text: &str) {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let line = line.trim();
            if line.starts_with("//") {
                continue;
            }
            let mut all = words(line);
            let first = all.find(|w| !matches!(*w, ".visible" | ".weak" | ".common"));
            match first {
                Some(".entry" | ".func") => {
                    let Some(name) = name_of(line) else { continue };
                    if line.trim_end().ends_with(';') {
                        continue;
                    }
                    let mut body = Vec::new();
                    for line in lines.by_ref() {
                        if line.trim_end() == "}" && body.len() > 1 && depth(&body) == 1 {
                            break;
                        }
                        body.push(line);
                    }
                    self.functions.insert(name, function(&body));
                }
                // Shared memory and constants are as they were at every start of a kernel.
                Some(".global") => {
                    let name = all.find(|w| !w.starts_with('.') && w.parse::<u64>().is_err());
                    self.globals.extend(name.map(String::from));
                }
                _ => {}
            }
        }
    }

    /// Why a kernel must not be taken for repeatable; `None` if it is.
    pub(crate) fn verdict(&self, kernel: &str) -> Option<String> {
        if !self.functions.contains_key(kernel) {
            return Some("its text was not found".into());
        }
        let (mut seen, mut todo) = (HashSet::new(), vec![kernel.to_string()]);
        while let Some(name) = todo.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some((what, _)) = CALLS.iter().find(|(_, names)| names.contains(&name.as_str())) {
                return Some(format!("{what} ({name})"));
            }
            if HANDED_OUT.iter().any(|p| name.starts_with(p)) {
                return Some(format!("work that is handed out in no fixed order ({name})"));
            }
            if is_runtime(&name) || is_harmless(&name) {
                continue;
            }
            if self.globals.contains(&name) {
                if !self.known.contains(&name) {
                    return Some(format!("data on the device that the host does not know ({name})"));
                }
                continue;
            }
            match self.functions.get(&name) {
                None => return Some(format!("a function that is not there ({name})")),
                Some(Function { reason: Some(why), .. }) => return Some(why.clone()),
                Some(f) => {
                    todo.extend(f.calls.iter().cloned());
                    todo.extend(f.names.iter().filter(|n| self.matters(n)).cloned());
                }
            }
        }
        None
    }

    /// Is the word in a function's text the name of something?
    fn matters(&self, name: &str) -> bool {
        self.functions.contains_key(name)
            || self.globals.contains(name)
            || CALLS.iter().any(|(_, names)| names.contains(&name))
            || is_runtime(name)
    }

    /// Does the kernel reach a variable that the host knows?
    pub(crate) fn uses_variables(&self, kernel: &str) -> bool {
        let (mut seen, mut todo) = (HashSet::new(), vec![kernel.to_string()]);
        while let Some(name) = todo.pop() {
            if self.known.contains(&name) && self.globals.contains(&name) {
                return true;
            }
            if seen.insert(name.clone())
                && !is_runtime(&name)
                && let Some(f) = self.functions.get(&name)
            {
                todo.extend(f.names.iter().chain(&f.calls).cloned());
            }
        }
        false
    }
}

fn depth(body: &[&str]) -> i32 {
    body.iter().flat_map(|l| l.chars()).map(|c| i32::from(c == '{') - i32::from(c == '}')).sum()
}

/// The name in a function's head: `.visible .func (.param .u32 %value_out) name (…)`.
fn name_of(line: &str) -> Option<String> {
    let rest = line.split_once(".entry").or_else(|| line.split_once(".func"))?.1.trim_start();
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest };
    words(rest).next().map(String::from)
}

fn function(body: &[&str]) -> Function {
    let mut f = Function::default();
    for line in body {
        let line = line.trim();
        if line.starts_with(".reg") || line.starts_with("//") {
            continue;
        }
        for w in words(line) {
            if let Some(op) = w.strip_prefix("atom.").or_else(|| w.strip_prefix("red.")) {
                f.reason = f.reason.take().or_else(|| atomic(op, w.starts_with("atom."), line, body));
            }
            if w.starts_with("%clock") || w.starts_with("%globaltimer") {
                f.reason.get_or_insert_with(|| "the clock".into());
            }
            if ["%smid", "%warpid", "%gridid"].contains(&w) || w == "activemask.b32" {
                f.reason.get_or_insert_with(|| format!("the place where a thread happens to run ({w})"));
            }
        }
        if let Some(callee) = callee(line) {
            if callee.starts_with('%') {
                f.reason.get_or_insert_with(|| "a call through a pointer".into());
            } else {
                f.calls.insert(callee.to_string());
                continue;
            }
        }
        f.names.extend(words(line).filter(|w| !w.starts_with('%') && !w.starts_with('.')).map(String::from));
    }
    f
}

/// The function that a `call` instruction names.
fn callee(line: &str) -> Option<&str> {
    let at = line.find("call")?;
    if !line[..at].chars().all(|c| c == '@' || c.is_whitespace() || is_word(c) || c == '!') {
        return None;
    }
    let rest = line[at + 4..].trim_start_matches(".uni").trim_start();
    let rest =
        if rest.starts_with('(') { rest.split_once(')')?.1.trim_start_matches([',', ' ']) } else { rest };
    words(rest).next()
}

/// Why an atomic operation makes the result depend on the order; `None` if it does not.
fn atomic(op: &str, has_result: bool, line: &str, body: &[&str]) -> Option<String> {
    let parts: Vec<&str> = op.split('.').collect();
    if parts.iter().any(|p| p.starts_with('f') || p.starts_with("bf")) {
        return Some("a floating-point atomic".into());
    }
    if parts.iter().any(|p| ["cas", "exch"].contains(p)) {
        return Some("a compare-and-swap or exchange".into());
    }
    if !has_result {
        return None;
    }
    // What an atomic answers depends on who came first; only if somebody looks at it.
    let operands = line.split_once(op)?.1;
    let result = operands.split(',').next()?.trim();
    if result == "_" {
        return None;
    }
    let used = body.iter().filter(|l| !l.trim().starts_with(".reg") && l.trim() != line);
    used.flat_map(|l| words(l)).any(|w| w == result).then(|| "an atomic whose answer is used".into())
}

#[cfg(test)]
mod tests;
