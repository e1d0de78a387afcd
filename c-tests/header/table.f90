! As table.c: the function of promp.h that the argument names, and a loop behind it.
module acts
  use promp
  use iso_c_binding
  implicit none
  integer(c_int) :: failed = 7
  interface
    integer(c_long) function sum_of(first) bind(c)
      import :: c_long, c_funptr
      type(c_funptr), value :: first
    end function
  end interface
contains
  subroutine fails() bind(c)
    failed = promp_fail(1, promp_kill)
  end subroutine

  !> Of the only failure: its kind, and whether all is there again.
  integer(c_long) function first_of(list, n)
    type(promp_failure), intent(in) :: list(:)
    integer(c_size_t), intent(in) :: n
    first_of = n
    if (n == 1) first_of = 100 + 10 * list(1)%kind + list(1)%recovered
  end function
end module

program table
  use acts
  implicit none
  type(promp_statistics) :: s
  type(promp_failure) :: list(4)
  real(8), target :: block(100)
  character(len=32) :: name
  integer(c_long) :: value, total
  integer(c_size_t) :: n
  value = 0
  total = 0
  s = promp_statistics(7, 7, 7, 7)
  call get_command_argument(1, name)
  select case (name)
  case ('promp_version')
    value = promp_version()
  case ('promp_present')
    value = merge(1, 0, promp_present())
  case ('promp_potential_ckpt')
    call promp_potential_ckpt()
  case ('promp_dead')
    call promp_dead(c_loc(block), c_sizeof(block))
  case ('promp_replayable')
    call promp_replayable(1)
  case ('promp_frags')
    call promp_frags(8)
  case ('promp_recompute')
    call promp_recompute(promp_dynamic)
  case ('promp_sdc_checkpoint')
    call promp_sdc_checkpoint()
  case ('promp_sdc_detect')
    call promp_sdc_detect()
  case ('promp_fail')
    call promp_replayable(1)
    total = sum_of(c_funloc(fails))
    value = failed
  case ('promp_failures')
    call promp_replayable(1)
    total = sum_of(c_null_funptr)
    n = promp_failures(list, 4_c_size_t)
    value = first_of(list, n)
  case ('promp_failures_sized')
    call promp_replayable(1)
    total = sum_of(c_null_funptr)
    n = promp_failures_sized(list, 4_c_size_t, c_sizeof(list(1)))
    value = first_of(list, n)
  case ('promp_stats')
    total = sum_of(c_null_funptr)
    call promp_stats(s)
    value = s%regions
  case ('promp_stats_sized')
    total = sum_of(c_null_funptr)
    if (promp_stats_sized(s, c_sizeof(s)) /= merge(c_sizeof(s), 0_c_size_t, promp_present())) stop 1
    value = s%regions
  case default
    stop 2
  end select
  if (total == 0) total = sum_of(c_null_funptr)
  print '(i0,1x,i0)', value, total
end program
