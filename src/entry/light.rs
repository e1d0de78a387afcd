//! Light ways through calls that are often made and mostly have little to do, without a frame: those of
//! tasks, of locks, of regions that are serial code, and of what a member asks of its team. Where
//! [`Thread::light`](crate::team::thread::Thread::light) does not allow them, and for all that is
//! more than that, the calls go on to the usual stubs.
//!
//! A stop finds a thread in one of these as if it were in application code: nothing here leaves the runtime's
//! state half changed but for the count of held locks, which matters only where calls are save points, and
//! there these ways are closed.

mod dealt_loops;
mod free_locks;
mod immediate_tasks;
mod member_queries;
mod serial_region;

/// A light way into `$usual`: the lines, with the thread in rcx or the register that is named, which end in
/// `ret` or go on behind them, where the usual way begins. Calls are counted here unless the lines do it.
macro_rules! light {
    ($(#[$doc:meta])* $name:ident => $usual:path, [$($line:literal),*] $(, $($operand:tt)*)?) => {
        light! { $(#[$doc])* $name => $usual, thread in "rcx", [$($line),*] $(, $($operand)*)? }
    };
    (
        $(#[$doc:meta])* $name:ident => $usual:path, thread in $r:literal,
        [$($line:literal),*] $(, $($operand:tt)*)?
    ) => {
        light! {
            $(#[$doc])* $name => $usual, thread in $r, counted by
            [concat!("add dword ptr [", $r, " + {progress}], 1") $(, $line)*],
            progress = const $crate::sys::asm::PROGRESS, $($($operand)*)?
        }
    };
    (
        $(#[$doc:meta])* $name:ident => $usual:path, thread in $r:literal, counted by
        [$($line:expr),*], $($operand:tt)*
    ) => {
        light! {
            @ $(#[$doc])* $name => $usual, thread in $r, where $crate::task::lightness::PLAIN,
            [$($line),*], $($operand)*
        }
    };
    // Where one of these bits says that calls are light.
    (
        @ $(#[$doc:meta])* $name:ident => $usual:path, thread in $r:literal, where $bits:expr,
        [$($line:expr),*], $($operand:tt)*
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// For compiled OpenMP code: the arguments are what the ABI says.
        #[unsafe(naked)]
        #[unsafe(link_section = "promp_stubs")]
        #[allow(non_snake_case)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                // One line of the cache for most of these.
                ".p2align 6",
                $crate::exported_label!($name),
                ".cfi_startproc",
                concat!("mov ", $r, ", qword ptr [rip + promp_self@GOTTPOFF]"),
                concat!("mov ", $r, ", qword ptr fs:[", $r, "]"),
                concat!("test byte ptr [", $r, " + {light}], {bits}"),
                "jz 2f",
                $($line,)*
                "2:",
                "jmp {usual}",
                ".cfi_endproc",
                light = const $crate::sys::asm::LIGHT,
                bits = const $bits,
                usual = sym $usual,
                $($operand)*
            )
        }
        $crate::keep!($name);
    };
}
pub(super) use free_locks::{omp_set_lock, omp_unset_lock};
pub(super) use light;
pub(super) use serial_region::promp_parallel_plainly;
