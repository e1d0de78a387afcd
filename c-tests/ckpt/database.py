# A database is updated, a line appended, in every step:
# python3 -c "library = ...; <this>" FOLDER STEPS JOURNAL
import ctypes, os, sqlite3, sys

folder, steps = sys.argv[1], int(sys.argv[2])
work = ctypes.CDLL(library).work
work.restype = ctypes.c_double
db = sqlite3.connect(folder + "/database")
db.execute("pragma journal_mode = " + sys.argv[3])
db.execute("create table t(k integer primary key, v real)")
db.executemany("insert into t values(?, 0.0)", [(i,) for i in range(50)])
db.commit()
for step in range(steps):
    x = work(step)
    db.execute("update t set v = v * 0.5 + ? where k = ?", (x, step % 50))
    if step % 7 == 0:
        db.execute("insert into t(v) values(?)", (x,))
    db.commit()
    with open(folder + "/log", "a") as log:
        log.write("%d %g\n" % (step, x))
print(db.execute("select count(*), sum(v) from t").fetchone(), db.execute("pragma integrity_check").fetchone())
db.close()
os.remove(folder + "/database")
