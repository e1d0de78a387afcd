//! The kit that every backend must pass, and a backend of a few dozen lines to show what is needed.

use super::backend::{Addr, Backend, Direction, Failed, Image, Launch, Properties, Queue};
use super::host_device::Host;
use super::items::{Item, Items};
use super::sdc::Guarded;
use super::separate::Separate;
use super::signature::{self, PIECE};
use super::{State, kinds, map};
use crate::icv::devices::{Mode, Settings};
use crate::sys::lock::Locked;
use std::collections::BTreeMap;

/// A device whose memory is a map of vectors, at addresses that no process has.
#[derive(Default)]
struct Shelf(Locked<BTreeMap<Addr, Vec<u8>>>);

impl Shelf {
    fn with<R>(&self, at: Addr, n: usize, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        self.0.with(|m| {
            let (&start, v) = m.range_mut(..=at).next_back()?;
            v.get_mut(at - start..at - start + n).map(f)
        })
    }
}

impl Backend for Shelf {
    fn properties(&self) -> Properties {
        Properties { name: "shelf", acc_type: 4, shared_memory: false, native: false, openacc: false }
    }
    fn open(&self) -> Result<(), String> {
        Ok(())
    }
    fn alloc(&self, bytes: usize) -> Option<Addr> {
        self.0.with(|m| {
            if bytes >= 1 << 40 {
                return None;
            }
            let at = m.last_key_value().map_or(1 << 50, |(&a, v)| (a + v.len() + 1).next_multiple_of(256));
            m.insert(at, vec![0xaa; bytes]);
            Some(at)
        })
    }
    fn free(&self, at: Addr) -> bool {
        self.0.with(|m| m.remove(&at).is_some())
    }
    fn copy_in(&self, to: Addr, from: usize, bytes: usize, _queue: Queue) -> bool {
        // SAFETY: the test's memory.
        let data = unsafe { core::slice::from_raw_parts(from as *const u8, bytes) };
        self.with(to, bytes, |d| d.copy_from_slice(data)).is_some()
    }
    fn copy_out(&self, to: usize, from: Addr, bytes: usize, _queue: Queue) -> bool {
        // SAFETY: as above.
        let data = unsafe { core::slice::from_raw_parts_mut(to as *mut u8, bytes) };
        self.with(from, bytes, |d| data.copy_from_slice(d)).is_some()
    }
    fn copy_within(&self, to: Addr, from: Addr, bytes: usize) -> bool {
        let data = self.with(from, bytes, |d| d.to_vec());
        data.is_some_and(|data| self.with(to, bytes, |d| d.copy_from_slice(&data)).is_some())
    }
    fn load(&self, _image: &Image) -> Result<Vec<(Addr, Addr)>, String> {
        Ok(Vec::new())
    }
    fn launch(&self, _launch: &Launch, _queue: Queue) -> bool {
        false
    }
}

fn backends() -> Vec<Box<dyn Backend>> {
    let settings = Settings { sdc: Mode::Lazy(3), ..Settings::default() };
    vec![
        Box::new(Host),
        Box::new(Separate::new(0, false)),
        Box::new(Separate::new(1, true)),
        Box::<Shelf>::default(),
        Box::new(Guarded::new(Box::<Shelf>::default(), 0, settings, &[])),
    ]
}

fn over_all(check: impl Fn(&dyn Backend)) {
    for b in backends() {
        b.open().expect("it is there");
        check(b.as_ref());
        b.close();
    }
}

fn at<T>(v: &[T]) -> usize {
    v.as_ptr() as usize
}

fn read(b: &dyn Backend, from: Addr, n: usize) -> Vec<u8> {
    let mut v = vec![0; n];
    assert!(b.copy_out(v.as_mut_ptr() as usize, from, n, None));
    v
}

#[test]
fn memory_and_copies() {
    over_all(|b| {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i * 7) as u8).collect();
        let all: Vec<Addr> = (0..20).map(|_| b.alloc(10_000).expect("memory")).collect();
        for (i, &a) in all.iter().enumerate() {
            assert!(b.copy_in(a, at(&data) + i, 9_000, None));
        }
        for (i, &a) in all.iter().enumerate() {
            assert_eq!(read(b, a, 9_000), data[i..i + 9_000]);
        }
        assert!(b.copy_within(all[3] + 100, all[5], 500));
        assert_eq!(read(b, all[3] + 99, 502)[1..501], data[5..505]);
        let rows = [(all[0], at(&data)), (all[0] + 50, at(&data) + 200)];
        assert!(b.copy_rows(Direction::In, &rows, 10));
        assert_eq!(read(b, all[0] + 50, 10), data[200..210]);
        assert!(all.into_iter().all(|a| b.free(a)));
    });
}

