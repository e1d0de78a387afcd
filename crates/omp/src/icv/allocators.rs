//! OMP_ALLOCATOR: a predefined allocator, or a memory space with traits (OpenMP 5.1, section 6.22).

use super::parse;

/// The handle that def-allocator-var has where the variable describes an allocator of its own. No address,
/// and none of the predefined ones.
pub const FROM_ENVIRONMENT: usize = 4095;

/// An allocator as the variable describes it: the space, and keys and values of traits, by the ABI's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The memory space.
    pub space: usize,
    /// Its traits.
    pub traits: Vec<(i32, usize)>,
}

/// What the variable may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// A predefined one, by its handle.
    Predefined(usize),
    /// Another one.
    Described(Described),
}

/// Names and their numbers.
type Names = &'static [(&'static str, usize)];

const ALLOCATORS: [(&str, usize); 10] = [
    ("omp_default_mem_alloc", 1),
    ("omp_large_cap_mem_alloc", 2),
    ("omp_const_mem_alloc", 3),
    ("omp_high_bw_mem_alloc", 4),
    ("omp_low_lat_mem_alloc", 5),
    ("omp_cgroup_mem_alloc", 6),
    ("omp_pteam_mem_alloc", 7),
    ("omp_thread_mem_alloc", 8),
    ("ompx_gnu_pinned_mem_alloc", 200),
    ("ompx_gnu_managed_mem_alloc", 201),
];
const MANAGED: usize = 201;
const SPACES: [(&str, usize); 6] = [
    ("omp_default_mem_space", 0),
    ("omp_large_cap_mem_space", 1),
    ("omp_const_mem_space", 2),
    ("omp_high_bw_mem_space", 3),
    ("omp_low_lat_mem_space", 4),
    ("ompx_gnu_managed_mem_space", 200),
];
/// Traits with their values; those without a list take a number, `fb_data` the name of an allocator.
const TRAITS: [(&str, i32, Names); 8] = [
    (
        "sync_hint",
        1,
        &[("contended", 3), ("uncontended", 4), ("serialized", 5), ("sequential", 5), ("private", 6)],
    ),
    ("alignment", 2, &[]),
    ("access", 3, &[("all", 7), ("thread", 8), ("pteam", 9), ("cgroup", 10)]),
    ("pool_size", 4, &[]),
    ("fallback", 5, &[("default_mem_fb", 11), ("null_fb", 12), ("abort_fb", 13), ("allocator_fb", 14)]),
    ("fb_data", 6, &ALLOCATORS),
    ("pinned", 7, &[("false", 0), ("true", 1)]),
    ("partition", 8, &[("environment", 15), ("nearest", 16), ("blocked", 17), ("interleaved", 18)]),
];

fn named(list: &[(&str, usize)], name: &str) -> Option<usize> {
    list.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
}

/// Reads the variable's value.
pub(crate) fn parse(text: &str) -> Option<Allocator> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(handle) = named(&ALLOCATORS, &text) {
        return Some(Allocator::Predefined(handle));
    }
    if let Some(n) = parse::number(&text) {
        return (1..=8).contains(&n).then_some(Allocator::Predefined(n as usize));
    }
    let (space, traits) = match text.split_once(':') {
        Some((space, traits)) => (space, Some(traits)),
        None => (&*text, None),
    };
    let space = named(&SPACES, space.trim())?;
    let Some(traits) = traits else {
        // The space's own allocator.
        return Some(Allocator::Predefined(if space < 5 { space + 1 } else { MANAGED }));
    };
    let traits = traits.split(',').map(one_trait).collect::<Option<Vec<_>>>()?;
    Some(Allocator::Described(Described { space, traits }))
}

fn one_trait(text: &str) -> Option<(i32, usize)> {
    let (name, value) = text.split_once('=')?;
    let (_, key, values) = TRAITS.iter().find(|(n, ..)| *n == name.trim())?;
    let value = value.trim();
    let number = match name.trim() {
        "alignment" => parse::number(value).filter(|n| n.is_power_of_two())? as usize,
        "pool_size" => parse::number(value).filter(|&n| n > 0)? as usize,
        _ => named(values, value)?,
    };
    Some((*key, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_and_spaces() {
        let spec = |space, traits: &[(i32, usize)]| {
            Some(Allocator::Described(Described { space, traits: traits.to_vec() }))
        };
        assert_eq!(parse("omp_high_bw_mem_alloc"), Some(Allocator::Predefined(4)));
        assert_eq!(parse(" OMP_THREAD_MEM_ALLOC "), Some(Allocator::Predefined(8)));
        assert_eq!(parse("5"), Some(Allocator::Predefined(5)));
        assert_eq!(parse("omp_large_cap_mem_space"), Some(Allocator::Predefined(2)));
        assert_eq!(parse("ompx_gnu_managed_mem_space"), Some(Allocator::Predefined(201)));
        assert_eq!(parse("omp_low_lat_mem_space:pinned=true,partition=nearest"), spec(4, &[(7, 1), (8, 16)]));
        assert_eq!(
            parse(
                "omp_default_mem_space: fallback = allocator_fb , fb_data=omp_const_mem_alloc,alignment=64"
            ),
            spec(0, &[(5, 14), (6, 3), (2, 64)])
        );
    }

    #[test]
    fn what_is_none() {
        for bad in [
            "",
            "9",
            "omp_default",
            "omp_default_mem_space:",
            "omp_default_mem_space:pinned",
            "omp_default_mem_space:pinned=maybe",
            "omp_default_mem_space:alignment=3",
            "omp_default_mem_space:pool_size=0",
            "omp_default_mem_space:x=1",
            "omp_default_mem_space:pinned=true,",
            "omp_default_mem_alloc:pinned=true",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
