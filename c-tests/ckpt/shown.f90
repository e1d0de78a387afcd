! Steps whose sum does not depend on the number of threads, which is shown (argument: steps).
program shown
  use omp_lib
  use iso_fortran_env, only: int64, error_unit
  implicit none
  integer, parameter :: n = 20000
  integer(int64) :: a(n), b(n), x
  integer :: s, i, k, steps
  character(20) :: text
  call get_command_argument(1, text)
  read (text, *) steps
  a = 0
  write (error_unit, *) 'threads', omp_get_max_threads()
  if (omp_get_max_threads() > 1) write (0, '(a)') 'several'
  do s = 1, steps
    !$omp parallel private(x, k)
    if (s == 1 .and. omp_get_thread_num() == 0) write (0, *) 'told', omp_get_num_threads()
    !$omp do schedule(dynamic, 500)
    do i = 1, n
      x = a(i) + s
      do k = 1, 12
        x = ieor(x, shiftr(x, 31))
        x = x * 1181783497276652981_int64
      end do
      b(i) = x
    end do
    !$omp do
    do i = 1, n
      a(i) = b(n + 1 - i) + i
    end do
    !$omp end parallel
  end do
  x = 0
  do i = 1, n
    x = x * 31 + a(i)
  end do
  print *, x
  !$omp parallel
  if (omp_get_thread_num() == 0) write (0, '(a,i0)') 'teams of ', omp_get_num_threads()
  !$omp end parallel
end program
