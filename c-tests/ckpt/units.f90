! Fortran's files by name: lines appended, a file that must be new, one that is replaced, one that is read and deleted.
program units
  use omp_lib
  implicit none
  integer :: i, step, steps, last, e
  real(8) :: a(1000), until
  character(len=1000) :: dir, word
  call get_command_argument(1, dir)
  call get_command_argument(2, word)
  read (word, *) steps
  a = 0
  open (10, file=trim(dir)//'/energy', status='replace')
  close (10)
  open (10, file=trim(dir)//'/state', status='replace')
  write (10, *) 0
  close (10)
  do step = 1, steps
    !$omp parallel do
    do i = 1, 1000
      a(i) = a(i)*0.5d0 + mod(i*step, 17)
    end do
    until = omp_get_wtime() + 0.002d0
    !$omp parallel
    do while (omp_get_wtime() < until)
    end do
    !$omp end parallel
    open (10, file=trim(dir)//'/energy', position='append')
    write (10, *) step, sum(a)
    close (10)
    open (10, file=trim(dir)//'/state', status='old')
    read (10, *) last
    rewind (10)
    write (10, *) last + step
    close (10)
    write (word, '(a,i0)') '/step', step
    open (10, file=trim(dir)//trim(word), status='new', iostat=e)
    if (e /= 0) print *, 'not new:', step, e
    write (10, *) a(1:3)
    close (10)
    if (step > 5) then
      write (word, '(a,i0)') '/step', step - 5
      open (10, file=trim(dir)//trim(word), status='old', iostat=e)
      if (e /= 0) print *, 'not there:', step, e
      close (10, status='delete')
    end if
  end do
  print *, last, sum(a)
end program
