! As wrong.c: an allocatable array, and one of a module, are said to be dead, and are read.
module fields
  implicit none
  real(8) :: fixed(65536), sums(65536)
end module

program wrong
  use, intrinsic :: iso_c_binding
  use promp
  use fields
  implicit none
  real(8), allocatable, target :: kept(:), work(:)
  integer :: t, i, steps
  character(16) :: what, number
  call get_command_argument(1, what)
  call get_command_argument(2, number)
  read (number, *) steps
  allocate (kept(65536), work(65536))
  kept = 1
  fixed = 2
  sums = 0
  do t = 1, steps
    call promp_dead(c_loc(work), 65536 * 8_c_size_t)
    if (what == 'h') call promp_dead(c_loc(kept), 65536 * 8_c_size_t)
    if (what == 's') call say(fixed)
    call promp_potential_ckpt()
!$omp parallel do
    do i = 1, 65536
      work(i) = fixed(i) + kept(i) * t
    end do
!$omp parallel do
    do i = 1, 65536
      sums(i) = sums(i) * 0.25d0 + work(i)
    end do
  end do
  print '(es24.16)', sum(sums)
contains
  subroutine say(array)
    real(8), target :: array(65536)
    call promp_dead(c_loc(array), 65536 * 8_c_size_t)
  end subroutine
end program
