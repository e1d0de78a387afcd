! The Fortran module of the promp runtime: the routines of promp.h.
module promp
  use iso_c_binding, only: c_int, c_double, c_int32_t, c_int64_t, c_size_t, c_ptr
  implicit none
  !> The version that this module is of; promp_version() is that of the runtime which is there.
  integer(c_int), parameter :: promp_module_version = 100
  integer(c_int), parameter :: promp_kill = 1, promp_crash = 2, promp_hang = 3, promp_memerr = 4, promp_die = 5
  integer(c_int), parameter :: promp_ended = 6, promp_sdc = 7
  integer(c_int), parameter :: promp_recomputed = 1, promp_resumed = 2, promp_rolled_back = 3
  integer(c_int), parameter :: promp_restarted = 4, promp_refused = 5
  integer(c_int), parameter :: promp_static = 1, promp_dynamic = 2

  type, bind(c) :: promp_failure
    integer(c_int32_t) :: kind, thread
    integer(c_int64_t) :: region, lost_iterations
    integer(c_int32_t) :: recovery, recovered
    real(c_double) :: recovery_s
  end type

  type, bind(c) :: promp_statistics
    integer(c_int64_t) :: regions, chunks, failures, workers
  end type

  interface
    integer(c_int) function promp_version() bind(c)
      import :: c_int
    end function
    subroutine promp_potential_ckpt() bind(c)
    end subroutine
    !> A section of kernels begins, whose results are verified together ...
    subroutine promp_sdc_checkpoint() bind(c)
    end subroutine
    !> ... and ends.
    subroutine promp_sdc_detect() bind(c)
    end subroutine
    !> The variable that starts at `start` (c_loc), `bytes` long, is dead at the next promp_potential_ckpt.
    subroutine promp_dead(start, bytes) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: start
      integer(c_size_t), value :: bytes
    end subroutine
    subroutine promp_replayable(yes) bind(c)
      import :: c_int
      integer(c_int), value :: yes
    end subroutine
    subroutine promp_frags(m) bind(c)
      import :: c_int
      integer(c_int), value :: m
    end subroutine
    subroutine promp_recompute(kind) bind(c)
      import :: c_int
      integer(c_int), value :: kind
    end subroutine
    integer(c_int) function promp_fail(thread, kind) bind(c)
      import :: c_int
      integer(c_int), value :: thread, kind
    end function
    integer(c_size_t) function promp_failures(list, n) bind(c)
      import :: c_size_t, promp_failure
      integer(c_size_t), value :: n
      type(promp_failure), intent(inout) :: list(n)
    end function
    subroutine promp_stats(out) bind(c)
      import :: promp_statistics
      type(promp_statistics), intent(inout) :: out
    end subroutine
    !> The same with the size that this program knows (c_sizeof(out)); returns the one that the runtime knows.
    integer(c_size_t) function promp_stats_sized(out, size) bind(c)
      import :: c_size_t, promp_statistics
      type(promp_statistics), intent(inout) :: out
      integer(c_size_t), value :: size
    end function
    !> The same with the size of an element (c_sizeof(list(1))).
    integer(c_size_t) function promp_failures_sized(list, n, size) bind(c)
      import :: c_size_t, promp_failure
      integer(c_size_t), value :: n, size
      type(promp_failure), intent(inout) :: list(n)
    end function
  end interface
contains
  !> Is the runtime there?
  logical function promp_present()
    promp_present = promp_version() /= 0
  end function
end module
