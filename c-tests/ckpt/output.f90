! A Fortran program that says something in every step: gfortran's library writes each line at once.
program output
  implicit none
  integer :: step, steps, i, k
  character(len=20) :: argument
  double precision :: s, x
  steps = 200
  call get_command_argument(1, argument)
  if (argument /= '') read (argument, *) steps
  do step = 1, steps
    s = 0
    !$omp parallel do reduction(+:s) private(x, k) schedule(dynamic, 8)
    do i = 1, 2000
      x = i + step
      do k = 1, 300
        x = x * 0.999d0 + 1
      end do
      s = s + nint(x)
    end do
    print *, 'step', step, s
  end do
end program
