! Fortran's maps: descriptors, allocatables, pointers, derived types.
program maps
  use omp_lib
  implicit none
  type :: field
    integer :: n
    real(8), pointer :: v(:)
  end type
  real(8), allocatable :: a(:, :), b(:)
  real(8), pointer :: p(:)
  real(8), target :: t(50)
  real(8) :: fixed(10), s
  type(field) :: f
  integer :: i, failures, dev
  logical :: shared
  failures = 0
  dev = omp_get_default_device()
  !$omp target map(from: shared)
  shared = omp_is_initial_device()
  !$omp end target
  allocate (a(10, 20), b(100))
  a = 1
  b = 2
  !$omp target map(tofrom: a) map(to: b)
  a(3, :) = a(3, :) + b(1:20)
  !$omp end target
  call check(all(a(3, :) == 3d0) .and. all(a(4, :) == 1d0), 'allocatable')
  t = 5
  p => t(11:30)
  !$omp target data map(tofrom: p)
  !$omp target
  p(1) = 7
  p(20) = 8
  !$omp end target
  !$omp end target data
  call check(t(11) == 7 .and. t(30) == 8 .and. t(12) == 5, 'pointer')
  fixed = 1
  call explicit(fixed, 10)
  call check(fixed(10) == 11, 'explicit shape')
  call assumed(b(1:100:1))
  call check(b(100) == 102, 'assumed shape')
  f%n = 30
  allocate (f%v(30))
  f%v = 4
  !$omp target enter data map(to: f) map(to: f%v)
  !$omp target map(alloc: f%v)
  do i = 1, 30
    f%v(i) = f%v(i) + i
  end do
  !$omp end target
  !$omp target exit data map(from: f%v)
  call check(f%v(30) == 34, 'component')
  s = 0
  !$omp target teams distribute parallel do map(tofrom: s) reduction(+: s)
  do i = 1, 100
    s = s + i
  end do
  call check(s == 5050, 'reduction')
  b = 1
  !$omp target enter data map(to: b)
  b = 0
  !$omp target map(alloc: b)
  b = b + 1
  !$omp end target
  !$omp target update from(b)
  call check(merge(all(b == 1), all(b == 2), shared), 'update')
  !$omp target exit data map(delete: b)
  call check(omp_get_num_devices() == 0 .or. .not. shared, 'on the device')
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
  subroutine explicit(x, n)
    integer, intent(in) :: n
    real(8) :: x(n)
    !$omp target map(tofrom: x)
    x(n) = x(n) + n
    !$omp end target
  end subroutine
  subroutine assumed(x)
    real(8) :: x(:)
    !$omp target map(tofrom: x)
    x(size(x)) = x(size(x)) + 100
    !$omp end target
  end subroutine
end program
