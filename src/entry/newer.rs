//! Routines of OpenMP 6.0 and 6.1: spatial dimensions, of which the host has one; identifiers of devices, and
//! how far they are; tools.

use super::interop::fortran_string;
use super::omp::{export, omp_get_num_teams, omp_get_team_num, omp_get_thread_limit};
use super::target;
use crate::device::routines::{self, Side};
use crate::icv::{INITIAL_DEVICE, INVALID_DEVICE};
use crate::save::{self, SaveKind};
use crate::stub;
use crate::team::hold::guarded;
use crate::team::thread::current;
use crate::tools::ompt;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};

/// The host's identifier, the same as libgomp's.
const HOST: &CStr = c"OMP_INITIAL_DEVICE";

/// Where a device's number leads.
fn side(device: i32) -> Option<Side> {
    guarded(|| routines::side(device))
}

/// What GCC's runtime says where the system does not tell a device's distance.
const UNKNOWN_DISTANCE: i32 = 10;

/// Along the first dimension `f`, along all others `otherwise`: they are inactive.
fn along(dim: i32, f: impl FnOnce() -> i32, otherwise: i32) -> i32 {
    if dim == 0 { f() } else { otherwise }
}

export! {
    /// Threads of the team along a dimension.
    fn omp_get_num_threads_dim(dim: i32) -> i32 { along(dim, || current().team().size() as i32, 1) }
    /// The thread's number along a dimension.
    fn omp_get_thread_num_dim(dim: i32) -> i32 { along(dim, || current().num() as i32, 0) }
    /// Teams of the league along a dimension.
    fn omp_get_num_teams_dim(dim: i32) -> i32 { along(dim, || omp_get_num_teams(), 1) }
    /// The team's number along a dimension.
    fn omp_get_team_num_dim(dim: i32) -> i32 { along(dim, || omp_get_team_num(), 0) }
    /// The most threads along a dimension.
    fn omp_get_thread_limit_dim(dim: i32) -> i32 { along(dim, || omp_get_thread_limit(), 1) }
    /// Dimensions of teams that a device has.
    fn omp_get_supported_active_team_dims(_device: i32, _native: i32) -> i32 { 1 }
    /// Dimensions of leagues that a device has.
    fn omp_get_supported_active_league_dims(_device: i32, _native: i32) -> i32 { 1 }
    /// Fortran.
    fn omp_get_supported_active_team_dims_(_device: *const i32, _native: *const i32) -> i32 { 1 }
    /// Fortran.
    fn omp_get_supported_active_league_dims_(_device: *const i32, _native: *const i32) -> i32 { 1 }
    /// An upper bound for teams along a dimension.
    fn omp_get_supported_teams_dim(_device: i32, dim: i32) -> i32 { along(dim, || i32::MAX, 1) }
    /// An upper bound for threads along a dimension.
    fn omp_get_supported_threads_dim(_device: i32, dim: i32) -> i32 { along(dim, || i32::MAX, 1) }

    /// How far devices are from here: the host not at all.
    fn omp_get_device_distances(n: i32, devices: *const i32, distances: *mut i32) {
        for i in 0..n.max(0) as usize {
            // SAFETY: the program's arrays of `n` numbers.
            unsafe {
                *distances.add(i) = match side(*devices.add(i)) {
                    Some(Side::Host) => 0,
                    Some(Side::Device(_)) => UNKNOWN_DISTANCE,
                    None => -1,
                }
            }
        }
    }
    /// A device's identifier.
    fn omp_get_uid_from_device(device: i32) -> *const c_char {
        if matches!(side(device), Some(Side::Host)) { HOST.as_ptr() } else { null() }
    }
    /// The device with an identifier.
    fn omp_get_device_from_uid(uid: *const c_char) -> i32 {
        // SAFETY: the program's string.
        let host = !uid.is_null() && unsafe { CStr::from_ptr(uid) } == HOST;
        if host { INITIAL_DEVICE } else { INVALID_DEVICE }
    }
    /// Fortran: a string with its length behind it.
    fn omp_get_device_from_uid_(uid: *const u8, len: usize) -> i32 {
        // SAFETY: the program's string.
        let uid = unsafe { core::slice::from_raw_parts(uid, len) };
        if uid == HOST.to_bytes() { INITIAL_DEVICE } else { INVALID_DEVICE }
    }
    /// Fortran.
    fn omp_get_uid_from_device_(at: *mut *const c_char, len: *mut usize, device: i32) {
        // SAFETY: the compiler's variables.
        unsafe { fortran_string(omp_get_uid_from_device(device), at, len) }
    }
    /// Fortran, 8-byte integers.
    fn omp_get_uid_from_device_8_(at: *mut *const c_char, len: *mut usize, device: i64) {
        omp_get_uid_from_device_(at, len, i32::try_from(device).unwrap_or(INVALID_DEVICE));
    }

    /// Fills a device's memory.
    fn omp_target_memset(p: *mut u8, value: i32, count: usize, device: i32) -> *mut u8 {
        match side(device) {
            // SAFETY: the program's memory.
            Some(Side::Host) => unsafe { p.write_bytes(value as u8, count) },
            Some(there) => guarded(|| {
                let bytes = vec![value as u8; count];
                routines::copy(there, Side::Host, &[(p as usize, bytes.as_ptr() as usize)], count);
            }),
            None => {}
        }
        p
    }
    /// The same, at once, after its dependences.
    fn omp_target_memset_async(
        p: *mut u8,
        value: i32,
        count: usize,
        device: i32,
        n: i32,
        objects: *const [usize; 2]
    ) -> *mut u8 {
        // SAFETY: the program's list of `n` objects.
        unsafe { target::wait_objects(n, objects) };
        omp_target_memset(p, value, count, device)
    }
    /// The function that a pointer of the host's is on the device that executes: here, the same.
    fn GOMP_target_map_indirect_ptr(p: *mut u8) -> *mut u8 { p }

}

/// The program speaks to the tool that looks on: its answer.
extern "C" fn control_tool(command: i32, modifier: i32, argument: *mut c_void) -> i32 {
    let answer = ompt::control(command as u64, modifier as u64, argument);
    save::point(current(), SaveKind::After(answer as usize));
    answer
}

/// Fortran.
extern "C" fn control_tool_f(command: *const i32, modifier: *const i32) -> i32 {
    // SAFETY: the program's variables.
    unsafe { control_tool(*command, *modifier, null_mut()) }
}

/// Fortran, 8-byte integers.
extern "C" fn control_tool_8f(command: *const i32, modifier: *const i64) -> i32 {
    // SAFETY: the program's variables.
    unsafe { control_tool(*command, *modifier as i32, null_mut()) }
}

stub! {
    omp_control_tool => control_tool;
    omp_control_tool_ => control_tool_f;
    omp_control_tool_8_ => control_tool_8f;
}
