//! The memory of a process in a checkpoint: saved pages, pages of files that had not changed, zeros.

use promp_image::{Description, Directory, Entry, Generation, PAGE};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// See the module's text.
pub struct Memory<'a> {
    directory: &'a Directory,
    index: &'a [Entry],
    /// What it is about.
    pub about: &'a Description,
    files: RefCell<HashMap<String, Option<File>>>,
}

impl<'a> Memory<'a> {
    /// That of generation `g`.
    pub fn new(directory: &'a Directory, g: &'a Generation) -> Self {
        Self { directory, index: &g.index, about: &g.about, files: RefCell::default() }
    }

    /// Is all of it mapped?
    pub fn has(&self, at: u64, bytes: u64) -> bool {
        let Some(end) = at.checked_add(bytes) else { return false };
        let mut at = at;
        while at < end {
            match self.about.maps.iter().find(|m| (m.start as u64..m.end as u64).contains(&at)) {
                Some(m) => at = m.end as u64,
                None => return false,
            }
        }
        true
    }

    /// Reads what is at `at`.
    pub fn read(&self, at: u64, to: &mut [u8]) -> Result<(), String> {
        let mut done = 0;
        while done < to.len() {
            let at = at + done as u64;
            let offset = (at % PAGE as u64) as usize;
            let n = (PAGE - offset).min(to.len() - done);
            let mut page = [0u8; PAGE];
            self.page(at / PAGE as u64, &mut page)?;
            to[done..done + n].copy_from_slice(&page[offset..offset + n]);
            done += n;
        }
        Ok(())
    }

    fn page(&self, number: u64, to: &mut [u8; PAGE]) -> Result<(), String> {
        let at = number as usize * PAGE;
        if let Ok(i) = self.index.binary_search_by_key(&number, |e| e.page) {
            return self.directory.page(&self.index[i], to);
        }
        let Some(m) = self.about.maps.iter().find(|m| (m.start..m.end).contains(&at)) else {
            return Err(format!("nothing is mapped at {at:x}"));
        };
        to.fill(0);
        if m.inode == 0 {
            return Ok(());
        }
        let mut files = self.files.borrow_mut();
        let file = files.entry(m.path.clone()).or_insert_with(|| File::open(&m.path).ok());
        let file = file.as_ref().ok_or_else(|| format!("{} cannot be read", m.path))?;
        let (mut from, mut n) = ((m.offset + at - m.start) as u64, 0);
        while n < PAGE {
            match file.read_at(&mut to[n..], from).map_err(|e| format!("{}: {e}", m.path))? {
                0 => break, // behind its end there are zeros
                k => (n, from) = (n + k, from + k as u64),
            }
        }
        Ok(())
    }

    /// An unsigned number of `bytes` bytes.
    pub fn number(&self, at: u64, bytes: u8) -> Option<u64> {
        let mut word = [0u8; 8];
        let part = word.get_mut(..usize::from(bytes))?;
        if !self.has(at, bytes.into()) {
            return None;
        }
        self.read(at, part).ok()?;
        Some(u64::from_le_bytes(word))
    }
}
