//! What happens: the one table of events. A row is an event: its name, what it carries, what it means.
//! Masks, names and counts follow from it; docs/internals/contributing.md has what else a new event needs.
//!
//! Where OpenMP's tools interface (OpenMP 5.1, chapter 4) has a callback for the same thing, the row keeps to
//! its order and meaning. What compilers put into the program itself is not seen: static loops of unmodified
//! programs, `masked`, atomics, flushes, reductions. (GCC 17 can make it call where some of them are.)

use super::{OfTask, OfTeam};

/// What an event can be sorted by: a few values with names.
pub trait Sort: Copy {
    /// Their names, by number.
    const NAMES: &[&str];
    /// This one's number.
    fn number(self) -> u8;
}

macro_rules! sorts {
    ($($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $value:ident,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$each])* $value),* }

        impl Sort for $name {
            const NAMES: &[&str] = &[$(stringify!($value)),*];
            fn number(self) -> u8 {
                self as u8
            }
        }
    )* };
}

sorts! {
    /// Kinds of synchronisation of a team or among tasks.
    Sync {
        /// A barrier by itself; also what compilers put behind constructs that they hand out themselves.
        Barrier,
        /// The barrier at the end of a worksharing construct that the runtime hands out.
        Work,
        /// The barrier in which copyprivate's data are fetched.
        Copy,
        /// The end of a parallel region.
        Join,
        /// `taskwait`, with or without dependences.
        Taskwait,
        /// `taskgroup`, which begins where it is encountered and waits at its end.
        Taskgroup,
    }

    /// Kinds of worksharing.
    Work {
        /// A loop.
        Loop,
        /// Sections.
        Sections,
        /// A scope.
        Scope,
        /// A taskloop; its chunks are tasks.
        Taskloop,
    }

    /// Kinds of mutual exclusion.
    Mutex {
        /// A simple lock.
        Lock,
        /// A nestable lock.
        Nest,
        /// A critical section.
        Critical,
        /// An atomic construct that needs a lock.
        Atomic,
        /// An ordered region.
        Ordered,
        /// The merge of several reductions at once, where the compiler calls for it.
        Reduction,
    }

    /// How a task depends on an address. From `Out` on one task at a time has it.
    Depend {
        /// in
        In,
        /// inoutset
        Set,
        /// out, inout
        Out,
        /// mutexinoutset, which is taken as inout
        Mutex,
    }

    /// Device constructs.
    Target {
        /// target
        Region,
        /// enter data, and the beginning of a data region.
        Enter,
        /// exit data, and the end of a data region.
        Exit,
        /// update
        Update,
    }

    /// What is done with a device's memory.
    DataOp {
        /// It is allocated.
        Alloc,
        /// It is given back.
        Free,
        /// Data go there, from the host or another device.
        In,
        /// Data come to the host.
        Out,
    }

    /// What cancellation cancels.
    Cancelled {
        /// A parallel region.
        Parallel,
        /// A loop.
        Loop,
        /// Sections.
        Sections,
        /// A taskgroup.
        Taskgroup,
    }
}

/// What a thread in the middle of its work waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// A lock.
    Lock {
        /// What kind of lock.
        mutex: Mutex,
        /// Which one.
        at: usize,
    },
    /// In `taskwait`, or for dependences: tasks below its own, none of which it can execute itself.
    Taskwait,
    /// At the end of a taskgroup, likewise.
    Taskgroup,
}

impl Sort for Pause {
    const NAMES: &[&str] = &["Lock", "Taskwait", "Taskgroup"];
    fn number(self) -> u8 {
        match self {
            Pause::Lock { .. } => 0,
            Pause::Taskwait => 1,
            Pause::Taskgroup => 2,
        }
    }
}

impl Sort for bool {
    const NAMES: &[&str] = &["no", "yes"];
    fn number(self) -> u8 {
        self.into()
    }
}

/// A worksharing construct, as far as it is the same for all members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Construct {
    /// Schedule of a loop: the numbers of `omp_sched_t`.
    pub schedule: u8,
    /// Iterations, sections, or tasks of a taskloop.
    pub total: u64,
    /// The chunk size asked for; 0: none.
    pub chunk: u64,
}

