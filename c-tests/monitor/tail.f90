! The same of a module's and a contained procedure.
module steps
  implicit none
  double precision, volatile :: a(400)
contains
  subroutine step()
    !$omp parallel num_threads(2) ! step
    a(1) = a(1) + 1
    !$omp end parallel
  end subroutine
end module

program tail
  use steps
  implicit none
  call step()
  call inner()
  print '(a)', 'done'
contains
  subroutine inner()
    !$omp parallel num_threads(2) ! inner
    a(2) = a(2) + 1
    !$omp end parallel
  end subroutine
end program
