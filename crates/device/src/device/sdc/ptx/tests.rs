//! Verdicts on kernels of every kind.

use super::*;

const TEXT: &str = r#"
.version 6.0
.extern .func (.param .u32 %value_out) vprintf (.param .u64 %in_ar0, .param .u64 %in_ar1);
.extern .func GOMP_parallel (.param .u64 %in_ar0);
.visible .global .align 16 .u32 table[100];
.global .align 4 .u32 hidden;
.const .align 1 .u8 $LC0[3] = {104,105,0 };
.func main$_omp_fn$1 (.param .u64 %in_ar0)
{
ld.f64 %r51,[%r37];
{
.param .u32 %value_in;
call (%value_in),omp_get_num_threads;
}
st.f64 [%r37],%r52;
ret;
}
.visible .entry plain (.param .u64 %arg)
{
mov.u64 %R0,main$_omp_fn$1;
call.uni GOMP_parallel,(%R0);
ret;
}
.visible .entry sum (.param .u64 %arg)
{
atom.global.add.f64 %r1,[%r2],%r3;
ret;
}
.visible .entry count (.param .u64 %arg)
{
.reg .u32 %r1;
atom.global.add.u32 %r1,[%r2],1;
ret;
}
.visible .entry nobody_asks (.param .u64 %arg)
{
@ %r60 atom.add.u32 _,[%r56],1;
add.u64 %r56,%r56,8;
ret;
}
.visible .entry ticket (.param .u64 %arg)
{
atom.global.add.u32 %r1,[%r2],1;
st.u32 [%r4],%r1;
ret;
}
.visible .entry swap (.param .u64 %arg)
{
@ %r72 atom.cas.b64 %r63,[%r38],%r26,%r65;
ret;
}
.visible .entry speak (.param .u64 %arg)
{
call (%value_in),vprintf,(%a,%b);
ret;
}
.func deeper (.param .u64 %in_ar0)
{
mov.u64 %r1,%clock64;
ret;
}
.visible .entry timed (.param .u64 %arg)
{
call deeper,(%r0);
ret;
}
.visible .entry indirect (.param .u64 %arg)
{
call (%v),%r20,(%o),$L20;
ret;
}
.visible .entry variables (.param .u64 %arg)
{
cvta.global.u64 %r27,table;
ret;
}
.visible .entry secret (.param .u64 %arg)
{
cvta.global.u64 %r27,hidden;
ret;
}
.visible .entry unknown (.param .u64 %arg)
{
call nobody,(%r0);
ret;
}
"#;

fn program() -> Program {
    Program::read(core::iter::once(TEXT), core::iter::once("table".to_string()))
}

#[test]
fn verdicts() {
    let p = program();
    for (kernel, word) in [
        ("plain", None),
        ("count", None),
        ("nobody_asks", None),
        ("variables", None),
        ("sum", Some("floating-point")),
        ("ticket", Some("answer")),
        ("swap", Some("compare-and-swap")),
        ("speak", Some("output")),
        ("timed", Some("clock")),
        ("indirect", Some("pointer")),
        ("secret", Some("does not know")),
        ("unknown", Some("not there")),
        ("missing", Some("not found")),
    ] {
        let v = p.verdict(kernel);
        match word {
            None => assert_eq!(v, None, "{kernel}"),
            Some(w) => assert!(v.as_ref().is_some_and(|v| v.contains(w)), "{kernel}: {v:?}"),
        }
    }
    assert!(p.uses_variables("variables") && !p.uses_variables("plain"));
}

/// A kernel as GCC 12 writes it: its entry hands a function to the runtime, which has `start` execute
/// another in each thread of a team; `lines` are what that one consists of.
fn gcc_kernel(name: &str, start: &str, lines: &str) -> String {
    let call = "{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r25;\n.param .u64 %out_arg2;\n";
    format!(
        ".visible .entry {name} (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n{{\n\
         .reg .u64 %R<4>;\nmov.u64 %R0,__nvptx_stacks;\nst.shared.u64 [%R0],%R2;\n\
         mov.u64 %R0,{name}$impl;\nld.param.u64 %R1,[%arg];\n\
         {{\n.param .u64 %P<2>;\nst.param.u64 [%P0],%R0;\ncall.uni gomp_nvptx_main,(%P0,%P1);\n}}\n\
         ret.uni;\n}}\n\
         .func {name}$impl (.param .u64 %in_ar0)\n{{\n.reg .u64 %ar0;\nmov.u64 %r25,{name}$team;\n\
         {call}call {start},(%out_arg1,%out_arg2);\n}}\nst.shared.u64 [%sspslot],%sspprev;\nret;\n}}\n\
         .func {name}$team (.param .u64 %in_ar0)\n{{\n.reg .pred %r60;\n{{\n.param .u32 %value_in;\n\
         call (%value_in),omp_get_thread_num;\nld.param.u32 %r30,[%value_in];\n}}\n\
         {lines}\n@ %r60 bra $L3;\nret;\n}}\n"
    )
}

