//! The signals by which the runtime stops threads and gives orders to them: a debugger is to pass them on.

/// Below SIGRTMAX: the stop signal, the freeze signal, that of orders to hosts. High in the real-time range,
/// where programs rarely are.
pub const STOP: i32 = 3;
/// See [`STOP`].
pub const FREEZE: i32 = 4;
/// See [`STOP`].
pub const ORDER: i32 = 5;

/// Commands of gdb that have it pass them on without a stop.
pub fn for_gdb(highest: i32) -> String {
    let line = |n: &i32| format!("handle SIG{} nostop noprint pass\n", highest - n);
    [STOP, FREEZE, ORDER].iter().map(line).collect()
}

/// The same for lldb, once the process is there.
pub fn for_lldb() -> String {
    let line = |n: &i32| format!("process handle SIGRTMAX-{n} --pass true --stop false --notify false\n");
    [STOP, FREEZE, ORDER].iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_line() {
        assert!(for_gdb(64).starts_with("handle SIG61 nostop noprint pass\nhandle SIG60 "));
        assert_eq!((for_gdb(64).lines().count(), for_lldb().lines().count()), (3, 3));
    }
}
