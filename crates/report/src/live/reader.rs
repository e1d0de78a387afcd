//! Reading a live file that a stranger may have made: every offset and count is checked against the file
//! before it is used.

use super::layout::*;
use crate::Site;
use core::fmt;
use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Why a file cannot be read as a live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is shorter than its header, or than the tables that the header describes.
    Short {
        /// Bytes that there are.
        have: u64,
        /// Bytes that there should be.
        need: u64,
    },
    /// It does not begin as a live file does.
    Foreign,
    /// It has another layout.
    Version(u64),
    /// A number of the header cannot be.
    Damaged(&'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { have, need } => write!(f, "it is cut off: {have} bytes of {need}"),
            Self::Foreign => f.write_str("it is not a live file of promp"),
            Self::Version(v) => write!(
                f,
                "its layout is {v}, this command reads {VERSION}: use the promp of the same version"
            ),
            Self::Damaged(what) => write!(f, "it is damaged: {what} cannot be right"),
        }
    }
}

impl core::error::Error for Problem {}

/// No table has more rows than this.
const MOST: u64 = 1 << 24;

/// A live file whose header has been checked. The file may go on changing.
pub struct View<'a> {
    words: &'a [AtomicU64],
    header: HeaderRead,
}

/// All that a live file says at one moment; rows of one thread may be a little newer than those of another.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The header.
    pub header: HeaderRead,
    /// The modules.
    pub modules: Vec<Site>,
    /// The segments.
    pub segments: Vec<SegmentRead>,
    /// The threads.
    pub threads: Vec<ThreadRead>,
    /// `cells[thread][segment]`.
    pub cells: Vec<Vec<CellRead>>,
}

impl<'a> View<'a> {
    /// Checks the header of a file that has been mapped as `words`.
    pub fn new(words: &'a [AtomicU64]) -> Result<Self, Problem> {
        let short = |need: u64| Problem::Short { have: words.len() as u64 * 8, need };
        let first = words.first().ok_or(short(size_of::<Header>() as u64))?;
        // The writer's Release store of the magic number comes after the rest of the header.
        if first.load(Acquire) != MAGIC {
            return Err(Problem::Foreign);
        }
        let header = HeaderRead::at(words, 0).ok_or(short(size_of::<Header>() as u64))?;
        if header.version != VERSION {
            return Err(Problem::Version(header.version));
        }
        let cells = header.threads_room.checked_mul(header.segments_room);
        let tables = [
            ("the place of the modules", header.modules_at, Some(header.modules_room), size_of::<Module>()),
            (
                "the place of the segments",
                header.segments_at,
                Some(header.segments_room),
                size_of::<SegmentRow>(),
            ),
            (
                "the place of the threads",
                header.threads_at,
                Some(header.threads_room),
                size_of::<ThreadRow>(),
            ),
            ("the place of the cells", header.cells_at, cells, size_of::<Cell>()),
        ];
        for (what, at, rows, size) in tables {
            let rows = rows.filter(|r| *r <= MOST).ok_or(Problem::Damaged(what))?;
            if at % 8 != 0 || at < size_of::<Header>() as u64 {
                return Err(Problem::Damaged(what));
            }
            let end = at.checked_add(rows * size as u64).ok_or(Problem::Damaged(what))?;
            if end > words.len() as u64 * 8 {
                return Err(short(end));
            }
        }
        Ok(Self { words, header })
    }

    /// The process that writes it, and when that process began.
    pub fn process(&self) -> (u64, u64) {
        (self.header.pid, self.header.process_start)
    }

