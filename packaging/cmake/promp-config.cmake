# find_package(promp) gives
#   promp::promp     promp.h: its functions do nothing where the runtime is not there, so nothing is linked
#   promp::runtime   the runtime, in front of the compiler's own
#   promp::fortran   the module of the same functions, as a source; it is built by your compiler
# and promp_TOOLCHAIN_FILE, by which a project is built with promp-cc, promp-c++ and promp-fc:
#   cmake -DCMAKE_TOOLCHAIN_FILE=${promp_TOOLCHAIN_FILE}
get_filename_component(promp_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../{up}" ABSOLUTE)
set(promp_VERSION "{version}")
set(promp_INCLUDE_DIR "${promp_PREFIX}/include")
set(promp_TOOLCHAIN_FILE "${CMAKE_CURRENT_LIST_DIR}/promp-toolchain.cmake")

if(NOT TARGET promp::promp)
  add_library(promp::promp INTERFACE IMPORTED)
  set_target_properties(promp::promp PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${promp_INCLUDE_DIR}")

  add_library(promp::library SHARED IMPORTED)
  set_target_properties(promp::library PROPERTIES
    IMPORTED_LOCATION "${promp_PREFIX}/{lib}/libpromp.so.{version}"
    IMPORTED_SONAME "libpromp.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${promp_INCLUDE_DIR}")

  # Linked also where nothing but promp.h's functions, which are weak, is called.
  add_library(promp::runtime INTERFACE IMPORTED)
  set_target_properties(promp::runtime PROPERTIES
    INTERFACE_LINK_LIBRARIES "-Wl,--push-state,--no-as-needed;promp::library;-Wl,--pop-state")

  add_library(promp::fortran INTERFACE IMPORTED)
  set_target_properties(promp::fortran PROPERTIES
    INTERFACE_SOURCES "${promp_INCLUDE_DIR}/promp.f90"
    INTERFACE_LINK_LIBRARIES "${promp_PREFIX}/{lib}/libpromp-stubs.a;dl")
endif()
