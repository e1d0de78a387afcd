//! Finding libpromp.so, and handing it to a program.

use crate::Failure;
use crate::elf::{self, Kind};
use crate::prefix::{self, LIBRARY as NAME};
use promp_settings::LIBRARY;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library: PROMP_LIBRARY, or that which belongs to this command (prefix.rs).
pub fn find() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(LIBRARY.name).map(|p| vec![PathBuf::from(p)]);
    let tried = named.unwrap_or_else(prefix::libraries);
    let Some(found) = tried.iter().find(|p| p.exists()) else {
        let list = tried.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(Failure::new(
            69,
            format!(
                "{NAME} was not found (looked for {list}); build it with `make`, install promp as a whole \
                 (make install), or set {}",
                LIBRARY.name
            ),
        ));
    };
    match elf::kind(found) {
        // The loader only warns about a file that it cannot preload, and runs the program unprotected.
        Ok(kind) if !matches!(kind, Kind::Static | Kind::Dynamic) => {
            Err(Failure::new(69, format!("{} is not a library for x86-64", found.display())))
        }
        Ok(_) => found.canonicalize().map_err(|e| Failure::new(69, format!("{}: {e}", found.display()))),
        Err(e) => Err(Failure::new(69, format!("the library {} cannot be read: {e}", found.display()))),
    }
}

/// Has `c` start with the library, in front of what is preloaded already. Another promp there, that of an
/// outer `promp run`, gives way: a program has one.
pub(crate) fn preload(c: &mut Command, library: &Path) -> Result<(), Failure> {
    let others = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let (list, folder) = lists(library, &others, &before)?;
    c.env("LD_PRELOAD", list);
    if let Some(folders) = folder {
        c.env("LD_LIBRARY_PATH", folders);
    }
    Ok(())
}

/// The values of LD_PRELOAD and, where the loader could not read the path there, of LD_LIBRARY_PATH.
fn lists(library: &Path, others: &OsStr, before: &OsStr) -> Result<(OsString, Option<OsString>), Failure> {
    let is_separator = |b: &u8| matches!(b, b' ' | b':');
    let bytes = library.as_os_str().as_bytes();
    let (first, folder) = match (library.parent(), library.file_name()) {
        (Some(folder), Some(name)) if bytes.iter().any(is_separator) => (name.as_bytes(), Some(folder)),
        _ => (bytes, None),
    };
    let others = others.as_bytes().split(is_separator).filter(|o| !o.is_empty() && !is_a_promp(o));
    let list: Vec<&[u8]> = std::iter::once(first).chain(others).collect();
    let list = OsString::from_vec(list.join(&b':'));
    let Some(folder) = folder else { return Ok((list, None)) };
    let mut folders = folder.as_os_str().to_owned();
    // `;` separates them as well.
    if folders.as_bytes().iter().any(|b| matches!(b, b':' | b';')) {
        let shown = folder.display();
        return Err(Failure::new(
            69,
            format!(
                "the loader cannot be told of {shown}: move promp to a folder without colons and semicolons"
            ),
        ));
    }
    if !before.is_empty() {
        folders.push(":");
        folders.push(before);
    }
    Ok((list, Some(folders)))
}

/// Is this the path of a promp's library?
pub(crate) fn is_a_promp(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    name.starts_with(b"libpromp.so") || path.ends_with(b"/promp/libgomp.so.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(library: &str, others: &str, before: &str) -> Option<(String, Option<String>)> {
        let text = |s: OsString| s.into_string().expect("UTF-8");
        let (list, folder) = lists(library.as_ref(), others.as_ref(), before.as_ref()).ok()?;
        Some((text(list), folder.map(text)))
    }

    #[test]
    fn what_is_preloaded_stays_but_for_other_promps() {
        let plain = |library: &str, others: &str| of(library, others, "/x").expect("is fine");
        assert_eq!(plain("/p/libpromp.so.0.1.0", ""), ("/p/libpromp.so.0.1.0".into(), None));
        assert_eq!(plain("/p/l.so", "/a.so b.so::/c.so").0, "/p/l.so:/a.so:b.so:/c.so");
        for outer in ["/q/libpromp.so", "libpromp.so.0", "/q/libpromp.so.0.2.0", "/q/lib/promp/libgomp.so.1"]
        {
            assert_eq!(plain("/p/l.so", &format!("{outer}:/a.so")).0, "/p/l.so:/a.so", "{outer}");
        }
        assert_eq!(plain("/p/l.so", "/usr/lib/libgomp.so.1").0, "/p/l.so:/usr/lib/libgomp.so.1");
    }

    #[test]
    fn a_path_that_the_list_cannot_hold_is_given_by_its_folder() {
        let blank = of("/my p/libpromp.so.0", "/a.so", "").expect("is fine");
        assert_eq!(blank, ("libpromp.so.0:/a.so".into(), Some("/my p".into())));
        assert_eq!(of("/my p/l.so", "", "/x:/y").expect("is fine").1.as_deref(), Some("/my p:/x:/y"));
        assert_eq!(of("/a:b/l.so", "", ""), None);
        assert_eq!(of("/a b;c/l.so", "", ""), None);
    }
}