    /// Reads everything once.
    pub fn read(&self) -> Snapshot {
        // The tables stay where they were checked to be, whatever has been written to the header since.
        let fixed = &self.header;
        let now = HeaderRead::at(self.words, 0).unwrap_or_default();
        let count = |field: usize, room: u64| {
            // The rows were written before the count was raised: see the module's text.
            self.words.get(field / 8).map_or(0, |w| w.load(Acquire)).min(room) as usize
        };
        let modules = count(core::mem::offset_of!(Header, modules), fixed.modules_room);
        let segments = count(core::mem::offset_of!(Header, segments), fixed.segments_room);
        let threads = count(core::mem::offset_of!(Header, threads), fixed.threads_room);
        let at = |table: u64, row: usize, size: usize| table as usize / 8 + row * (size / 8);
        Snapshot {
            header: HeaderRead {
                modules: modules as u64,
                segments: segments as u64,
                threads: threads as u64,
                ..now
            },
            modules: (0..modules)
                .map(|i| self.module(at(fixed.modules_at, i, size_of::<Module>())))
                .collect(),
            segments: (0..segments)
                .filter_map(|i| {
                    let at = at(fixed.segments_at, i, size_of::<SegmentRow>());
                    SegmentRead::at(self.words, at).map(SegmentRead::whole)
                })
                .collect(),
            threads: (0..threads)
                .filter_map(|i| ThreadRead::at(self.words, at(fixed.threads_at, i, size_of::<ThreadRow>())))
                .collect(),
            cells: (0..threads)
                .map(|t| {
                    let first = at(fixed.cells_at, t * fixed.segments_room as usize, size_of::<Cell>());
                    (0..segments)
                        .filter_map(|s| CellRead::at(self.words, at(0, s, size_of::<Cell>()) + first))
                        .collect()
                })
                .collect(),
        }
    }

    /// A module's row; the offset of the site is 0.
    fn module(&self, at: usize) -> Site {
        let word = |byte: usize| self.words.get(at + byte / 8).map_or(0, |w| w.load(Relaxed));
        let text = |from: usize, length: u64, most: usize| -> Vec<u8> {
            (0..length.min(most as u64) as usize).map(|i| word(from + i).to_le_bytes()[i % 8]).collect()
        };
        let id = core::mem::offset_of!(Module, build_id);
        let path = core::mem::offset_of!(Module, path);
        let (path_length, id_length) = (
            word(core::mem::offset_of!(Module, path_length)),
            word(core::mem::offset_of!(Module, build_id_length)),
        );
        Site {
            module: String::from_utf8_lossy(&text(path, path_length, PATH)).replace(char::is_control, "?"),
            build_id: text(id, id_length, BUILD_ID).iter().map(|b| format!("{b:02x}")).collect(),
            offset: 0,
        }
    }
}

impl SegmentRead {
    /// With what the others' teams have measured added to the rest.
    fn whole(self) -> Self {
        let sum = u64::wrapping_add;
        Self {
            visits: sum(self.visits, self.others_visits),
            tp_ns: sum(self.tp_ns, self.others_tp_ns),
            mean_ns: sum(self.mean_ns, self.others_mean_ns),
            least_wait_ns: sum(self.least_wait_ns, self.others_least_wait_ns),
            wall_ns: sum(self.wall_ns, self.others_wall_ns),
            others_visits: 0,
            others_tp_ns: 0,
            others_mean_ns: 0,
            others_least_wait_ns: 0,
            others_wall_ns: 0,
            ..self
        }
    }
}

impl Snapshot {
    /// Where a segment's beginning (or end) is called from, if that is known.
    pub fn site(&self, module: u64, offset: u64) -> Option<Site> {
        let m = self.modules.get(usize::try_from(module).ok()?)?;
        Some(Site { offset, ..m.clone() })
    }
}

impl Module {
    /// Fills the row in. The beginning of a path that is too long is left out.
    pub fn fill(&self, path: &[u8], build_id: &[u8], base: u64) {
        let path = &path[path.len().saturating_sub(PATH)..];
        let build_id = &build_id[..build_id.len().min(BUILD_ID)];
        let put = |words: &[AtomicU64], bytes: &[u8]| {
            for (w, b) in words.iter().zip(bytes.chunks(8)) {
                let mut word = [0; 8];
                word[..b.len()].copy_from_slice(b);
                w.store(u64::from_le_bytes(word), Relaxed);
            }
        };
        put(&self.path, path);
        put(&self.build_id, build_id);
        self.path_length.store(path.len() as u64, Relaxed);
        self.build_id_length.store(build_id.len() as u64, Relaxed);
        self.base.store(base, Relaxed);
        self.unloaded.store(0, Relaxed);
    }
}
