//! Code in an image that this machine's CPUs cannot execute, though the run was bound to a level that they
//! have (`promp run --cpu`).
//!
//! What glibc chooses is bound by its tunables. Other code chooses by itself (`cpuid`: OpenBLAS,
//! libgfortran), or has been compiled for one CPU. Whether what it has not executed yet will be is not
//! known; so it must have no instruction that the machine lacks.

use iced_x86::{CpuidFeature, Decoder, DecoderOptions};
use object::elf::{DT_SONAME, FileHeader64, PF_X, PT_LOAD, SHF_EXECINSTR};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _};
use object::{Endianness, StringTable};
use promp_image::Description;
use promp_image::file_copies::{self, Moved};
use std::collections::BTreeSet;

/// Libraries of glibc's.
const GLIBC: [&str; 9] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libresolv.so.2",
    "libutil.so.1",
];

/// The name in /proc/cpuinfo.
fn name(f: CpuidFeature) -> Option<&'static str> {
    use CpuidFeature as C;
    Some(match f {
        C::SSE3 => "pni",
        C::SSSE3 => "ssse3",
        C::SSE4_1 => "sse4_1",
        C::SSE4_2 => "sse4_2",
        C::SSE4A => "sse4a",
        C::POPCNT => "popcnt",
        C::LZCNT => "abm",
        C::MOVBE => "movbe",
        C::AES => "aes",
        C::PCLMULQDQ => "pclmulqdq",
        C::SHA => "sha_ni",
        C::RDRAND => "rdrand",
        C::RDSEED => "rdseed",
        C::ADX => "adx",
        C::AVX => "avx",
        C::AVX2 => "avx2",
        C::FMA => "fma",
        C::FMA4 => "fma4",
        C::XOP => "xop",
        C::TBM => "tbm",
        C::F16C => "f16c",
        C::BMI1 => "bmi1",
        C::BMI2 => "bmi2",
        C::GFNI => "gfni",
        C::VAES => "vaes",
        C::VPCLMULQDQ => "vpclmulqdq",
        C::AVX512F => "avx512f",
        C::AVX512BW => "avx512bw",
        C::AVX512CD => "avx512cd",
        C::AVX512DQ => "avx512dq",
        C::AVX512VL => "avx512vl",
        C::AVX512_IFMA => "avx512ifma",
        C::AVX512_VBMI => "avx512vbmi",
        C::AVX512_VBMI2 => "avx512_vbmi2",
        C::AVX512_VNNI => "avx512_vnni",
        C::AVX512_BITALG => "avx512_bitalg",
        C::AVX512_VPOPCNTDQ => "avx512_vpopcntdq",
        C::AVX512_BF16 => "avx512_bf16",
        C::AVX512_FP16 => "avx512_fp16",
        C::AMX_TILE => "amx_tile",
        C::RTM => "rtm",
        C::RDPID => "rdpid",
        C::FSGSBASE => "fsgsbase",
        C::XSAVE => "xsave",
        C::XSAVEC => "xsavec",
        C::XSAVEOPT => "xsaveopt",
        _ => return None,
    })
}

/// The sections with code of an object, and whether it is one of glibc's. None: no such file.
fn code(data: &[u8]) -> Option<(bool, Vec<&[u8]>)> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let e = header.endian().ok()?;
    let sections = header.sections(e, data).ok()?;
    let dynamic = sections.dynamic(e, data).ok()?;
    let soname = dynamic.and_then(|(entries, strings)| {
        let strings: StringTable = sections.strings(e, data, strings).ok()?;
        entries.iter().find(|d| d.tag32(e) == Some(DT_SONAME.0 as i32))?.string(e, strings).ok()
    });
    let glibcs = soname.is_some_and(|s| GLIBC.iter().any(|g| g.as_bytes() == s));
    let has_code = |s: &&object::elf::SectionHeader64<Endianness>| s.sh_flags(e).0 & SHF_EXECINSTR.0 != 0;
    let mut all: Vec<&[u8]> =
        sections.iter().filter(has_code).map(|s| s.data(e, data)).collect::<Result<_, _>>().ok()?;
    if all.is_empty() {
        // Stripped of its table of sections.
        let segments = header.program_headers(e, data).ok()?.iter();
        let has_code = |p: &&object::elf::ProgramHeader64<Endianness>| {
            p.p_type(e) == PT_LOAD && p.p_flags(e).0 & PF_X.0 != 0
        };
        all = segments.filter(has_code).map(|p| p.data(e, data)).collect::<Result<_, _>>().ok()?;
    }
    Some((glibcs, all))
}

/// Those of `missing` that an instruction in `code` needs.
fn needed<'a>(code: &[u8], missing: &[&'a str]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for i in Decoder::new(64, code, DecoderOptions::NONE) {
        for f in i.cpuid_features().iter().filter_map(|f| name(*f)) {
            found.extend(missing.iter().find(|m| **m == f));
        }
    }
    found
}

/// Why the program may come to an instruction that needs one of `missing`.
pub fn refusal(about: &Description, moved: &[Moved], missing: &[&str]) -> Option<String> {
    let of_machine = format!("this machine's CPUs lack {}", missing.join(" "));
    let has_code = |m: &&promp_image::Map| m.prot & libc::PROT_EXEC != 0;
    if about.maps.iter().filter(has_code).any(|m| m.inode == 0) {
        return Some(format!(
            "{of_machine}, and the program has made code while it ran, which --cpu does not bind"
        ));
    }
    let files: BTreeSet<&str> = about.maps.iter().filter(has_code).map(|m| &*m.path).collect();
    for path in files {
        let now = file_copies::now(path, moved);
        let data = match std::fs::read(now) {
            Ok(data) => data,
            Err(e) => return Some(format!("{of_machine}, and {now} cannot be read: {e}")),
        };
        let Some((glibcs, sections)) = code(&data) else {
            return Some(format!("{of_machine}, and the code of {path} cannot be read"));
        };
        if glibcs {
            continue;
        }
        let needs: BTreeSet<&str> = sections.iter().flat_map(|s| needed(s, missing)).collect();
        if !needs.is_empty() {
            let needs: Vec<&str> = needs.into_iter().collect();
            return Some(format!(
                "{path} has code for {}, which this machine's CPUs lack, and may choose it by itself: --cpu \
                 binds glibc only",
                needs.join(" ")
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_and_what_they_need() {
        let zeroed = [0x62, 0xf1, 0xfd, 0x48, 0xef, 0xc0]; // vpxorq zmm0, zmm0, zmm0
        assert_eq!(needed(&zeroed, &["avx512f", "avx2"]), BTreeSet::from(["avx512f"]));
        let added = [0xc5, 0xfd, 0xfe, 0xc0]; // vpaddd ymm0, ymm0, ymm0
        assert_eq!(needed(&added, &["avx512f", "avx2"]), BTreeSet::from(["avx2"]));
        assert!(needed(&[0x90, 0xc3], &["avx512f", "avx2"]).is_empty());
    }

    #[test]
    fn code_of_this_program() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let (glibcs, code) = code(&file).unwrap();
        assert!(!glibcs && code.iter().map(|c| c.len()).sum::<usize>() > 1000);
        assert!(super::code(b"#!/bin/sh").is_none());
    }
}