#[test]
fn blocks_are_copied_and_compared_bit_for_bit() {
    over_all(|b| {
        let n = 3 << 20;
        let zeros = vec![0u8; n];
        let (x, y) = (b.alloc(n).expect("memory"), b.alloc(n).expect("memory"));
        assert!(b.copy_in(x, at(&zeros), n, None) && b.copy_all(&[(y, x, n)]));
        assert_eq!(b.compare(&[(x, y, n)]), Ok(None));
        for (offset, bit) in [(0, 1u8), (n - 1, 128), (1_234_567, 16)] {
            assert!(b.copy_in(y + offset, (&raw const bit) as usize, 1, None));
            assert_eq!(b.compare(&[(x, y, offset), (x, y, n)]), Ok(Some((1, offset))));
            assert!(b.copy_within(y + offset, x + offset, 1));
        }
        assert_eq!(b.compare(&[(x, y, n)]), Ok::<_, Failed>(None));
        assert!(b.free(x) && b.free(y));
    });
}

#[test]
fn signatures_are_those_of_the_contents() {
    over_all(|b| {
        let n = 100_000;
        let data: Vec<u8> = (0..n as u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
        let x = b.alloc(n).expect("memory");
        assert!(b.copy_in(x, at(&data), n, None));
        let pieces = [(0, PIECE), (16, 77), (PIECE, PIECE - 8), (n - 5, 5)];
        let there: Vec<(Addr, usize)> = pieces.iter().map(|&(from, n)| (x + from, n)).collect();
        let want = pieces.iter().map(|&(from, n)| signature::of(&data[from..from + n])).collect();
        assert_eq!(b.sign(&there), Ok(want));
        assert!(b.free(x));
    });
}

#[test]
fn there_is_an_end_to_memory() {
    over_all(|b| {
        if !b.properties().shared_memory {
            assert_eq!(b.alloc(usize::MAX - 4096), None);
            let a = b.alloc(1).expect("still some");
            assert!(b.free(a));
        }
    });
}

fn items(addrs: &mut [usize], list: Vec<(u8, usize)>) -> Items {
    let list = list.into_iter().zip(addrs.iter());
    let list = list.map(|((kind, size), &addr)| Item { addr, size, kind, align: 8 }).collect();
    Items { addrs: addrs.as_mut_ptr(), list, slots: Vec::new() }
}

#[test]
fn a_construct_maps_and_unmaps() {
    over_all(|b| {
        if b.properties().shared_memory {
            return;
        }
        let mut state = State::default();
        let (x, big, first) = ([1u64, 2, 3], vec![7u8; 100_000], 99u32);
        let mut addrs = [at(&x), at(&big), (&raw const first) as usize, 1234, at(&x) + 8];
        let list = vec![
            (3, 24),
            (1, 100_000),
            (kinds::FIRSTPRIVATE, 4),
            (kinds::FIRSTPRIVATE_INT, 0),
            (kinds::ZERO_LEN, 0),
        ];
        let items = items(&mut addrs, list);
        state.table.begin_directive();
        let m = map::map(&mut state, b, &items, map::For::Target, None);
        let block: Vec<usize> =
            read(b, m.args, 40).chunks(8).map(|c| usize::from_ne_bytes(c.try_into().expect("8"))).collect();
        assert_eq!((block[3], block[4]), (1234, block[0] + 8));
        assert_eq!(read(b, block[1], 100_000), big);
        assert_eq!(read(b, block[2], 4), 99u32.to_ne_bytes());
        assert_eq!(read(b, block[0], 24)[8..16], 2u64.to_ne_bytes());
        // A construct inside uses what is there.
        state.table.begin_directive();
        let inner = map::map(&mut state, b, &items, map::For::Target, None);
        assert_eq!(read(b, inner.args, 8), block[0].to_ne_bytes());
        let five = 5u64;
        assert!(b.copy_in(block[0], (&raw const five) as usize, 8, None));
        inner.unmap(&mut state, b, true, None);
        assert_eq!(x[0], 1, "others still use it");
        m.unmap(&mut state, b, true, None);
        // Read through a pointer: the compiler does not know that it changed.
        assert_eq!(unsafe { (&raw const x[0]).read_volatile() }, 5);
        assert!(state.table.len() == 0);
    });
}
