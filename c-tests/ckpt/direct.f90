! Fortran's files: records of a scratch file and of a named one are read, changed and written back; a sequential one is read, continued.
program direct
  use omp_lib
  implicit none
  integer, parameter :: n = 500, records = 40
  real(8) :: a(n), until
  integer :: i, step, steps, r, count
  character(len=1000) :: dir, word
  call get_command_argument(1, dir)
  call get_command_argument(2, word)
  read (word, *) steps
  open (11, status='scratch', access='direct', recl=8*n)
  open (12, file=trim(dir)//'/records', status='replace', access='direct', recl=8*n)
  open (13, file=trim(dir)//'/lines', status='replace')
  do r = 1, records
    a = r
    write (11, rec=r) a
    write (12, rec=r) a
  end do
  count = 0
  do step = 1, steps
    r = mod(step*7, records) + 1
    read (11 + mod(step, 2), rec=r) a
    !$omp parallel do
    do i = 1, n
      a(i) = a(i)*0.5d0 + mod(i*step, 17)
    end do
    until = omp_get_wtime() + 0.003d0
    !$omp parallel
    do while (omp_get_wtime() < until)
    end do
    !$omp end parallel
    write (11 + mod(step, 2), rec=r) a
    write (13, *) step, sum(a)
    if (mod(step, 10) == 0) then
      rewind (13)
      count = 0
      do
        read (13, *, end=1) i, a(1)
        count = count + i
      end do
1     backspace (13)
    end if
  end do
  do r = 1, records
    read (11, rec=r) a
    print *, r, sum(a)
    read (12, rec=r) a
    print *, r, sum(a), count
  end do
end program
