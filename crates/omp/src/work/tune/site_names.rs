//! Names for call sites that hold from run to run: the build id of the object and the offset in it.

use crate::sys::{maps, objects};

/// Where a call site is: build id (file name where there is none), offset, function. What a call returns to
/// may lie behind its function; what is called does not.
pub(crate) fn of(at: usize, returned_to: bool) -> Option<(String, u64, String)> {
    let (module, offset) = objects::place_of(at)?;
    let function = maps::function_name(at.wrapping_sub(usize::from(returned_to))).unwrap_or_default();
    Some((module, offset, function))
}

/// The kind of CPU and how many this process may use: figures of another machine are not for this one.
pub(crate) fn machine(cpus: u32) -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':').map(|(_, m)| m.trim()));
    let model = model.unwrap_or("unknown").split_whitespace().collect::<Vec<_>>().join("-");
    promp_model::tuning_file::word(&format!("{model}-x{cpus}"))
}
