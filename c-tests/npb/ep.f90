! NPB EP in Fortran: pairs of Gaussian deviates by the polar method. The loop over blocks has a dynamic schedule; every block
! writes its sums to a place of its own, so that it can be computed again.
program ep
  use iso_fortran_env, only: int64, real64
  implicit none
  integer(int64), parameter :: mask = 2_int64**46 - 1, a = 1220703125_int64
  integer, parameter :: block_log = 16
  character(len=1) :: class
  integer(int64) :: blocks, b, x
  integer :: m, i
  real(real64) :: sx, sy, wx, wy, u, v, t, f, bx, by
  real(real64), allocatable :: part(:, :)

  class = 'S'
  if (command_argument_count() > 0) call get_command_argument(1, class)
  select case (class)
  case ('S'); m = 24; wx = -3.247834652034740d3; wy = -6.958407078382297d3
  case ('W'); m = 25; wx = -2.863319731645753d3; wy = -6.320053679109499d3
  case ('A'); m = 28; wx = -4.295875165629892d3; wy = -1.580732573678431d4
  case default; stop 2
  end select
  blocks = 2_int64**(m - block_log)
  allocate(part(2, blocks))
  !$omp parallel do schedule(dynamic, 4) private(x, bx, by, i, u, v, t, f)
  do b = 1, blocks
    x = iand(271828183_int64 * power(a, 2 * (b - 1) * 2_int64**block_log), mask)
    bx = 0; by = 0
    do i = 1, 2**block_log
      x = iand(x * a, mask); u = 2 * scale(real(x, real64), -46) - 1
      x = iand(x * a, mask); v = 2 * scale(real(x, real64), -46) - 1
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
  if (abs((sx - wx) / wx) <= 1d-8 .and. abs((sy - wy) / wy) <= 1d-8) then
    print '(3a)', 'EP class ', class, ': verification successful'
  else
    print '(3a)', 'EP class ', class, ': verification FAILED'
    stop 1
  end if
contains
  pure integer(int64) function power(base, n)
    integer(int64), intent(in) :: base, n
    integer(int64) :: k, q
    power = 1; k = n; q = base
    do while (k > 0)
      if (iand(k, 1_int64) == 1) power = iand(power * q, mask)
      q = iand(q * q, mask)
      k = k / 2
    end do
  end function
end program
