-- promp {version}. Nothing here names the prefix: the module file goes by its own place.
help([[promp {version}: OpenMP programs survive the death of a thread.
    promp run -- ./program     promp-cc -O2 -fopenmp program.c     man promp]])
whatis("Name: promp")
whatis("Version: {version}")
whatis("Description: a fault-tolerant OpenMP runtime in place of GCC's libgomp")
conflict("promp")

local root = myFileName():gsub("/share/lmod/promp/[^/]*$", "")
setenv("PROMP_ROOT", root)
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
prepend_path("CPATH", pathJoin(root, "include"))
prepend_path("LIBRARY_PATH", pathJoin(root, "{lib}"))
prepend_path("LD_LIBRARY_PATH", pathJoin(root, "{lib}"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "{lib}/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", root)
-- To run every OpenMP program under promp, without `promp run`:
-- prepend_path("LD_LIBRARY_PATH", pathJoin(root, "{lib}/promp"))