/// What is moved between devices: addresses, with the device that they are of, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Where to.
    pub to: (usize, i32),
    /// Where from.
    pub from: (usize, i32),
    /// Bytes; 0: all that is there.
    pub bytes: usize,
}

/// A variable that a device construct maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Its address on the host.
    pub host: usize,
    /// ... and on the device.
    pub device: usize,
    /// Bytes.
    pub bytes: usize,
    /// How: of [`Mapping::TO`] and the others.
    pub how: u32,
}

/// The values of OMPT's `ompt_target_map_flag_t`.
impl Mapping {
    /// Its value goes to the device.
    pub const TO: u32 = 1;
    /// Its value comes back.
    pub const FROM: u32 = 2;
    /// Neither.
    pub const ALLOC: u32 = 4;
    /// It has one user less.
    pub const RELEASE: u32 = 8;
    /// Nobody uses it any more.
    pub const DELETE: u32 = 0x10;
    /// No clause says so.
    pub const IMPLICIT: u32 = 0x20;
}

/// A dependence: the address, and how.
pub type Dep = (usize, Depend);

/// How a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskForm {
    /// Its function; 0: it has none (`taskwait depend nowait`).
    pub function: usize,
    /// Executed by its creator before it goes on.
    pub undeferred: bool,
    /// Final, and so all below it.
    pub last: bool,
    /// One of a taskloop's.
    pub(crate) taskloop: bool,
    /// Number of dependences.
    pub dependences: u32,
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident: $t:ty),* })? $(by $sub:ident: $sort:ty)?;)*) => {
        /// An event, as listeners get it. See the module's text; the rows tell what each means.
        #[derive(Clone, Copy)]
        #[allow(missing_docs)] // the rows say what their fields are
        #[allow(dead_code)] // fields are said whether anybody asks for them today or not
        pub enum Event<'a> { $($(#[$doc])* $name $({ $($field: $t),* })?),* }

        /// The events by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[allow(missing_docs)] // as above
        pub enum Row { $($name),* }

        impl Row {
            /// All of them, in the table's order.
            pub const ALL: &[Row] = &[$(Row::$name),*];

            /// The names of its sorts.
            pub fn sorts(self) -> &'static [&'static str] {
                match self {
                    $($(Row::$name => <$sort as Sort>::NAMES,)?)*
                    _ => &[],
                }
            }

            /// Its name in the table.
            pub fn name(self) -> &'static str {
                match self { $(Row::$name => stringify!($name)),* }
            }
        }

        impl Event<'_> {
            /// Which row of the table it is.
            #[inline(always)]
            pub const fn row(&self) -> Row {
                match self { $(Event::$name { .. } => Row::$name),* }
            }

            /// The number of its sort within the row, if the row has sorts.
            pub fn sort(&self) -> Option<u8> {
                match *self {
                    $($(Event::$name { $sub, .. } => Some(<$sort as Sort>::number($sub)),)?)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    // The first rows are those on the shortest ways: their bits are in the mask's first byte.

    /// A member was handed a chunk: iterations [lo, hi) of the construct, counted from 0.
    Chunk { work: Work, lo: u64, hi: u64 } by work: Work;
    /// A thread begins a synchronisation of its team, and arrives: what it does from here on is to wait, or
    /// to execute tasks meanwhile.
    SyncArrive { sync: Sync } by sync: Sync;
    /// It goes on.
    SyncLeave { sync: Sync } by sync: Sync;
    /// The implicit task of a member begins.
    ImplicitBegin { team: &'static OfTeam };
    /// It ends: for workers, behind the region's last synchronisation, when the team may already be in its
    /// next region.
    ImplicitEnd { team: &'static OfTeam };
    /// A region begins; its members do not yet. Told by the thread that encounters it. `asked`: the
    /// num_threads clause, 0 without.
    ParallelBegin { team: &'static OfTeam, size: u32, level: u32, asked: u32, function: usize };
    /// The region has ended, the thread that encountered it goes on with its task.
    ParallelEnd { team: &'static OfTeam };

    /// A thread begins to be known to the runtime. `worker`: made by it.
    ThreadBegin { worker: bool } by worker: bool;
    /// It ends.
    ThreadEnd;
    /// A member begins a worksharing construct.
    WorkBegin { work: Work, construct: Construct } by work: Work;
    /// It has done its part. (Not told at the end of taskloops' tasks: those are tasks.)
    WorkEnd { work: Work } by work: Work;
    /// A member comes to a `single`.
    Single { executes: bool } by executes: bool;
    /// The end of a `single` for who executes it, where the compiled code says it (GCC 17, -fopenmp-ompt).
    SingleEnd;
    /// A `masked` region begins in a thread that executes it, where the compiled code says it (likewise).
    MaskedBegin;
    /// It ends.
    MaskedEnd;

    /// A league of `teams` teams begins on the host: the thread that encounters it executes one after the
    /// other.
    LeagueBegin { teams: u32, function: usize };
    /// The initial task of one of them begins.
    InitialBegin { number: u32, teams: u32 };
    /// It ends.
    InitialEnd { number: u32 };
    /// The league has ended.
    LeagueEnd;

    /// A lock is made.
    LockInit { mutex: Mutex, at: usize } by mutex: Mutex;
    /// A lock's end.
    LockDestroy { mutex: Mutex, at: usize } by mutex: Mutex;
    /// A thread wants a lock. `test`: it does not wait for it.
    LockWait { mutex: Mutex, at: usize, test: bool } by mutex: Mutex;
    /// It has it.
    LockGot { mutex: Mutex, at: usize } by mutex: Mutex;
    /// It has given it back.
    LockGive { mutex: Mutex, at: usize } by mutex: Mutex;
    /// The owner of a nestable lock takes it once more, by a test or not (or gives it back once less).
    LockNest { at: usize, more: bool, test: bool } by more: bool;

    /// An explicit task is created.
    TaskCreate { task: &'static OfTask, form: TaskForm };
    /// The dependences of a task that was created just now.
    TaskDepends { task: &'static OfTask, on: &'a [Dep] };
    /// `task` waits for `before`, which is not done. The lock of their dependences is held.
    TaskWaits { task: &'static OfTask, before: &'static OfTask };
    /// A thread begins to execute `task`, and leaves `outer` for it.
    TaskBegin { task: &'static OfTask, outer: &'static OfTask };
    /// The task's body has ended, the thread goes back to `outer`. `detached`: the task itself goes on until
    /// its event.
    TaskEnd { task: &'static OfTask, outer: &'static OfTask, detached: bool };
    /// A task was never executed: cancelled, or empty, as for a `taskwait` with dependences, which is over.
    TaskSkipped { task: &'static OfTask };
    /// The event of a detached task was fulfilled. `ended`: its body had ended before.
    TaskFulfil { task: &'static OfTask, ended: bool };

    /// A thread begins a synchronisation with tasks: a taskgroup at its beginning, taskwait where it arrives.
    TaskSyncBegin { sync: Sync } by sync: Sync;
    /// It arrives.
    TaskSyncArrive { sync: Sync } by sync: Sync;
    /// It goes on.
    TaskSyncLeave { sync: Sync } by sync: Sync;
    /// A thread that waits begins to execute a task meanwhile.
    HelpBegin;
    /// It is through with it.
    HelpEnd;
    /// A thread in the middle of its work has to wait: told only where it does, so light ways stay open.
    PauseBegin { pause: Pause } by pause: Pause;
    /// It goes on.
    PauseEnd { pause: Pause } by pause: Pause;

    /// A thread cancels something.
    Cancel { what: Cancelled } by what: Cancelled;
    /// A thread finds that it is cancelled, at a cancellation point.
    CancelFound { what: Cancelled } by what: Cancelled;
    /// A thread comes to an `error` directive.
    Error { fatal: bool, message: &'a [u8] } by fatal: bool;

    /// A device is ready to be used.
    DeviceBegin { number: i32, name: &'static str };
    /// It is no more.
    DeviceEnd { number: i32 };
    /// An image of a program or library, by its address on the host, is loaded to a device.
    ImageBegin { number: i32, image: usize };
    /// It is taken from there.
    ImageEnd { number: i32, image: usize };
    /// A device construct begins, for a device by its number (-1: the host).
    TargetBegin { target: Target, device: i32 } by target: Target;
    /// It ends.
    TargetEnd { target: Target, device: i32 } by target: Target;
    /// What a device construct maps, or lets go of, before data are moved back.
    TargetMap { mapped: &'a [Mapping] };
    /// An operation on a device's memory begins (its address may not be known yet), or ends.
    TargetData { end: bool, op: DataOp, moved: Moved } by op: DataOp;
    /// A kernel begins on a device, or has ended.
    TargetSubmit { end: bool, teams: u32 } by end: bool;

    /// A thread's host has failed: number of the record (recover/failure_records.rs). Told in a signal
    /// handler, of a thread that is in the program's code: listeners take no lock and call nothing of the
    /// program's. Of nobody.
    Failure { record: u32 };
    /// Everything that this failure had destroyed is there again. Likewise.
    Recovery { record: u32 };
}

/// A set of events.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Set(pub(super) u64);

const _: () = assert!(Row::ALL.len() <= u64::BITS as usize);

impl Set {
    /// None.
    pub const NONE: Set = Set(0);
    /// Everything that has to do with regions' beginnings.
    pub const BEGIN: Set = Set::of(&[Row::ParallelBegin, Row::ImplicitBegin, Row::WorkBegin]);
    /// And with their ends.
    pub const END: Set = Set::of(&[Row::SyncArrive, Row::SyncLeave, Row::ImplicitEnd, Row::ParallelEnd]);
    /// Synchronisation.
    pub(crate) const SYNC: Set = Set::of(&[Row::SyncArrive, Row::SyncLeave]);
    /// Locks.
    pub const LOCKS: Set = Set::of(&[
        Row::LockInit,
        Row::LockDestroy,
        Row::LockWait,
        Row::LockGot,
        Row::LockGive,
        Row::LockNest,
    ]);
    /// Tasks, from their creation on.
    pub const TASKS: Set = Set::of(&[
        Row::TaskCreate,
        Row::TaskDepends,
        Row::TaskWaits,
        Row::TaskBegin,
        Row::TaskEnd,
        Row::TaskSkipped,
        Row::TaskFulfil,
    ]);
    /// That tasks are created.
    pub(crate) const CREATION: Set = Set::of(&[Row::TaskCreate]);
    /// Waiting for locks, where somebody else has them.
    pub(crate) const PAUSES: Set = Set::of(&[Row::PauseBegin, Row::PauseEnd]);
    /// Devices.
    pub const TARGETS: Set = Set::of(&[
        Row::DeviceBegin,
        Row::DeviceEnd,
        Row::ImageBegin,
        Row::ImageEnd,
        Row::TargetBegin,
        Row::TargetEnd,
        Row::TargetMap,
        Row::TargetData,
        Row::TargetSubmit,
    ]);
    /// Waiting in tasks.
    pub(crate) const TASK_SYNC: Set = Set::of(&[Row::TaskSyncBegin, Row::TaskSyncArrive, Row::TaskSyncLeave]);
    /// What happens in calls that have a light way (entry/light.rs): wanted, they all take the usual one.
    pub(crate) const LIGHT: Set =
        Set(Set::LOCKS.0 | Set::TASKS.0 | Set::TASK_SYNC.0 | Set::of(&[Row::Single]).0);
    /// All.
    pub const ALL: Set = Set(u64::MAX >> (u64::BITS as usize - Row::ALL.len()));

    /// The given ones.
    pub const fn of(rows: &[Row]) -> Set {
        let (mut bits, mut i) = (0, 0);
        while i < rows.len() {
            bits |= 1 << rows[i] as u8;
            i += 1;
        }
        Set(bits)
    }

    /// One.
    #[inline(always)]
    pub(crate) const fn one(row: Row) -> Set {
        Set(1 << row as u8)
    }

    /// This one's events and the other's.
    pub const fn and(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// This one's events but for the other's.
    pub const fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    /// As a mask, as it is in [`WANTED`](super::WANTED).
    pub const fn bits(self) -> u64 {
        self.0
    }
}
