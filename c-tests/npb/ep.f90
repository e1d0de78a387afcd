! NPB EP in Fortran: pairs of Gaussian deviates by the polar method. Every block writes its sums to a place of its own, so that it
! can be computed again.
#include "npb.f90.inc"
program ep
  use npb
  implicit none
  integer, parameter :: block_log = 16
  character(len=1) :: class
  integer(int64) :: blocks, b, x
  integer :: m, i
  real(real64) :: sx, sy, wx, wy, u, v, t, f, bx, by
  real(real64), allocatable :: part(:, :)

  class = npb_class()
  select case (class)
  case ('S'); m = 24; wx = -3.247834652034740d3; wy = -6.958407078382297d3
  case ('W'); m = 25; wx = -2.863319731645753d3; wy = -6.320053679109499d3
  case ('A'); m = 28; wx = -4.295875165629892d3; wy = -1.580732573678431d4
  case default; stop 2
  end select
  blocks = 2_int64**(m - block_log)
  allocate(part(2, blocks))
  !$omp parallel do SCHEDULE private(x, bx, by, i, u, v, t, f)
  do b = 1, blocks
    x = iand(271828183_int64 * power(a13, 2 * (b - 1) * 2_int64**block_log), mask)
    bx = 0; by = 0
    do i = 1, 2**block_log
      u = 2 * random(x) - 1
      v = 2 * random(x) - 1
      t = u * u + v * v
      if (t <= 1) then
        f = sqrt(-2 * log(t) / t)
        bx = bx + u * f
        by = by + v * f
      end if
    end do
    part(1, b) = bx
    part(2, b) = by
  end do
  !$omp end parallel do
  sx = sum(part(1, :)); sy = sum(part(2, :))
  print '(a,2es23.15)', 'sums ', sx, sy
  call verdict('EP', class, close_to(sx, wx, 1d-8) .and. close_to(sy, wy, 1d-8))
end program
