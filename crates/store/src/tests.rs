//! The store by itself: its file grows, and generations stay as long as they are to.

use super::*;

/// Its process ends.
fn end(s: Store) {
    let lock = s.lock;
    drop(s);
    // SAFETY: the store's descriptor; it is gone.
    unsafe { libc::close(lock) };
}

#[test]
fn a_file_is_made_longer_before_its_slots_are_taken() {
    let dir = std::env::temp_dir().join(format!("promp-store-{}", std::process::id()));
    let mut s = Store::open(&dir, None, 1).unwrap();
    let ready = |s: &Store| (s.reached(), s.spare());
    let length = || std::fs::metadata(dir.join("pages")).unwrap().len() as usize / PAGE;
    let content = vec![7; 100 * PAGE];
    s.extend(&content).unwrap();
    s.extend(&content).unwrap();
    assert_eq!((ready(&s), s.fresh(), length()), ((200, 200), 0, 200));
    s.shorten(100);
    assert_eq!((ready(&s), length()), ((100, 100), 100));
    let generation = |s: &mut Store, number, pages: usize| {
        let entry = |page| Entry { page, slot: UNPLACED, sum: image::page_sum(page, &content[..PAGE]) };
        let mut entries: Vec<Entry> = (0..pages as u64).map(entry).collect();
        s.write(&vec![7; pages * PAGE], &mut entries).unwrap();
        (s.commit(number, &Description::default(), entries.clone(), &[]).unwrap().from_ready, entries)
    };
    // What is taken first has been written to already.
    let (ready_ones, first) = generation(&mut s, 1, 80);
    assert_eq!((ready(&s), s.fresh(), ready_ones, length()), ((100, 20), 80, 80, 100));
    let (ready_ones, second) = generation(&mut s, 2, 90);
    assert_eq!((ready(&s), s.fresh(), ready_ones, length()), ((170, 80), 90, 20, 170));
    assert!(first.iter().all(|f| second.iter().all(|e| e.slot != f.slot)));
    let mut read = vec![0; 90 * PAGE];
    s.read(&second, &mut read).unwrap();
    // Behind what a generation refers to.
    s.extend(&content).unwrap();
    s.read(&second, &mut read).unwrap();
    // No more is needed: the third is where the first was.
    assert_eq!(generation(&mut s, 3, 70).0, 0);
    assert_eq!((ready(&s), s.fresh(), length()), ((270, 200), 0, 270));
    drop(s);
    std::fs::remove_dir_all(dir).unwrap();
}

/// As many generations as are asked for stay whole, whatever is written afterwards, also by the next
/// process; what is older goes, and its slots are used again.
#[test]
fn older_generations_are_kept() {
    let dir = std::env::temp_dir().join(format!("promp-kept-{}", std::process::id()));
    let mut s = Store::open(&dir, None, 3).unwrap();
    let commit = |s: &mut Store, number: u64| {
        let content = [number as u8; PAGE].repeat(50);
        let entry = |page| Entry { page, slot: UNPLACED, sum: image::page_sum(page, &content[..PAGE]) };
        let mut entries: Vec<Entry> = (0..50).map(entry).collect();
        s.write(&content, &mut entries).unwrap();
        let about = Description { era: 10 * number, ..Description::default() };
        s.commit(number, &about, entries.clone(), &[]).unwrap();
        entries
    };
    let whole = |s: &Store, entries: &[Entry]| s.read(entries, &mut vec![0; 50 * PAGE]).is_ok();
    let there = || image::generation_files(&dir);
    let mut all: Vec<Vec<Entry>> = (1..=6).map(|n| commit(&mut s, n)).collect();
    // The fourth one goes only when something is written.
    assert_eq!((there(), s.oldest_era()), (vec![6, 5, 4, 3], 30));
    assert!(all[2..].iter().all(|e| whole(&s, e)) && !whole(&s, &all[0]));
    end(s);
    // The next process goes back to the fifth; one of the older ones is damaged.
    std::fs::write(dir.join("gen-3"), "no generation").unwrap();
    let mut s = Store::open(&dir, Some((5, 50, all[4].clone())), 3).unwrap();
    assert_eq!((there(), s.oldest_era()), (vec![5, 4], 40));
    all.truncate(5);
    all.push(commit(&mut s, 6));
    assert_eq!(there(), [6, 5, 4]);
    assert!(all[3..].iter().all(|e| whole(&s, e)));
    end(s);
    let s = Store::open(&dir, Some((6, 60, all[5].clone())), 1).unwrap();
    assert_eq!(there(), [6]);
    end(s);
    std::fs::remove_dir_all(dir).unwrap();
}

/// A generation that has its checksums in its own file: the next one's are all aside, those of pages that
/// have not changed, too. From then on only those of pages that have are written.
#[test]
fn checksums_move_to_their_file() {
    let dir = std::env::temp_dir().join(format!("promp-sums-{}", std::process::id()));
    let content = |n: usize| [n as u8; PAGE];
    let mut s = Store::open(&dir, None, 1).unwrap();
    let new = |page: u64, n: usize| Entry { page, slot: UNPLACED, sum: image::page_sum(page, &content(n)) };
    let mut entries: Vec<Entry> = (0..20).map(|p| new(p, 1)).collect();
    s.write(&content(1).repeat(20), &mut entries).unwrap();
    let first = entries.clone();
    let file = image::encode(1, &Description::default(), &first, Sums::Inside);
    std::fs::write(dir.join("gen-1"), file).unwrap();
    std::fs::set_permissions(dir.join("gen-1"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::remove_file(dir.join(image::SUMS)).unwrap();
    end(s);
    let mut s = Store::open(&dir, Some((1, 0, first)), 1).unwrap();
    let mut before = [0; 2];
    for (g, sums) in [(2, 20), (3, 1)] {
        entries[7] = new(7, g);
        let pages: Vec<u8> = (0..20).flat_map(|p| content(if p == 7 { g } else { 1 })).collect();
        s.write(&pages, &mut entries).unwrap();
        let done = s.commit(g as u64, &Description::default(), entries.clone(), &[]).unwrap();
        assert_eq!(done.dirty_pages, 1);
        before[g - 2] = done.bytes - 8 * sums;
        let d = image::Directory::open(&dir).unwrap();
        let read = d.read(g as u64).unwrap();
        assert_eq!(read.index, entries);
        d.verify(&read, |_| ()).unwrap();
    }
    // All else is the same.
    assert_eq!(before[0], before[1]);
    std::fs::remove_dir_all(dir).unwrap();
}