/// Kernels of every kind, in the lines that GCC 12 makes of them (c-tests/sdc/kinds.c and order.c, which
/// `tests/offload.rs` has it compile).
#[test]
fn verdicts_of_what_gcc_makes() {
    const TEAM: &str = "GOMP_parallel";
    const DYNAMIC: &str = "GOMP_parallel_loop_nonmonotonic_dynamic";
    let library = ["sqrt", "omp_init_lock", "omp_unset_lock", "drawn"]
        .map(|name| format!(".visible .func {name} (.param .u64 %in_ar0)\n{{\nret;\n}}\n"))
        .concat();
    for (lines, start, why) in [
        ("call (%value_in),sqrt,(%out_arg1);", TEAM, ""),
        ("@ %r60 atom.add.u32 _,[%r56],1;", TEAM, ""),
        ("@ %r65 atom.add.u64 _,[%r46+8],%r39;", TEAM, ""),
        ("cvta.global.u64 %r27,table;\nld.u32 %r28,[%r27];", TEAM, ""),
        ("@ %r70 atom.cas.b64 %r60,[%r39],%r25,%r62;", TEAM, "compare-and-swap"),
        ("call (%value_in),printf,(%out_arg1,%out_arg2);", TEAM, "output (printf)"),
        ("call (%value_in),rand;", TEAM, "random numbers (rand)"),
        (
            "@ %r57 atom.add.u32 %r30,[%r48],1;\nsetp.ne.u32 %r58,%r30,-1;",
            TEAM,
            "an atomic whose answer is used",
        ),
        ("call GOMP_critical_start;\ncall GOMP_critical_end;", TEAM, "critical section"),
        (
            "call (%value_in),GOMP_loop_nonmonotonic_dynamic_next,(%out_arg1,%out_arg2);",
            DYNAMIC,
            "no fixed order (GOMP_loop_nonmonotonic_dynamic_next)",
        ),
        ("call GOMP_task,(%out_arg1,%out_arg2,%out_arg3,%out_arg4);", TEAM, "no fixed order (GOMP_task)"),
        ("call omp_init_lock,(%out_arg1);\ncall omp_set_lock,(%out_arg1);", TEAM, "lock (omp_set_lock)"),
        ("call (%value_in),__nvptx_malloc,(%out_arg1);", TEAM, "memory allocation"),
        ("call (%value_in),clock;", TEAM, "the clock (clock)"),
        ("mov.u64 %r22,drawn;\ncall (%value_in),%r22,(%out_arg1),$LCT0;", TEAM, "a call through a pointer"),
        ("call (%value_in),omp_get_wtime;", TEAM, "the clock (omp_get_wtime)"),
        (
            "call (%value_in),GOMP_cancel,(%out_arg1,%out_arg2);\ncall GOMP_barrier;",
            TEAM,
            "no fixed order (GOMP_cancel)",
        ),
    ] {
        let text = format!(
            ".version 6.0\n.target sm_30\n.extern .func gomp_nvptx_main (.param .u64 %in_ar1);\n\
             .extern .shared .u64 __nvptx_stacks[32];\n.global .align 16 .u32 table[64];\n{}",
            gcc_kernel("main$_omp_fn$0", start, lines)
        );
        let p = Program::read([&*text, &library].into_iter(), core::iter::once("table".to_string()));
        let verdict = p.verdict("main$_omp_fn$0");
        assert_eq!(verdict.is_some(), !why.is_empty(), "{lines}: {verdict:?}");
        assert!(verdict.unwrap_or_default().contains(why), "{lines}: {why}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(s in "[a-z.%$(){};,\n @0-9]{0,300}") {
        let p = Program::read(core::iter::once(&*s), core::iter::empty());
        let _ = p.verdict("a");
    }
}
