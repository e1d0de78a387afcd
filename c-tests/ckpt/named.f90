! Variables of a module, some of them allocatable, and a common block's; then the program says
! so, and waits.
module fields
  implicit none
  real(8), allocatable :: u(:, :), never(:)
  real(4) :: fixed(2, 3)
  complex(8) :: z(4)
  integer :: steps = 7
  character(5) :: word = 'abcde'
end module

program named
  use fields
  implicit none
  integer :: i, j
  integer(8) :: tally
  common /shared/ tally
  allocate (u(0:3, 5))
!$omp parallel do private(i)
  do j = 1, 5
    do i = 0, 3
      u(i, j) = i + 10 * j
    end do
  end do
  fixed = reshape([1., 2., 3., 4., 5., 6.], [2, 3])
  z = [(cmplx(i, -i, 8), i=1, 4)]
  tally = 123456789012_8
  print '(a)', 'set'
  flush (6)
  do
    call sleep(1)
  end do
end program
