//! The rows of the live file, twice from one definition: as words that a program writes, as numbers that a
//! reader has read.

use core::mem::size_of;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// "PROMPLIV", as the first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"PROMPLIV");
/// Version of the layout: another one is another layout.
pub const VERSION: u64 = 2;
/// Bytes of a module's path; longer ones lose their beginning.
pub const PATH: usize = 440;
/// Bytes of a build id.
pub const BUILD_ID: usize = 32;

macro_rules! row {
    ($(#[$outer:meta])* $name:ident / $read:ident { $($(#[$inner:meta])* $field:ident,)* }) => {
        $(#[$outer])*
        #[repr(C, align(64))]
        #[derive(Default)]
        pub struct $name { $($(#[$inner])* pub $field: AtomicU64,)* }

        #[doc = concat!("A [`", stringify!($name), "`] as it was read.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $read { $($(#[$inner])* pub $field: u64,)* }

        impl $read {
            /// Reads the row that begins at word `at`; nothing if it does not lie within `words`.
            pub(super) fn at(words: &[AtomicU64], at: usize) -> Option<Self> {
                let row = words.get(at..at.checked_add(size_of::<$name>() / 8)?)?;
                $(let $field = row.get(core::mem::offset_of!($name, $field) / 8)?.load(Relaxed);)*
                Some(Self { $($field,)* })
            }
        }
    };
}

row! {
    /// The beginning of the file.
    Header / HeaderRead {
        /// [`MAGIC`], stored last.
        magic,
        /// [`VERSION`].
        version,
        /// The process.
        pid,
        /// When it began: the 22nd field of /proc/PID/stat. Another process with its number has another.
        process_start,
        /// When the runtime began, on the monotonic clock.
        began_ns,
        /// The same in Unix time.
        began_unix_ns,
        /// When the process ended, on the monotonic clock; 0: it has not.
        ended_ns,
        /// Where [`Module`]s begin, in bytes.
        modules_at,
        /// Room for so many.
        modules_room,
        /// There are so many.
        modules,
        /// Where [`SegmentRow`]s begin, in bytes.
        segments_at,
        /// Room for so many.
        segments_room,
        /// There are so many.
        segments,
        /// Segments that found no room.
        segments_left_out,
        /// Where [`ThreadRow`]s begin, in bytes.
        threads_at,
        /// Room for so many.
        threads_room,
        /// So many have been in use.
        threads,
        /// Where [`Cell`]s begin, in bytes.
        cells_at,
        /// The most threads of a team.
        team,
        /// Outermost regions so far.
        regions,
        /// Wall time outside of regions so far.
        serial_ns,
        /// When the outermost region now running began, on the monotonic clock; 0: none is.
        region_since_ns,
        /// Failures of threads.
        failures,
        /// Failures recovered from.
        recoveries,
        /// When the last one was, on the monotonic clock.
        last_failure_ns,
        /// Checkpoints.
        checkpoints,
        /// Bytes written by them.
        checkpoint_bytes,
        /// When the last one was, on the monotonic clock.
        last_checkpoint_ns,
        /// How long threads stood still for them.
        stopped_ns,
        /// Rollbacks.
        rollbacks,
        /// Restarts of the process before this one.
        restarts,
    }
}

/// A program or shared object: text, written before `modules` is raised.
#[repr(C, align(64))]
pub struct Module {
    /// Bytes of the path.
    pub path_length: AtomicU64,
    /// Bytes of the build id.
    pub build_id_length: AtomicU64,
    /// Load address: what addresses exceed offsets by.
    pub base: AtomicU64,
    /// 1: it has been unloaded.
    pub unloaded: AtomicU64,
    /// The build id, in memory order.
    pub build_id: [AtomicU64; BUILD_ID / 8],
    /// The path, in memory order.
    pub path: [AtomicU64; PATH / 8],
}

row! {
    /// A segment. Places are a module's index and an offset as in [`Site`](crate::Site); module `u64::MAX`:
    /// not known.
    SegmentRow / SegmentRead {
        /// Module of the call that begins it.
        begin_module,
        /// Offset of its return address.
        begin_offset,
        /// Module of the call that ends it.
        end_module,
        /// Offset of its return address.
        end_offset,
        /// [`Sync`](crate::words::Sync) that begins it.
        from,
        /// The one that ends it.
        to,
        /// [`Construct`](crate::words::Construct).
        construct,
        /// [`schedule_code`](crate::words::schedule_code); 0: none.
        schedule,
        /// Depth of its region, from 1.
        level,
        /// Threads of the largest team that visited it.
        threads,
        /// Visits of a whole team.
        visits,
        /// The slowest thread's busy time, summed over visits.
        tp_ns,
        /// The busy time of all threads, summed over visits and divided by the team's size each.
        mean_ns,
        /// What even the best-off thread waited, summed over visits.
        least_wait_ns,
        /// Wall time of its visits.
        wall_ns,
        /// Visits lived a second time after a rollback.
        visits_again,
        /// As `visits`, of teams with another primary thread than the one that wrote the above; what is read
        /// as [`SegmentRead`] has these added there.
        others_visits,
        /// Of `tp_ns`.
        others_tp_ns,
        /// Of `mean_ns`.
        others_mean_ns,
        /// Of `least_wait_ns`.
        others_least_wait_ns,
        /// Of `wall_ns`.
        others_wall_ns,
    }
}

row! {
    /// A thread.
    ThreadRow / ThreadRead {
        /// [`State`](crate::words::State).
        state,
        /// Number in its team.
        number,
        /// Depth of the team: 0: outside of regions.
        level,
        /// Its number in the system (gettid).
        tid,
        /// The segment that it is in, plus 1; 0: none.
        segment,
        /// When it entered that, on the monotonic clock.
        since_ns,
        /// How often it has failed.
        failures,
        /// The CPU that it was last seen on, plus 1.
        cpu,
    }
}

row! {
    /// What a thread measured in a segment: one cache line.
    Cell / CellRead {
        /// Visits.
        visits,
        /// In the program's code.
        busy_ns,
        /// Waiting for others.
        wait_ns,
        /// In the runtime: dispatch, tasks, locks, recovery.
        runtime_ns,
        /// The CPU was not ours.
        stolen_ns,
        /// Iterations.
        iterations,
        /// Chunks.
        chunks,
        /// The longest visit's busy time.
        longest_ns,
    }
}

impl CellRead {
    /// With what `more` has measured.
    pub fn add(&mut self, more: &Self) {
        self.visits += more.visits;
        self.busy_ns += more.busy_ns;
        self.wait_ns += more.wait_ns;
        self.runtime_ns += more.runtime_ns;
        self.stolen_ns += more.stolen_ns;
        self.iterations += more.iterations;
        self.chunks += more.chunks;
        self.longest_ns = self.longest_ns.max(more.longest_ns);
    }
}

/// Where the tables are and how long the file is, for room for so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// As [`Header::modules_at`].
    pub modules_at: usize,
    /// As [`Header::segments_at`].
    pub segments_at: usize,
    /// As [`Header::threads_at`].
    pub threads_at: usize,
    /// As [`Header::cells_at`].
    pub cells_at: usize,
    /// Bytes of the file.
    pub bytes: usize,
}

impl Tables {
    /// The tables one after the other.
    pub const fn new(modules: usize, segments: usize, threads: usize) -> Self {
        let modules_at = size_of::<Header>();
        let segments_at = modules_at + modules * size_of::<Module>();
        let threads_at = segments_at + segments * size_of::<SegmentRow>();
        let cells_at = threads_at + threads * size_of::<ThreadRow>();
        Self {
            modules_at,
            segments_at,
            threads_at,
            cells_at,
            bytes: cells_at + threads * segments * size_of::<Cell>(),
        }
    }
}

const _: () = {
    assert!(size_of::<Header>() == 256);
    assert!(size_of::<Module>() == 512);
    assert!(size_of::<SegmentRow>() == 192);
    assert!(size_of::<ThreadRow>() == 64);
    assert!(size_of::<Cell>() == 64);
};
