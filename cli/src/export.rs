//! `promp export` and `promp import`: a checkpoint as one file (archive.rs has its form).

mod memory;
mod npz;
mod types;
mod variables;

use crate::archive::{Problem, Reader, Writer};
use crate::{Failure, Outcome, args};
use indicatif::{ProgressBar, ProgressStyle};
use promp_files::Replacement;
use promp_image::{Directory, Entry, Generation, MappedFile, PAGE, Sums, kept};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
        let g = d.newest(|problem| eprintln!("promp: {problem}")).ok_or_else(|| {
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
                println!("checkpoint {} of {}: {what} in {}", g.number, g.about.program, e.output.display());
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
    let mut w = Writer::new(BufWriter::new(to), g.number)?;
    w.file("pages", (g.index.len() * PAGE) as u64)?;
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
    for f in copies(&d.path, g) {
        let file = format!("{}/{}", kept::FOLDER, kept::name(f));
        let bytes = fs::read(d.path.join(&file)).map_err(|e| Stop::Page(format!("{file}: {e}")))?;
        w.file(&file, bytes.len() as u64)?;
        w.content(&bytes)?;
    }
    for name in others(&d.path, g.number) {
        let mut bytes = Vec::new();
        let read = d.open_file(&name).and_then(|mut f| f.read_to_end(&mut bytes).map_err(|e| e.to_string()));
        read.map_err(|why| Stop::Page(format!("{name}: {why}")))?;
        w.file(&name, bytes.len() as u64)?;
        w.content(&bytes)?;
    }
    let in_a_row = |(i, e): (usize, &Entry)| Entry { slot: i as u64, ..*e };
    let index: Vec<Entry> = g.index.iter().enumerate().map(in_a_row).collect();
    let bytes = promp_image::encode(g.number, &g.about, &index, Sums::Inside);
    w.file(&format!("gen-{}", g.number), bytes.len() as u64)?;
    w.content(&bytes)?;
    w.finish()?.flush()?;
    Ok(())
}

/// The files of which the directory has copies for `g`.
fn copies<'a>(dir: &Path, g: &'a Generation) -> Vec<&'a MappedFile> {
    let mut all: Vec<_> =
        g.about.mapped.iter().chain(&g.about.kernel).filter(|f| kept::place(dir, f).exists()).collect();
    all.sort_by_key(|f| kept::name(f));
    all.dedup_by_key(|f| kept::name(f));
    all
}

/// What a directory has beside pages and generations, as far as it belongs to generation `number`.
fn others(dir: &Path, number: u64) -> Vec<String> {
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = names.filter_map(|e| e.file_name().into_string().ok());
    let own = |n: &String| n != "pages" && !n.starts_with("gen-") && crate::archive::is_named(n, number);
    let mut all: Vec<String> = names.filter(own).collect();
    all.sort();
    all
}

/// Makes a checkpoint directory of a file.
pub fn import(i: &args::Import) -> Outcome {
    let shown = i.file.display();
    let from = File::open(&i.file).map_err(|e| Failure::new(UNREADABLE, format!("{shown}: {e}")))?;
    let failed = |p: Problem| match p {
        Problem::Bad(why) => Failure::new(NOT_ONE, format!("{shown} cannot be imported: {why}")),
        Problem::System(e) => Failure::new(IO, format!("{shown}: {e}")),
    };
    let mut r = Reader::new(from).map_err(failed)?;
    let dir = &i.dir;
    if fs::read_dir(dir).is_ok_and(|mut d| d.next().is_some()) {
        let why = format!("{} is not empty: give a directory that is not there yet", dir.display());
        return Err(Failure::new(64, why));
    }
    let existed = dir.exists();
    if !existed {
        fs::DirBuilder::new().mode(0o700).create(dir).map_err(|e| system(dir, &e))?;
    }
    promp_image::check_directory(dir).map_err(|e| Failure::new(UNREADABLE, e))?;
    let mut made = Vec::new();
    let done = unpack(&mut r, dir, &mut made).map_err(failed).and_then(|()| whole(dir, r.number));
    if done.is_err() {
        // Half of a checkpoint is none.
        made.iter().for_each(|p| drop(fs::remove_file(p)));
        let _ = fs::remove_dir(dir.join(kept::FOLDER));
        if !existed {
            let _ = fs::remove_dir(dir);
        }
    }
    let g = done?;
    println!("checkpoint {} of {}: {} pages in {}", g.number, g.about.program, g.index.len(), dir.display());
    Ok(())
}

/// Writes the files of an archive; the generation's, which is the last one, makes a checkpoint of them.
fn unpack(r: &mut Reader<File>, dir: &Path, made: &mut Vec<PathBuf>) -> Result<(), Problem> {
    let mut piece = vec![0; 1 << 20];
    while let Some((name, _)) = r.next_file()? {
        let is_copy = name.starts_with(kept::FOLDER);
        let path = dir.join(name);
        if let (true, Some(folder)) = (is_copy, path.parent().filter(|f| !f.exists())) {
            fs::DirBuilder::new().mode(0o700).create(folder).map_err(Problem::System)?;
        }
        let mut options = File::options();
        // A program is executed.
        let mode = if is_copy { 0o700 } else { 0o600 };
        let mut f = options.write(true).create_new(true).mode(mode).open(&path).map_err(Problem::System)?;
        made.push(path);
        loop {
            match r.content(&mut piece)? {
                0 => break,
                n => f.write_all(&piece[..n]).map_err(Problem::System)?,
            }
        }
        f.sync_all().map_err(Problem::System)?;
    }
    Ok(())
}

/// Generation `number` of `dir`, verified.
fn whole(dir: &Path, number: u64) -> Result<Generation, Failure> {
    let read = |d: Directory| {
        let g = d.read(number)?;
        d.verify(&g, |_| ())?;
        Ok(g)
    };
    Directory::open(dir)
        .and_then(read)
        .map_err(|why| Failure::new(NOT_ONE, format!("what was imported is not a checkpoint: {why}")))
}
