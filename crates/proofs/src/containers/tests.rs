//! The C++ library's own functions on containers that are built here: every byte that they change has been
//! told of.

use super::*;
use crate::sys::objects;
use core::ffi::c_void;

type Function = unsafe extern "C" fn(usize, usize, usize, usize) -> usize;

/// The functions of the C++ library on this machine; `None`: there is none.
fn library() -> Option<Vec<Function>> {
    // SAFETY: a library that needs no more than to be loaded.
    let so = unsafe { libc::dlopen(c"libstdc++.so.6".as_ptr(), libc::RTLD_NOW) };
    (!so.is_null()).then(|| {
        CONTAINERS
            .names()
            .iter()
            .map(|n| {
                let name = std::ffi::CString::new(*n).unwrap();
                // SAFETY: a function of the library's, with at most four arguments of this kind.
                let f = unsafe { libc::dlsym(so, name.as_ptr()) };
                assert!(!f.is_null(), "{n}");
                assert_eq!(objects::symbol_at(f as usize).unwrap().1, *n);
                // SAFETY: as above.
                unsafe { core::mem::transmute::<*mut c_void, Function>(f) }
            })
            .collect()
    })
}

/// Words in memory; what changes them is noted.
struct Memory(Vec<usize>);

impl Memory {
    fn new(words: usize) -> Self {
        Self(vec![0; words])
    }
    fn at(&self, word: usize) -> usize {
        (&raw const self.0[word]) as usize
    }
    /// Calls function `n`; all that it changes must have been told of.
    fn call(&mut self, library: &[Function], n: usize, arguments: [usize; 4]) {
        let before = self.0.clone();
        let mut told = vec![false; self.0.len()];
        let (start, end) = (self.0.as_ptr() as usize, self.0.as_ptr_range().end as usize);
        // SAFETY: the containers in this memory.
        unsafe {
            written(n, &arguments, &mut |at, bytes| {
                assert!(at >= start && at + bytes <= end && bytes % 8 == 0, "{n}: what is no node's");
                told[(at - start) / 8..][..bytes / 8].fill(true);
            });
            let [a, b, c, d] = arguments;
            library[n](a, b, c, d);
        }
        for (k, (old, told)) in before.into_iter().zip(told).enumerate() {
            // SAFETY: the library has changed it behind the vector's back.
            let new = unsafe { core::ptr::read_volatile(&raw const self.0[k]) };
            assert!(old == new || told, "{n}: word {k} of {arguments:x?} is {new:x}, was {old:x}");
        }
    }
}

/// Numbers that depend on the seed alone.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[test]
fn all_that_trees_change_is_told_of() {
    let Some(library) = library() else { return };
    let mut numbers = Numbers(1);
    for most in (1..40).chain([100, 700]) {
        // Four words a node, the header first. Node k holds the key k.
        let mut m = Memory::new(4 * (most + 1));
        let header = m.at(0);
        let (mut inside, mut n) = (vec![false; most + 1], 0);
        (m.0[2], m.0[3]) = (header, header);
        for step in 0..600 {
            let k = 1 + numbers.below(most);
            let at = m.at(4 * k);
            // Grows and shrinks in turn.
            let grows = step / 150 % 2 == 0 && numbers.below(8) > 0;
            if inside[k] && !grows {
                m.call(&library, 1, [at, header, 0, 0]);
                (inside[k], n) = (false, n - 1);
            } else if !inside[k] && grows {
                let (mut parent, mut left, mut next) = (header, true, m.0[1]);
                while next != 0 {
                    parent = next;
                    left = at < next;
                    // SAFETY: a node of the tree.
                    next = unsafe { if left { node(next).left } else { node(next).right } };
                }
                m.0[4 * k..][..4].fill(0x5a5a_5a5a); // nothing yet
                m.call(&library, 0, [left.into(), at, parent, header]);
                (inside[k], n) = (true, n + 1);
            }
            if step % 150 == 149 && most < 40 {
                // Down to the last one.
                for (k, inside) in inside.iter_mut().enumerate() {
                    if *inside && numbers.below(3) > 0 {
                        m.call(&library, 1, [m.at(4 * k), header, 0, 0]);
                        (*inside, n) = (false, n - 1);
                    }
                }
            }
        }
        assert_eq!(n == 0, m.0[1] == 0);
    }
}

#[test]
fn all_that_lists_change_is_told_of() {
    let Some(library) = library() else { return };
    let mut numbers = Numbers(2);
    let (lists, most) = (3, 40);
    // Two words a node; the first ones are the lists' own.
    let mut m = Memory::new(2 * (lists + most));
    for k in 0..lists {
        let at = m.at(2 * k);
        (m.0[2 * k], m.0[2 * k + 1]) = (at, at);
    }
    let mut inside = vec![usize::MAX; most];
    let mut calls = [0; 5];
    for _ in 0..4000 {
        let k = numbers.below(most);
        let at = m.at(2 * (lists + k));
        let (a, b) = (numbers.below(lists), numbers.below(lists));
        let (first, second) = (m.at(2 * a), m.at(2 * b));
        let n = match numbers.below(8) {
            0 if a != b => {
                m.call(&library, 5, [first, second, 0, 0]);
                3
            }
            1 => {
                m.call(&library, 6, [first, 0, 0, 0]);
                4
            }
            2 if inside[k] != usize::MAX => {
                // The list that it is in, as far as swaps go, from it to the end, to another place.
                let mut end = at;
                // SAFETY: a node of a list.
                while !(0..lists).any(|l| m.at(2 * l) == end) {
                    end = unsafe { link(end) }.next;
                }
                if end != first {
                    m.call(&library, 4, [first, at, end, 0]);
                }
                2
            }
            3 | 4 if inside[k] != usize::MAX => {
                m.call(&library, 3, [at, 0, 0, 0]);
                inside[k] = usize::MAX;
                1
            }
            _ if inside[k] == usize::MAX => {
                m.call(&library, 2, [at, first, 0, 0]);
                inside[k] = a;
                0
            }
            _ => continue,
        };
        calls[n] += 1;
    }
    assert!(calls.iter().all(|&c| c > 50), "{calls:?}");
}

#[test]
fn all_that_tables_change_is_told_of() {
    let Some(library) = library() else { return };
    let mut numbers = Numbers(3);
    let mut m = Memory::new(3);
    m.0[0] = usize::try_from(1f32.to_bits()).unwrap();
    for _ in 0..200 {
        let (buckets, elements) = (1 + numbers.below(5000), numbers.below(5000));
        m.call(&library, 7, [m.at(0), buckets, elements, 1]);
        m.call(&library, 8, [m.at(0), elements, 0, 0]);
    }
    let text = m.at(2);
    m.call(&library, 9, [text, 8, 0xc70f_6907, 0]);
}

#[test]
fn it_is_known_for_what_it_is() {
    let Some(library) = library() else { return };
    for (k, &f) in library.iter().enumerate() {
        let f = f as usize;
        assert!(CONTAINERS.is_librarys(f) && CONTAINERS.number(f) == Some(k));
    }
    CONTAINERS.check();
    assert!(CONTAINERS.number(library[0] as usize).is_some());
}
