# Builds with promp's drivers: cmake -DCMAKE_TOOLCHAIN_FILE=THIS_FILE. They call gcc, g++ and gfortran, or what
# PROMP_CC, PROMP_CXX and PROMP_FC name.
get_filename_component(promp_prefix "${CMAKE_CURRENT_LIST_DIR}/../../{up}" ABSOLUTE)
set(CMAKE_C_COMPILER "${promp_prefix}/bin/promp-cc")
set(CMAKE_CXX_COMPILER "${promp_prefix}/bin/promp-c++")
set(CMAKE_Fortran_COMPILER "${promp_prefix}/bin/promp-fc")
# FindOpenMP sees that the drivers link it, and does not find it where the prefix has a blank.
set(OpenMP_promp_LIBRARY "${promp_prefix}/{lib}/libpromp.so" CACHE FILEPATH "The promp runtime")
