! Fortran modules in several files; a cell that fails is reported and ends the program.
program main
  use cells
  implicit none
  integer :: i, r
  cell = 1d0
  source = [(1d0/i, i=1, n)]
  do r = 1, 40
    !$omp parallel do
    do i = 1, n
      call advance(cell(i), source(i), 50)
      if (cell(i) /= cell(i)) then
        print *, 'cell ', i, ' is not a number'
        stop 3
      end if
    end do
  end do
  print '(es22.14)', sum(cell)
end program
