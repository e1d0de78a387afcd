//! The plugin for the compiler that is called, and what it is told.
//!
//! A plugin is for one version of GCC. Installations have one for each, in a folder of its name; beside
//! drivers that were just built there is one, with a note of the version.

use super::prefix::candidates;
use super::{Driver, Wishes, fail, option};
use promp_settings::internal::PLUGIN;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin's file.
const FILE: &str = "promp_plugin.so";
/// promp.h then leaves to the plugin the functions that it knows by name.
const KNOWN_BY_NAME: &str = "-D__PROMP_CC__";

/// The options for the plugin, and what GCC has to do so that it sees enough.
pub(crate) fn options(d: &Driver, compiler: &OsStr, w: &Wishes) -> Vec<OsString> {
    let plugin = find(compiler).unwrap_or_else(|why| fail(d, &format!("{why} ({} names it)", d.variable)));
    let mut all = vec![option("-fplugin=", &plugin), KNOWN_BY_NAME.into()];
    if w.optimises {
        all.push("-fipa-pta".into());
    }
    for (asked, name) in
        [(w.report, "report"), (w.sdc, "sdc"), (w.elements, "elements"), (w.foresee, "foresee")]
    {
        if asked {
            all.push(format!("-fplugin-arg-promp_plugin-{name}").into());
        }
    }
    if w.budget != 0 {
        all.push(format!("-fplugin-arg-promp_plugin-budget={}", w.budget).into());
    }
    all
}

/// The plugin for `compiler`: PROMP_PLUGIN, or one that belongs to this driver. An error is a message.
fn find(compiler: &OsStr) -> Result<PathBuf, String> {
    let shown = compiler.to_string_lossy();
    let named = std::env::var_os(PLUGIN.name).map(PathBuf::from);
    let Some(alone) = named.or_else(|| candidates(FILE).into_iter().find(|p| p.exists())) else {
        let have = version(compiler)?;
        let at = |folder: &str| candidates(&format!("promp/gcc-{folder}/{FILE}"));
        return at(&have).into_iter().find(|p| p.exists()).ok_or_else(|| lacks(&shown, &have));
    };
    let Ok(wanted) = std::fs::read_to_string(alone.with_extension("gcc")) else { return Ok(alone) };
    let have = version(compiler)?;
    if have == wanted.trim() {
        return Ok(alone);
    }
    let have = if have.is_empty() { "no version of GCC" } else { &have };
    Err(format!(
        "the plugin is for GCC {}, and {shown} is {have}; call that compiler, or build promp with yours (GCC \
         12 or later)",
        wanted.trim()
    ))
}

/// Which plugins are there instead of that for `compiler`.
fn lacks(compiler: &str, have: &str) -> String {
    let folders =
        candidates("promp").into_iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    let mut versions: Vec<String> =
        folders.filter_map(|e| Some(e.file_name().to_str()?.strip_prefix("gcc-")?.to_string())).collect();
    versions.sort();
    let kit = candidates("promp/plugin/Makefile").into_iter().find(|p| p.exists());
    let todo = match kit.as_deref().and_then(Path::parent) {
        Some(kit) => format!("make one: make -C '{}' GCC={compiler}", kit.display()),
        None => "build it with `make plugin` (needs gcc-12-plugin-dev or the like)".into(),
    };
    let there = match versions.is_empty() {
        true => format!("{FILE} is not there"),
        false => format!("there is no plugin for it (there is for GCC {})", versions.join(", ")),
    };
    format!("{compiler} is GCC {have}, and {there}; {todo}; or call another compiler")
}

/// The version the compiler says it has, or why it says none.
fn version(compiler: &OsStr) -> Result<String, String> {
    let out = Command::new(compiler).args(["-dumpfullversion", "-dumpversion"]).output();
    let out = out.map_err(|e| format!("{} cannot be executed: {e}", compiler.to_string_lossy()))?;
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_string())
}
