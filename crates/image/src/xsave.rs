//! The registers that a signal's frame holds, in the form of XSAVE (Intel SDM 1, chapter 13): where the CPU
//! puts each component. CPUs differ in that, and in how long it all is. The kernel restores legacy
//! registers only from a frame that is longer than its own, and takes any other for one of its own form. So
//! frames of another CPU are changed before threads go on.

use serde::{Deserialize, Serialize};

/// A component: its bit in XCR0, its place, its length.
pub type Component = (u32, u32, u32);

/// The form of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// What the system has switched on (XCR0).
    pub on: u64,
    /// The components above the legacy ones.
    pub components: Vec<Component>,
}

/// Bytes of the legacy part, and with the header.
const LEGACY: usize = 512;
const LEAST: usize = 576;
/// What the kernel writes in the unused part of the legacy part: two words that mark the frame, the length of
/// all, the components, the length without the mark at the end.
const SOFTWARE: usize = 464;
const MAGIC: u32 = 0x4650_5853;
const MAGIC_AT_END: u32 = 0x4650_5845;

/// The form of the CPU that this is executed on.
#[cfg(target_arch = "x86_64")]
pub fn here() -> Form {
    use core::arch::x86_64::{__cpuid_count, _xgetbv};
    const OSXSAVE: u32 = 1 << 27;
    if __cpuid_count(1, 0).ecx & OSXSAVE == 0 {
        return Form::default();
    }
    #[target_feature(enable = "xsave")]
    unsafe fn on() -> u64 {
        // SAFETY: the system has switched it on.
        unsafe { _xgetbv(0) }
    }
    // SAFETY: the CPU says that it has the instruction.
    let on = unsafe { on() };
    let component = |bit: u32| {
        let r = __cpuid_count(0xd, bit);
        (on >> bit & 1 != 0).then_some((bit, r.ebx, r.eax))
    };
    Form { on, components: (2..63).filter_map(component).collect() }
}

impl Form {
    fn place(&self, bit: u32) -> Option<(usize, usize)> {
        let c = self.components.iter().find(|c| c.0 == bit)?;
        Some((c.1 as usize, c.2 as usize))
    }

    /// Bytes for these components.
    fn length(&self, of: u64) -> usize {
        let ends = self.components.iter().filter(|c| of >> c.0 & 1 != 0).map(|c| (c.1 + c.2) as usize);
        ends.max().unwrap_or(0).max(LEAST)
    }
}

fn word(frame: &[u8], at: usize) -> u64 {
    frame.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().expect("8 bytes")))
}

fn half(frame: &[u8], at: usize) -> u32 {
    frame.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("4 bytes")))
}

/// The length of the frame that `memory` begins with, and of what marks its end, if there is one.
pub fn frame(memory: &[u8]) -> Option<usize> {
    let size = half(memory, SOFTWARE + 16) as usize;
    let marked = memory.len() >= LEAST && half(memory, SOFTWARE) == MAGIC && (LEAST..1 << 16).contains(&size);
    (marked && half(memory, size) == MAGIC_AT_END).then_some(size + 4)
}

