//! How a tool is found (OpenMP 5.1, section 4.2.2): `ompt_start_tool` in the program or a library that is
//! loaded with it, then in those that OMP_TOOL_LIBRARIES names, in that order; the first that does not answer
//! with null is the tool. OMP_TOOL=disabled: nobody is asked. OMP_TOOL_VERBOSE_INIT says what was tried.

use super::abi::{Started, VERSION};
use crate::say;
use crate::sys::{env, objects, out};
use core::ffi::{CStr, c_char, c_void};
use core::fmt::Write as _;
use promp_settings::{TOOL, TOOL_LIBRARIES, TOOL_VERBOSE_INIT};
use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::Write as _;

type Start = extern "C" fn(version: u32, runtime: *const c_char) -> *const Started;

const NAME: &CStr = c"ompt_start_tool";
/// Bytes of a program's table of symbols that are looked through for it, at the start of every program.
const MOST_SYMBOLS: u64 = 1 << 20;
/// What tools are told that this is.
const RUNTIME: &str = concat!("promp ", env!("CARGO_PKG_VERSION"), "\0");

// A library that refers to the name makes the linker export a program's own: so it can be found.
core::arch::global_asm!(
    ".weak ompt_start_tool",
    ".pushsection .data.rel.ro.promp_tool,\"aw\",@progbits",
    ".globl promp_start_tool",
    ".hidden promp_start_tool",
    ".balign 8",
    "promp_start_tool:",
    ".quad ompt_start_tool",
    ".popsection",
);

unsafe extern "C" {
    /// The loader's answer, when this library was loaded.
    static promp_start_tool: usize;
}

/// Where OMP_TOOL_VERBOSE_INIT wants to read what was tried.
enum Log {
    No,
    To(i32),
    File(String),
}

/// What was tried, line by line.
struct Said {
    to: Log,
    text: String,
}

impl Said {
    fn new() -> Self {
        let to = match env::get(TOOL_VERBOSE_INIT.name) {
            None => Log::No,
            Some(v) => match v.trim().to_ascii_lowercase().as_str() {
                "" | "disabled" => Log::No,
                "stdout" => Log::To(1),
                "stderr" => Log::To(2),
                _ => Log::File(v.trim().to_string()),
            },
        };
        Self { to, text: String::new() }
    }

    fn line(&mut self, what: core::fmt::Arguments) {
        let _ = writeln!(self.text, "promp: tool: {what}");
    }

    fn print(&self) {
        let bytes = self.text.as_bytes();
        match &self.to {
            Log::No => {}
            Log::To(2) => out::write(bytes),
            Log::To(fd) => out::as_the_program(*fd, bytes),
            Log::File(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                if let Err(why) = file.and_then(|mut f| f.write_all(bytes)) {
                    let (name, expected) = (TOOL_VERBOSE_INIT.name, TOOL_VERBOSE_INIT.expected());
                    say!("{name}={path}: {why}; {expected}");
                }
            }
        }
    }
}

/// Is a tool wanted (OMP_TOOL)?
fn enabled() -> bool {
    let Some(v) = env::get(TOOL.name) else { return true };
    match v.trim().to_ascii_lowercase().as_str() {
        "" | "enabled" => true,
        "disabled" => false,
        _ => {
            say!("{}", TOOL.complaint(&v, &TOOL.expected()));
            true
        }
    }
}

/// Could there be a tool, as far as can be seen without looking? Asked before the runtime is initialised.
pub fn is_likely() -> bool {
    // SAFETY: written by the loader only.
    let own = unsafe { (&raw const promp_start_tool).read_volatile() } != 0;
    own || env::get(TOOL_LIBRARIES.name).is_some_and(|l| !l.is_empty())
}

/// Asks one: its answer.
fn ask(start: usize) -> Option<&'static Started> {
    // SAFETY: a function of this name is one of this type; it answers null or a structure that stays.
    unsafe {
        let start = core::mem::transmute::<usize, Start>(start);
        start(VERSION, RUNTIME.as_ptr().cast()).as_ref()
    }
}

/// The function in the program, or in what is loaded with it.
fn in_address_space() -> Option<usize> {
    // SAFETY: a name; the loader's lists.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) } as usize;
    if at != 0 { Some(at) } else { objects::of_program(NAME.to_bytes(), MOST_SYMBOLS) }
}

/// What the loader says of its last failure.
fn trouble() -> String {
    // SAFETY: null or a string that stays until the next call.
    unsafe {
        let why = libc::dlerror();
        if why.is_null() { "unknown".into() } else { CStr::from_ptr(why).to_string_lossy().into_owned() }
    }
}

/// The tool, if there is one that wants to be.
pub(super) fn find() -> Option<&'static Started> {
    if !enabled() {
        return None;
    }
    let mut said = Said::new();
    let found = search(&mut said);
    if found.is_none() {
        said.line(format_args!("there is none"));
    }
    said.print();
    found
}

fn search(said: &mut Said) -> Option<&'static Started> {
    match in_address_space() {
        Some(at) => {
            said.line(format_args!("{} is in the program or what is loaded with it", NAME.to_string_lossy()));
            match ask(at) {
                Some(s) => return Some(s),
                None => said.line(format_args!("it answers null: no tool")),
            }
        }
        None => said.line(format_args!("the program and what is loaded with it have none")),
    }
    let list = env::get(TOOL_LIBRARIES.name).unwrap_or_default();
    let mut faults = Vec::new();
    let mut declined = false;
    for path in list.split(':').filter(|p| !p.is_empty()) {
        match open(path) {
            Ok((handle, at)) => {
                if let Some(s) = ask(at) {
                    said.line(format_args!("{path}: started"));
                    return Some(s);
                }
                said.line(format_args!("{path}: it answers null: no tool"));
                declined = true;
                // SAFETY: opened by `open`; the tool does not want to be one.
                unsafe { libc::dlclose(handle) };
            }
            Err(why) => {
                said.line(format_args!("{path}: {why}"));
                faults.push(why);
            }
        }
    }
    // Whoever names a library wants to hear that it is none.
    if !declined && matches!(said.to, Log::No) && !faults.is_empty() {
        say!("OMP_TOOL_LIBRARIES={list}: no tool there ({}); going on without one", faults.join("; "));
    }
    None
}

/// A library, and the function in it.
fn open(path: &str) -> Result<(*mut c_void, usize), String> {
    let name = CString::new(path).map_err(|e| e.to_string())?;
    // SAFETY: a library that the user has named.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
    if handle.is_null() {
        return Err(trouble());
    }
    // SAFETY: opened above.
    match unsafe { libc::dlsym(handle, NAME.as_ptr()) } as usize {
        0 => {
            // SAFETY: as above.
            unsafe { libc::dlclose(handle) };
            Err(format!("{path} has no {}", NAME.to_string_lossy()))
        }
        at => Ok((handle, at)),
    }
}
