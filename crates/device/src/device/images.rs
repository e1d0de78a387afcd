//! The images that programs and their libraries register, and their way onto devices of their type.

use super::State;
use super::backend::{Backend, Image};
use crate::say;
use crate::sys::lock::Locked;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// In the order of their registration; removed ones are `None`, so that numbers stay.
static IMAGES: Locked<Vec<Option<Image>>> = Locked::new(Vec::new());

/// In the size of a variable: it is a link.
pub(crate) const LINK: usize = 1 << (usize::BITS - 1);

// SAFETY: an image is constant data of a loaded object.
unsafe impl Send for Image {}

/// How many that is. Relaxed: who uses an image's function was told of it after its registration.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// A program registers an image, mostly before main.
pub fn register(image: Image) {
    IMAGES.with(|v| {
        v.push(Some(image));
        REGISTERED.store(v.len(), Relaxed);
    });
}

/// ... and takes it back, when its library is closed.
pub fn unregister(image: Image) {
    let known = IMAGES.with(|v| match v.iter_mut().find(|i| **i == Some(image)) {
        Some(i) => i.take().is_some(),
        None => false,
    });
    if !known || super::KNOWN.load(core::sync::atomic::Ordering::Acquire) == 0 {
        return;
    }
    let table = Table::of(&image);
    for device in super::all().iter().filter(|d| d.backend.properties().acc_type == image.target) {
        device.state.with(|state| {
            if !matches!(state.opened, Some(Ok(()))) {
                return;
            }
            for f in &table.functions {
                state.functions.remove(f);
            }
            for &(start, size) in &table.variables {
                state.links.remove(&start);
                if let Some(id) = state.table.exact((start, start + (size & !LINK))) {
                    let _ = state.table.remove(id);
                }
            }
            device.backend.unload(&image);
        });
    }
}

/// Has nobody registered any?
pub(crate) fn is_empty() -> bool {
    IMAGES.with(|v| v.iter().all(Option::is_none))
}

/// The registered images of a type of device.
pub(crate) fn of_type(target: i32) -> Vec<Image> {
    IMAGES.with(|v| v.iter().flatten().filter(|i| i.target == target).copied().collect())
}

/// The host's side of an image.
pub(crate) struct Table {
    /// Addresses of functions.
    pub functions: Vec<usize>,
    /// Variables: address, size (with a mark for links).
    pub variables: Vec<(usize, usize)>,
}

impl Table {
    /// Reads it.
    pub(crate) fn of(image: &Image) -> Self {
        // SAFETY: the compiler's table: two arrays, each by its beginning and its end.
        unsafe {
            let [f, f_end, v, v_end] = *image.table;
            let words = |at: usize, end: usize| {
                core::slice::from_raw_parts(at as *const usize, (end - at) / size_of::<usize>())
            };
            Self {
                functions: if f == f_end { Vec::new() } else { words(f, f_end).to_vec() },
                variables: if v == v_end {
                    Vec::new()
                } else {
                    words(v, v_end).chunks_exact(2).map(|p| (p[0], p[1])).collect()
                },
            }
        }
    }
}

/// Has anything been registered since the last look?
#[inline]
pub(crate) fn is_new(state: &State) -> bool {
    state.loaded != REGISTERED.load(Relaxed)
}

/// Loads what has been registered since the last look.
pub(crate) fn load_new(backend: &dyn Backend, state: &mut State) {
    let properties = backend.properties();
    if properties.native {
        super::declare_target::refresh(state);
        return;
    }
    let new: Vec<Image> = IMAGES.with(|v| {
        let list = v[state.loaded.min(v.len())..].iter().flatten().copied().collect();
        state.loaded = v.len();
        list
    });
    for image in new.iter().filter(|i| i.target == properties.acc_type) {
        match backend.load(image) {
            Ok(pairs) => enter(state, image, &pairs),
            Err(why) => say!(
                "an image for {} cannot be used, its target regions run on the host: {why}",
                properties.name
            ),
        }
    }
}

fn enter(state: &mut State, image: &Image, pairs: &[(usize, usize)]) {
    let table = Table::of(image);
    let n = table.functions.len();
    if pairs.len() < n + table.variables.len() {
        super::fail(format_args!(
            "an image has {} functions and variables, the device knows {}",
            n + table.variables.len(),
            pairs.len()
        ));
    }
    state.functions.extend(table.functions.iter().copied().zip(pairs.iter().map(|p| p.0)));
    for (&(start, size), &(at, end)) in table.variables.iter().zip(&pairs[n..]) {
        if size & LINK != 0 {
            state.links.insert(start, (start + (size & !LINK), at));
            continue;
        }
        if at == 0 || end - at != size {
            super::fail(format_args!("a variable has {size} bytes, on the device {}", end - at));
        }
        state.table.insert_for_ever((start, start + size), at);
    }
}