/// Brings `frame` from form `from` to form `to`. The error names the component that cannot be.
pub fn convert(frame: &mut [u8], from: &Form, to: &Form) -> Result<(), String> {
    if from == to {
        return Ok(());
    }
    let size = half(frame, SOFTWARE + 16) as usize;
    let used = word(frame, LEGACY) & from.on;
    let lost = used & !to.on & !3;
    if lost != 0 {
        return Err(format!(
            "registers (component {}) that this machine's CPUs do not have",
            lost.trailing_zeros()
        ));
    }
    let old = frame[..size].to_vec();
    let length = to.length(used);
    if length > size {
        return Err("more room for registers than a signal's frame has".into());
    }
    frame[LEAST..size].fill(0);
    for &(bit, at, len) in to.components.iter().filter(|c| used >> c.0 & 1 != 0) {
        let (before, had) = from.place(bit).ok_or("registers of an unknown form")?;
        if had != len as usize || before + had > size {
            return Err(format!("registers (component {bit}) of another length"));
        }
        frame[at as usize..(at + len) as usize].copy_from_slice(&old[before..before + had]);
    }
    // The kernel sets what is not in it to its initial state.
    let features = used | 3;
    frame[SOFTWARE + 4..SOFTWARE + 8].copy_from_slice(&(length as u32 + 4).to_le_bytes());
    frame[SOFTWARE + 8..SOFTWARE + 16].copy_from_slice(&features.to_le_bytes());
    frame[SOFTWARE + 16..SOFTWARE + 20].copy_from_slice(&(length as u32).to_le_bytes());
    frame[length..length + 4].copy_from_slice(&MAGIC_AT_END.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Intel and AMD put them: AVX, three of AVX-512, keys of protection.
    fn intel() -> Form {
        let components = vec![(2, 576, 256), (5, 1088, 64), (6, 1152, 512), (7, 1664, 1024), (9, 2688, 8)];
        Form { on: 0x2e7, components }
    }

    fn amd() -> Form {
        let components = vec![(2, 576, 256), (5, 832, 64), (6, 896, 512), (7, 1408, 1024), (9, 2432, 8)];
        Form { on: 0x2e7, components }
    }

    fn small() -> Form {
        Form { on: 7, components: vec![(2, 576, 256)] }
    }

    /// A frame of `form` in which each used component has its number in all bytes.
    fn made(form: &Form, used: u64) -> Vec<u8> {
        let size = form.length(form.on);
        let mut f = vec![0u8; size + 4];
        f[SOFTWARE..SOFTWARE + 4].copy_from_slice(&MAGIC.to_le_bytes());
        f[SOFTWARE + 4..SOFTWARE + 8].copy_from_slice(&(size as u32 + 4).to_le_bytes());
        f[SOFTWARE + 8..SOFTWARE + 16].copy_from_slice(&form.on.to_le_bytes());
        f[SOFTWARE + 16..SOFTWARE + 20].copy_from_slice(&(size as u32).to_le_bytes());
        f[LEGACY..LEGACY + 8].copy_from_slice(&used.to_le_bytes());
        f[..64].fill(0x11);
        for &(bit, at, len) in form.components.iter().filter(|c| used >> c.0 & 1 != 0) {
            f[at as usize..(at + len) as usize].fill(bit as u8);
        }
        f[size..].copy_from_slice(&MAGIC_AT_END.to_le_bytes());
        f
    }

    #[test]
    fn components_go_where_the_cpu_looks_for_them() {
        for (from, to, used) in [
            (intel(), amd(), 0x2e7),
            (intel(), small(), 7),
            (amd(), small(), 3),
            (amd(), intel(), 7),
            (small(), intel(), 7),
        ] {
            let mut f = made(&from, used);
            assert_eq!(frame(&f), Some(f.len()));
            convert(&mut f, &from, &to).unwrap();
            let size = to.length(used);
            assert_eq!(frame(&f), Some(size + 4), "{to:?}");
            assert_eq!((word(&f, SOFTWARE + 8), word(&f, LEGACY)), (used | 3, used));
            assert!(f[..64].iter().all(|b| *b == 0x11));
            for &(bit, at, len) in to.components.iter().filter(|c| used >> c.0 & 1 != 0) {
                assert!(f[at as usize..(at + len) as usize].iter().all(|b| u32::from(*b) == bit), "{bit}");
            }
        }
    }

    #[test]
    fn what_cannot_be() {
        let mut f = made(&intel(), 0xe7);
        assert!(convert(&mut f, &intel(), &small()).unwrap_err().contains("component 5"));
        // The same components, further behind than the frame goes.
        let mut f = made(&amd(), 0xe7);
        assert!(convert(&mut f, &amd(), &intel()).unwrap_err().contains("more room"));
    }

    #[test]
    fn what_is_no_frame() {
        let good = made(&amd(), 7);
        for i in [SOFTWARE, SOFTWARE + 17, good.len() - 1] {
            let mut bad = good.clone();
            bad[i] ^= 0x40;
            assert_eq!(frame(&bad), None, "{i}");
        }
        assert_eq!(frame(&good[..100]), None);
    }

    #[test]
    fn this_machine() {
        let here = here();
        assert!(here.on == 0 || here.on & 3 == 3);
        assert!(here.components.iter().all(|c| c.1 as usize >= LEAST && c.2 > 0));
    }
}
