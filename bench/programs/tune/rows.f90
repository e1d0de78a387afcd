! Rows of a triangular product in Fortran, for bench/tune.py. Usage: rows SIZE EXECUTIONS
program rows
  use omp_lib
  implicit none
  integer :: n, executions, e, i, j
  character(16) :: text
  double precision, allocatable :: a(:, :), x(:), y(:)
  double precision :: start, half, finish
  call get_command_argument(1, text)
  read (text, *) n
  call get_command_argument(2, text)
  read (text, *) executions
  allocate (a(n, n), x(n), y(n))
  do j = 1, n
    x(j) = mod(j, 5)
    do i = 1, n
      a(i, j) = mod(i * j, 7)
    end do
  end do
  start = omp_get_wtime()
  half = start
  do e = 1, executions
    if (e == executions / 2 + 1) half = omp_get_wtime()
    !$omp parallel do schedule(runtime) private(i)
    do j = 1, n
      y(j) = 0
      do i = 1, j
        y(j) = y(j) + a(i, j) * x(i)
      end do
    end do
  end do
  finish = omp_get_wtime()
  print '(es16.9, 1x, es16.9, 1x, es22.15)', finish - start, finish - half, sum(y)
end program rows
