! Loops that call procedures of a module of another file, and a C function.
program main
  use state
  use iso_c_binding
  implicit none
  interface
    subroutine c_store(to, x) bind(c)
      import
      real(c_double), intent(out) :: to
      real(c_double), value :: x
    end subroutine
  end interface
  real(8) :: v(n), w(n)
  integer :: i, r
  allocate (field(m, n))
  v = 1
  do r = 1, 60
    !$omp parallel do
    do i = 1, n
      v(i) = dble(i + r)
      call smooth(v(i), 40)
    end do
    !$omp parallel do
    do i = 1, n
      call fill(field(:, i), scaled(v(i)))
    end do
    !$omp parallel do
    do i = 1, n
      call c_store(w(i), field(m, i))
    end do
  end do
  print '(es24.16)', sum(v) + sum(field) + sum(w)
end program
