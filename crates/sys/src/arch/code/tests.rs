//! Functions of a few instructions, written out, and what the walk says of each.

use super::*;

extern "C" fn nothing() {}

crate::stub! { promp_stub_of_tests => nothing; }

#[test]
fn what_is_harmless_wherever_it_ends() {
    // 0: call 16; 5: ret; 16: nop (or an atomic); 19: ret
    let mut code = [0x90u8; 48];
    code[..6].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
    code[19] = 0xc3;
    let ask = |code: &[u8; 48], of: Callee| {
        let base = code.as_ptr() as usize;
        let of = core::cell::Cell::new(Some(of));
        let callee = |call: Call| {
            assert_eq!(call, Call { at: base + 16, slot: 0 });
            of.take().expect("asked once")
        };
        is_harmless(base, &[], &callee, &|a, n| a >= base && a + n <= base + code.len())
    };
    assert!(ask(&code, Callee::Walk) && ask(&code, Callee::Harmless) && !ask(&code, Callee::Unknown));
    code[16..19].copy_from_slice(&[0xf0, 0x01, 0x07]);
    assert!(!ask(&code, Callee::Walk) && ask(&code, Callee::Harmless));
    code[..2].copy_from_slice(&[0xff, 0xd0]); // call rax
    assert!(!is_harmless(code.as_ptr() as usize, &[], &|_| Callee::Harmless, &|_, _| true));
    code[..3].copy_from_slice(&[0x0f, 0x05, 0xc3]); // a system call
    assert!(is_harmless(code.as_ptr() as usize, &[], &|_| Callee::Unknown, &|_, _| true));
}

#[test]
fn what_may_be_called() {
    // 0: call 16; 5: ret; 16: call 32 (or by a register); 21: ret; 32: ret
    let mut code = [0x90u8; 48];
    code[..6].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
    code[16..22].copy_from_slice(&[0xe8, 11, 0, 0, 0, 0xc3]);
    code[32] = 0xc3;
    let ask = |code: &[u8; 48], from: usize, unknown: usize, otherwise: fn() -> Callee| {
        let base = code.as_ptr() as usize;
        let callee = |c: Call| if c.at == base + unknown { Callee::Unknown } else { otherwise() };
        may_call(base + from, &[], &callee, &|a, n| a >= base && a + n <= base + code.len())
    };
    assert!(ask(&code, 0, 16, || Callee::Harmless) && ask(&code, 0, 32, || Callee::Walk));
    assert!(!ask(&code, 0, 32, || Callee::Harmless) && !ask(&code, 5, 16, || Callee::Walk));
    code[16..19].copy_from_slice(&[0xff, 0xd0, 0xc3]);
    assert!(!ask(&code, 0, 32, || Callee::Walk) && ask(&code, 0, 16, || Callee::Walk));
}

fn check(code: &[u8], from: usize, to: usize) -> bool {
    let base = code.as_ptr() as usize;
    let end = base + code.len();
    let path = Path { from: base + from, callers: &[], pc: base + to, returns: &[], fences: true };
    atomic_between(&path, &|a, n| a >= base && a + n <= end)
}

/// 0: loop body nop; 1: dec ecx; 3: jne 0; 5: lock add [rdi],eax; 8: nop; 9: ret, and padding.
const MERGE: [u8; 26] = [
    0x90, 0xff, 0xc9, 0x75, 0xfb, 0xf0, 0x01, 0x07, 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
];

#[test]
fn before_the_merge_is_safe_behind_it_is_not() {
    assert!(!check(&MERGE, 0, 0));
    assert!(!check(&MERGE, 0, 3));
    assert!(!check(&MERGE, 0, 5), "the instruction itself has not been executed");
    assert!(check(&MERGE, 0, 8));
    assert!(check(&MERGE, 0, 9));
}

#[test]
fn an_atomic_in_a_loop_is_seen_everywhere_in_it() {
    let mut code = MERGE;
    code[8..10].copy_from_slice(&[0xeb, 0xf6]); // jmp 0
    assert!(check(&code, 0, 0));
}

#[test]
fn what_a_caller_does_after_the_return_counts() {
    // 0: ret; 1: lock add [rdi],eax; 4: nop; 5: ret
    let mut code = [0x90u8; 26];
    code[..6].copy_from_slice(&[0xc3, 0xf0, 0x01, 0x07, 0x90, 0xc3]);
    let base = code.as_ptr() as usize;
    let ok = |a: usize, n: usize| a >= base && a + n <= base + 26;
    let at = |callers: &[usize], pc| {
        atomic_between(&Path { from: base, callers, pc: base + pc, returns: &[], fences: true }, &ok)
    };
    assert!(at(&[base + 1], 4));
    assert!(!at(&[base + 1], 1));
}

