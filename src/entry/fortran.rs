//! The Fortran entries: arguments by reference, default integers (`_`) and 8-byte ones (`_8_`); default logicals are integers.

use super::omp::*;

macro_rules! query {
    ($($name:ident = $c:ident -> $t:ty;)*) => {$(
        #[doc = concat!("Fortran entry of `", stringify!($c), "`.")]
        pub(crate) extern "C" fn $name() -> $t { $c() }
        crate::export_names!($name);
    )*};
}

macro_rules! by_reference {
    ($($name:ident, $name8:ident = $c:ident $(-> $t:ty)?;)*) => {$(
        /// Fortran entry.
        ///
        /// # Safety
        /// The argument is readable.
        pub(crate) unsafe extern "C" fn $name(n: *const i32) $(-> $t)? {
            // SAFETY: by the caller's promise.
            $c(unsafe { *n })
        }
        /// Fortran entry for 8-byte integers.
        ///
        /// # Safety
        /// The argument is readable.
        pub(crate) unsafe extern "C" fn $name8(n: *const i64) $(-> $t)? {
            // SAFETY: by the caller's promise.
            $c(unsafe { *n }.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
        }
        crate::export_names!($name $name8);
    )*};
}

query! {
    omp_in_parallel_ = omp_in_parallel -> i32;
    omp_get_dynamic_ = omp_get_dynamic -> i32;
    omp_get_cancellation_ = omp_get_cancellation -> i32;
    omp_get_nested_ = omp_get_nested -> i32;
    omp_get_thread_limit_ = omp_get_thread_limit -> i32;
    omp_get_supported_active_levels_ = omp_get_supported_active_levels -> i32;
    omp_get_max_active_levels_ = omp_get_max_active_levels -> i32;
    omp_get_level_ = omp_get_level -> i32;
    omp_get_active_level_ = omp_get_active_level -> i32;
    omp_get_proc_bind_ = omp_get_proc_bind -> i32;
    omp_get_num_teams_ = omp_get_num_teams -> i32;
    omp_get_team_num_ = omp_get_team_num -> i32;
    omp_get_max_teams_ = omp_get_max_teams -> i32;
    omp_get_teams_thread_limit_ = omp_get_teams_thread_limit -> i32;
    omp_get_max_task_priority_ = omp_get_max_task_priority -> i32;
    omp_in_explicit_task_ = omp_in_explicit_task -> i32;
    omp_in_final_ = omp_in_final -> i32;
    omp_get_default_device_ = omp_get_default_device -> i32;
    omp_get_num_devices_ = omp_get_num_devices -> i32;
    omp_get_device_num_ = omp_get_device_num -> i32;
    omp_is_initial_device_ = omp_is_initial_device -> i32;
    omp_get_initial_device_ = omp_get_initial_device -> i32;
    omp_get_wtime_ = omp_get_wtime -> f64;
    omp_get_wtick_ = omp_get_wtick -> f64;
}

by_reference! {
    omp_set_dynamic_, omp_set_dynamic_8_ = omp_set_dynamic;
    omp_set_nested_, omp_set_nested_8_ = omp_set_nested;
    omp_set_max_active_levels_, omp_set_max_active_levels_8_ = omp_set_max_active_levels;
    omp_set_num_teams_, omp_set_num_teams_8_ = omp_set_num_teams;
    omp_set_teams_thread_limit_, omp_set_teams_thread_limit_8_ = omp_set_teams_thread_limit;
    omp_set_default_device_, omp_set_default_device_8_ = omp_set_default_device;
    omp_pause_resource_all_, omp_pause_resource_all_8_ = omp_pause_resource_all -> i32;
    omp_display_env_, omp_display_env_8_ = omp_display_env;
}

/// Fortran entry of `omp_pause_resource`.
///
/// # Safety
/// The arguments are readable.
pub(crate) unsafe extern "C" fn omp_pause_resource_(kind: *const i32, device: *const i32) -> i32 {
    // SAFETY: by the caller's promise.
    unsafe { omp_pause_resource(*kind, *device) }
}

/// Fortran entry of `omp_set_schedule`.
///
/// # Safety
/// The arguments are readable.
pub(crate) unsafe extern "C" fn omp_set_schedule_(kind: *const i32, chunk: *const i32) {
    // SAFETY: by the caller's promise.
    unsafe { omp_set_schedule(*kind as u32, *chunk) }
}

/// Fortran entry of `omp_set_schedule` for an 8-byte chunk.
///
/// # Safety
/// The arguments are readable.
pub(crate) unsafe extern "C" fn omp_set_schedule_8_(kind: *const i32, chunk: *const i64) {
    // SAFETY: by the caller's promise.
    unsafe { omp_set_schedule(*kind as u32, (*chunk).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32) }
}

/// Fortran entry of `omp_get_schedule`.
///
/// # Safety
/// The arguments are writable.
pub(crate) unsafe extern "C" fn omp_get_schedule_(kind: *mut u32, chunk: *mut i32) {
    // SAFETY: by the caller's promise.
    unsafe { omp_get_schedule(kind, chunk) }
}

/// Fortran entry of `omp_get_schedule` for an 8-byte chunk.
///
/// # Safety
/// The arguments are writable.
pub(crate) unsafe extern "C" fn omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) {
    let mut c = 0i32;
    // SAFETY: by the caller's promise.
    unsafe {
        omp_get_schedule(kind, &mut c);
        *chunk = i64::from(c);
    }
}

crate::export_names! {
    omp_pause_resource_
    omp_set_schedule_
    omp_set_schedule_8_
    omp_get_schedule_
    omp_get_schedule_8_
}
