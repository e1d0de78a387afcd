#%Module1.0
# promp {version}. Nothing here names the prefix: the module file goes by its own place.
proc ModulesHelp {} {
    puts stderr "promp {version}: OpenMP programs survive the death of a thread.
    promp run -- ./program     promp-cc -O2 -fopenmp program.c     man promp"
}
module-whatis "promp {version}: a fault-tolerant OpenMP runtime in place of GCC's libgomp"
conflict promp

set root [file normalize $ModulesCurrentModulefile]
for {set i 0} {$i < 4} {incr i} { set root [file dirname $root] }
setenv       PROMP_ROOT        $root
prepend-path PATH              $root/bin
prepend-path MANPATH           $root/share/man
prepend-path CPATH             $root/include
prepend-path LIBRARY_PATH      $root/{lib}
prepend-path LD_LIBRARY_PATH   $root/{lib}
prepend-path PKG_CONFIG_PATH   $root/{lib}/pkgconfig
prepend-path CMAKE_PREFIX_PATH $root
# To run every OpenMP program under promp, without `promp run`:
# prepend-path LD_LIBRARY_PATH $root/{lib}/promp