/// 0: lock add [rdi],eax; 3: a call of a stub, or a jump there; 9: jmp 0; 24: the stub's address.
fn stub_behind_an_atomic(call: u8, atomic: bool) -> [u8; 40] {
    let mut code = [0x90u8; 40];
    code[..11].copy_from_slice(&[0xf0, 0x01, 0x07, 0xff, call, 15, 0, 0, 0, 0xeb, 0xf5]);
    code[24..32].copy_from_slice(&(promp_stub_of_tests as *const () as usize).to_ne_bytes());
    if !atomic {
        code[..3].fill(0x90);
    }
    code
}

/// With the program counter outside of `code`, having come from `from`, with `returns` on the stack.
fn left(code: &[u8], from: usize, callers: &[usize], returns: &[usize]) -> bool {
    let base = code.as_ptr() as usize;
    let ok = |a: usize, n: usize| a >= base && a + n <= base + code.len();
    let [callers, returns] = [callers, returns].map(|l| l.iter().map(|a| base + a).collect::<Vec<_>>());
    atomic_between(
        &Path { from: base + from, callers: &callers, pc: 1, returns: &returns, fences: true },
        &ok,
    )
}

#[test]
fn on_the_way_to_a_stub_what_is_before_it_has_been_executed() {
    const CALL: u8 = 0x15;
    let [with, without] = [true, false].map(|atomic| stub_behind_an_atomic(CALL, atomic));
    // The next call is that which the resume point is behind of.
    assert!(left(&with, 9, &[], &[9]) && !left(&without, 9, &[], &[9]));
    assert!(check(&with, 9, 3) && !check(&with, 9, 9));
    // By a jump: to the runtime's own code, or to that behind the call of a function (20), which has been
    // walked through or not.
    const JUMP: u8 = 0x25;
    let [with, without] = [true, false].map(|atomic| stub_behind_an_atomic(JUMP, atomic));
    assert!(left(&with, 0, &[], &[]) && !left(&without, 0, &[], &[]));
    assert!(left(&with, 0, &[20], &[20]) && !left(&without, 0, &[20], &[20]));
}

#[test]
fn on_the_way_back_to_the_runtime_all_has_been_executed() {
    let mut code = [0x90u8; 40];
    code[..4].copy_from_slice(&[0xf0, 0x01, 0x07, 0xc3]);
    assert!(left(&code, 0, &[], &[]) && !left(&code, 3, &[], &[]));
}

#[test]
fn where_it_cannot_have_come_to_is_behind_anything() {
    let mut code = [0x90u8; 40];
    code[1..3].copy_from_slice(&[0xeb, 0xfd]); // jmp 0
    assert!(left(&code, 0, &[], &[]) && !left(&code, 0, &[], &[1]) && left(&code, 0, &[], &[20]));
}

#[test]
fn call_sites_are_recognised() {
    let code = [0x90u8, 0x90, 0xe8, 1, 2, 3, 4, 0x90, 0xff, 0x15, 0, 0, 0, 0, 0x90, 0xff, 0xd0, 0x90];
    let base = code.as_ptr() as usize;
    let hits: Vec<usize> = (7..18).filter(|&i| follows_call(base + i, &|_, _| true)).collect();
    assert!(hits.contains(&7) && hits.contains(&14) && hits.contains(&17) && !hits.contains(&8), "{hits:?}");
}

#[test]
fn fences_count_where_nobody_has_seen_to_them() {
    // lock or dword ptr [rsp], 0 (or 1); nop
    let behind = |value: u8, fences: bool| {
        let mut code = [0x90u8; 40];
        code[..7].copy_from_slice(&[0xf0, 0x83, 0x0c, 0x24, value, 0x90, 0xc3]);
        let base = code.as_ptr() as usize;
        let path = Path { from: base, callers: &[], pc: base + 5, returns: &[], fences };
        atomic_between(&path, &|a, n| a >= base && a + n <= base + code.len())
    };
    assert!(behind(0, true) && !behind(0, false) && behind(1, false));
}

#[test]
fn an_indirect_jump_hides_nothing() {
    let mut code = MERGE;
    code[8..10].copy_from_slice(&[0xff, 0xe0]); // jmp rax
    assert!(check(&code, 0, 0));
}
