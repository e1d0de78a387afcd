! Directives in Fortran: fragments and the schedule of lost work.
program directives
  implicit none
  integer, parameter :: n = 12000
  real(8) :: a(n)
  integer :: i
  a = 0
  !$promp frags(5)
  !$omp parallel do
  do i = 1, n
    a(i) = a(i) + i - 1
  end do
  !$omp parallel
  !$promp frags(n / 4000)
  !$promp recompute(static)
  !$omp do
  do i = 1, n
    a(i) = 2 * a(i)
  end do
  !$omp do
  do i = 1, 40
    a(i) = a(i) + 1
  end do
  !$omp end parallel
  !$promp checkpoint
  print '(f0.1)', sum(a)
end program
