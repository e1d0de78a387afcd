! workshare, sections and single of Fortran: what P1 recomputes serially. Usage: workshare
program workshare
  implicit none
  integer, parameter :: n = 400
  integer :: step
  real(8) :: a(n, n), b(n, n), part(2)
  a = 1
  b = 2
  part = 0
  do step = 1, 6
    !$omp parallel
    !$omp workshare
    b = a * 0.5d0 + b
    a = b - a
    !$omp end workshare
    !$omp sections
    !$omp section
    part(1) = part(1) + sum(a(:, 1:n / 2))
    !$omp section
    part(2) = part(2) + sum(a(:, n / 2 + 1:))
    !$omp end sections
    !$omp single
    a(1, 1) = a(1, 1) + step
    !$omp end single
    !$omp end parallel
  end do
  print '(4f18.6)', sum(a), sum(b), part
end program
