! A program of two files (cells.f90).
program main
  use cells
  implicit none
  integer :: i, t
  allocate (now(200000), next(200000))
  do i = 1, size(now)
    now(i) = mod(i, 17)
    next(i) = 0
  end do
  do t = 1, 20
    call step()
    !$omp parallel do schedule(dynamic, 1000)
    do i = 1, size(now)
      if (now(i) > 1d9) print *, 'far too much'
      next(i) = now(i)
    end do
  end do
  print '(f12.6)', now(500)
end program
