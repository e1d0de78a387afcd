//! Functions of their own that the programs of random_ahead.rs call.

/// Halos, as MG has them (0), and with something missing or in another order.
pub(super) fn wraps() -> String {
    let mut s = String::new();
    for (name, by) in [("wrap", "#pragma omp for\n"), ("wrap_all", "")] {
        for kind in 0..6 {
            let low = if kind == 1 { "" } else { "a[at(n, 0, k)] = a[at(n, n, k)];" };
            let high = if kind == 2 { "" } else { "a[at(n, n + 1, k)] = a[at(n, 1, k)];" };
            let from = if kind == 3 { 1 } else { 0 };
            let first = if kind == 4 { 2 } else { 1 };
            let (sides, ends) = (
                format!("{by} for (int k = {first}; k <= n; k++) {{ {low} {high} }}\n"),
                format!(
                    "{by} for (int j = {from}; j <= n + 1; j++) {{ a[at(n, j, 0)] = a[at(n, j, n)]; \
                     a[at(n, j, n + 1)] = a[at(n, j, 1)]; }}\n"
                ),
            );
            let both = if kind == 5 { ends + &sides } else { sides + &ends };
            s += &format!("static __attribute__((noinline)) void {name}{kind}(u *a, int n) {{\n{both}}}\n");
        }
    }
    s
}

/// Cycles with two ways in: what is written first on the one is read first on the other.
pub(super) fn cycles() -> String {
    let (reads, writes) = ("s += x[n / 2] * 3;", "memset(x, k, n * sizeof(u));");
    let mut s = String::new();
    for (name, first, second) in [("cycle0", reads, writes), ("cycle1", writes, reads)] {
        s += &format!(
            "static __attribute__((noinline)) void {name}(u *x, int n, int way) {{\n u s = 0; int k = 0;\n\
             if (way & 1) goto b;\na: {first}\nb: {second}\n if (++k < 3) goto {}; acc += s;\n}}\n",
            "a"
        );
    }
    s
}

/// Functions that take what they need by reference; some of them others may call.
pub(super) fn by_reference() -> String {
    let apart = "__attribute__((noinline))";
    let mut s = format!(
        "static {apart} void on(int *i) {{ ++*i; }}\n\
         static {apart} const int *same(const int *i) {{ return i; }}\n\
         static {apart} u got(const u *x, const int *i) {{ return x[*i]; }}\n\
         static {apart} void both(Part *d, const u *y, const int *i) {{ d->p[0] = y[*i]; d->p[1] = *i; }}\n"
    );
    for (name, whose) in [("put", "static"), ("put_of_others", "")] {
        s += &format!(
            "{whose} {apart} void {name}(u *x, const int *i, const u *t) {{ x[*i] = *t * 3 + *i; }}\n\
             {whose} {apart} void {name}2(u *x, const int *m, const int *i, const int *j)\n\
             {{ x[*j * *m + *i] = *i * 3 + *j; }}\n"
        );
    }
    s
}
