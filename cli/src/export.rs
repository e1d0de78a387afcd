//! `promp export`: a checkpoint as one file (archive/ has its form), or its variables.

mod npz;
mod saved_memory;
mod types;
mod variables;

use crate::archive::{LINKS, Writer, is_named, on_disk};
use crate::sober::sober;
use crate::{Failure, Outcome, args};
use indicatif::{ProgressBar, ProgressStyle};
use promp_files::Replacement;
use promp_image::{Directory, Entry, Generation, MappedFile, PAGE, Sums, file_copies};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const NOT_ONE: u8 = 65;
const UNREADABLE: u8 = 66;
const IO: u8 = 74;

/// A program that runs replaces generations while they are read: so often the newest one is taken anew.
const TRIES: u32 = 5;

fn system(what: &Path, e: &io::Error) -> Failure {
    Failure::new(IO, format!("{}: {e}", what.display()))
}

fn bar(message: String, pages: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}: {bar:40} {pos}/{len} pages");
    let bar = ProgressBar::new(pages as u64).with_message(message);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Writes the newest whole generation, or what its variables hold, to a file.
pub fn export(e: &args::Export) -> Outcome {
    let d = Directory::open(&e.dir).map_err(|why| Failure::new(UNREADABLE, why))?;
    for left in (0..TRIES).rev() {
        let g = d.newest(|_| true, |problem| eprintln!("promp: {}", sober(&problem))).ok_or_else(|| {
            let why = format!("{} holds no checkpoint that is whole", e.dir.display());
            Failure::new(UNREADABLE, why)
        })?;
        // It may hold what nobody else shall read.
        let mut to = Replacement::new(&e.output, 0o600).map_err(|why| system(&e.output, &why))?;
        let hidden = to.is_hidden();
        let done = match e.npz {
            true => npz::write(&d, &g, to.file()),
            false => archive(&d, &g, to.file()).map(|()| format!("{} pages", g.index.len())),
        };
        match done {
            Ok(what) => {
                to.finish(true).map_err(|why| system(&e.output, &why))?;
                let (program, to) = (sober(&g.about.program), e.output.display());
                println!("checkpoint {} of {program}: {what} in {to}", g.number);
                return Ok(());
            }
            // Overwritten by a newer one.
            Err(Stop::Page(_)) if left > 0 && hidden && d.generations().first() > Some(&g.number) => {}
            Err(Stop::Page(why)) => return Err(Failure::new(UNREADABLE, why)),
            Err(Stop::Write(why)) => return Err(system(&e.output, &why)),
            Err(Stop::None(why)) => return Err(Failure::new(NOT_ONE, why)),
        }
    }
    unreachable!("the last try returns")
}

/// Why an export ends.
enum Stop {
    /// A page, or a file of the directory, cannot be read.
    Page(String),
    /// What was asked for is not in it.
    None(String),
    /// Something cannot be written.
    Write(io::Error),
}

impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Self {
        Self::Write(e)
    }
}

fn archive(d: &Directory, g: &Generation, to: &File) -> Result<(), Stop> {
    let in_a_row = |(i, e): (usize, &Entry)| Entry { slot: i as u64, ..*e };
    let index: Vec<Entry> = g.index.iter().enumerate().map(in_a_row).collect();
    let about = promp_image::encode(g.number, &g.about, &index, Sums::Inside);
    let (pages, copies, others) = ((g.index.len() * PAGE) as u64, copies(d, g), others(d, g.number)?);
    let lengths = copies.iter().map(|f| f.length).chain(others.iter().map(|o| o.1));
    let room = lengths.chain([pages, about.len() as u64]).map(on_disk).fold(0, u64::saturating_add);
    let mut w = Writer::new(BufWriter::new(to), g.number, room)?;
    w.file("pages", pages)?;
    write_pages(d, g, &mut w)?;
    for f in copies {
        let bytes = file_copies::read(d.folder(), &d.path, f).map_err(Stop::Page)?;
        write_file(&mut w, &format!("{}/{}", file_copies::FOLDER, file_copies::name(f)), &bytes, f.length)?;
    }
    for (name, length) in others {
        if let Some(text) = d.link(&name) {
            write_file(&mut w, &format!("{LINKS}{name}"), text.as_os_str().as_bytes(), length)?;
            continue;
        }
        let mut bytes = Vec::new();
        let read = d
            .open_file(&name)
            .and_then(|f| f.take(length).read_to_end(&mut bytes).map_err(|e| e.to_string()));
        read.map_err(|why| Stop::Page(format!("{name}: {why}")))?;
        write_file(&mut w, &name, &bytes, length)?;
    }
    write_file(&mut w, &format!("gen-{}", g.number), &about, about.len() as u64)?;
    w.finish()?.flush()?;
    Ok(())
}

fn write_pages(d: &Directory, g: &Generation, w: &mut Writer<impl Write>) -> Result<(), Stop> {
    let bar = bar(format!("checkpoint {}", g.number), g.index.len());
    let mut content = [0; PAGE];
    for (i, e) in g.index.iter().enumerate() {
        d.page(e, &mut content).map_err(Stop::Page)?;
        w.content(&content)?;
        if i % 1024 == 0 {
            bar.set_position(i as u64);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// A file whose length has been said before.
fn write_file(w: &mut Writer<impl Write>, name: &str, bytes: &[u8], length: u64) -> Result<(), Stop> {
    if bytes.len() as u64 != length {
        let is = bytes.len();
        return Err(Stop::Page(format!(
            "{name} has changed meanwhile: it has {is} bytes, expected {length}"
        )));
    }
    w.file(name, length)?;
    Ok(w.content(bytes)?)
}

/// The files of which the directory has copies for `g`.
fn copies<'a>(d: &Directory, g: &'a Generation) -> Vec<&'a MappedFile> {
    let there = file_copies::names(d.folder(), &d.path);
    let files = g.about.mapped.iter().chain(&g.about.kernel);
    let mut all: Vec<_> = files.filter(|f| there.contains(&file_copies::name(f))).collect();
    all.sort_by_key(|f| file_copies::name(f));
    all.dedup_by_key(|f| file_copies::name(f));
    all
}

/// What a directory has beside pages and generations, as far as it belongs to generation `number`: names and
/// lengths.
fn others(d: &Directory, number: u64) -> Result<Vec<(String, u64)>, Stop> {
    let names = promp_files::names_in(d.folder()).unwrap_or_default();
    let names = names.into_iter().filter_map(|n| n.into_string().ok());
    let own = |n: &String| n != "pages" && !n.starts_with("gen-") && is_named(n, number);
    let mut all: Vec<String> = names.filter(own).collect();
    all.sort();
    let length = |name: String| {
        if let Some(text) = d.link(&name) {
            return Ok((name, text.as_os_str().len() as u64));
        }
        match d.open_file(&name).map(|f| f.metadata()) {
            Ok(Ok(m)) => Ok((name, m.len())),
            Ok(Err(e)) => Err(Stop::Page(format!("{name}: {e}"))),
            Err(why) => Err(Stop::Page(why)),
        }
    };
    all.into_iter().map(length).collect()
}
