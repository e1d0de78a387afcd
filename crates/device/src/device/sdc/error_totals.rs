//! What the report says of silent errors: added up over all watched devices.

use super::Guarded;
use crate::icv::devices::Mode;
use crate::sys::lock::Locked;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use promp_report::Sdc;

/// Counts and times of one device.
#[derive(Clone, Default, Debug)]
pub(crate) struct Totals {
    /// Sections verified.
    pub sections: u64,
    /// Kernels in them.
    pub kernels: u64,
    /// Launches that were not verified.
    pub unverified: u64,
    /// ... because a library can write to the device behind our back.
    pub handed: bool,
    /// Sections whose executions differed.
    pub found: u64,
    /// ... and gave one result in the end.
    pub repaired: u64,
    /// Most bytes of device data in a section.
    pub bytes: u64,
    /// Most bytes of their copies.
    pub kept: u64,
    /// Were results compared by signatures, in the last section?
    pub signed: bool,
    /// First executions.
    pub run_ns: u64,
    /// Copies when sections open.
    pub copy_ns: u64,
    /// Repeated executions.
    pub again_ns: u64,
    /// Setting aside, putting back, comparing.
    pub check_ns: u64,
    /// What the time model said of all of this.
    pub predicted_s: f64,
    /// Kernels a section, as chosen last.
    pub wanted: u64,
}

/// Watched devices; they live as long as the process.
static WATCHED: Locked<Vec<usize>> = Locked::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);

/// `device`, which is never dropped, is open.
pub(crate) fn watch(device: &Guarded) {
    WATCHED.with(|v| v.push(core::ptr::from_ref(device) as usize));
    ANY.store(true, Relaxed);
}

fn watched() -> Vec<&'static Guarded> {
    // SAFETY: devices are leaked (device/mod.rs).
    WATCHED.with(|v| v.iter().map(|&p| unsafe { &*(p as *const Guarded) }).collect())
}

/// The directives and calls that mark sections by hand: `begin`, or the end.
pub fn mark(begin: bool) {
    if ANY.load(Relaxed) {
        watched().into_iter().for_each(|d| d.mark_section(begin));
    }
}

/// For the report; `None` where no device is watched.
pub fn collect() -> Option<Sdc> {
    if !ANY.load(Relaxed) {
        return None;
    }
    let mut r = Sdc { mode: "lazy".into(), ..Sdc::default() };
    for d in watched() {
        // A section that is open at the end is verified, too; not where the program ends inside of a
        // kernel.
        let Some((t, injected)) = d.totals() else {
            r.unverified.push("the kernel in which the program ended".into());
            r.unverified_launches += 1;
            continue;
        };
        if d.mode == Mode::Eager {
            r.mode = "eager".into();
        }
        r.sections += t.sections;
        r.kernels += t.kernels;
        r.kernels_a_section = t.wanted;
        r.bytes += t.bytes;
        r.bytes_kept += t.kept;
        r.signatures |= t.signed;
        r.found += t.found;
        r.repaired += t.repaired;
        r.injected += injected;
        r.unverified.extend(d.verdicts.unverified());
        r.unverified.extend(t.handed.then(|| {
            "all kernels: a library that writes to the device by itself is loaded (cuBLAS or the like)".into()
        }));
        r.unverified_launches += t.unverified;
        r.run_s += t.run_ns as f64 * 1e-9;
        r.copy_s += t.copy_ns as f64 * 1e-9;
        r.again_s += t.again_ns as f64 * 1e-9;
        r.compare_s += t.check_ns as f64 * 1e-9;
        r.predicted_s += t.predicted_s;
    }
    r.unverified.sort();
    r.unverified.dedup();
    Some(r)
}
