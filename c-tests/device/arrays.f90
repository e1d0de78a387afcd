! Allocatable arrays: mapped before they are allocated; of a module that is on the device as a whole.
module fields
  implicit none
  real(8), allocatable :: f(:), g(:, :)
  real(8), pointer :: h(:) => null()
  !$omp declare target (f, g, h)
contains
  subroutine scale(by)
    !$omp declare target
    real(8), intent(in) :: by
    f(:) = by * f(:)
    g(:, 2) = by * g(:, 2)
  end subroutine
end module

program arrays
  use fields
  implicit none
  integer :: failures = 0
  real(8), allocatable :: a(:), b(:)
  !$omp target data map(a, b)
  allocate (a, source=[1d0, 2d0, 3d0])
  allocate (b, source=[4d0, 5d0])
  !$omp target map(always, tofrom: a)
  a(:) = 10 * a(:) + size(a)
  !$omp end target
  !$omp target
  b(:) = 10 * b(:) + size(b)
  !$omp end target
  !$omp end target data
  call check(all(a == [13, 23, 33]) .and. all(b == [42, 52]), 'allocated within a data region')

  allocate (f(100), g(10, 3), h(5))
  f = 1
  g = 2
  h = 3
  !$omp target enter data map(to: f, g, h)
  !$omp target map(alloc: f, g)
  call scale(3d0)
  !$omp end target
  !$omp target
  call scale(2d0)
  h(2) = sum(f)
  !$omp end target
  call check(size(f) == 100 .and. size(g) == 30, 'the host uses its own')
  !$omp target update from(h)
  !$omp target exit data map(from: f, g) map(delete: h)
  call check(all(f == 6) .and. all(g(:, 2) == 12) .and. all(g(:, 3) == 2), 'arrays of a module')
  call check(h(2) == 600 .and. h(1) == 3, 'a pointer of a module')
  if (failures == 0) print '(a)', 'all right'
  if (failures /= 0) stop 1
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (.not. ok) then
      failures = failures + 1
      print '(2a)', 'WRONG ', what
    end if
  end subroutine
end program
