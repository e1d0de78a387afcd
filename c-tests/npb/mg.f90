! NPB MG in Fortran: V-cycles of a multigrid solver for the Poisson equation on a periodic cubic grid.
! Every operator writes to another array than it reads, so that an iteration can be executed again.
#include "npb.f90.inc"
module grids
  use npb
  implicit none
  !> Interior 1..n in each direction, one ghost layer; the newest values are in `u(:, :, :, now)`.
  type level
    integer :: n, now, rnow
    real(real64), allocatable :: u(:, :, :, :), r(:, :, :, :)
  end type
  real(real64) :: c(0:2)
contains
  !> Periodic ghost layers; inside a parallel region, as all that follows.
  subroutine wrap(a, n)
    integer, intent(in) :: n
    real(real64), intent(inout) :: a(0:n + 1, 0:n + 1, 0:n + 1)
    integer :: j, k
    !$omp do SCHEDULE
    do k = 1, n
      do j = 1, n
        a(0, j, k) = a(n, j, k)
        a(n + 1, j, k) = a(1, j, k)
      end do
      a(:, 0, k) = a(:, n, k)
      a(:, n + 1, k) = a(:, 1, k)
    end do
    !$omp do SCHEDULE
    do j = 0, n + 1
      a(:, j, 0) = a(:, j, n)
      a(:, j, n + 1) = a(:, j, 1)
    end do
  end subroutine

  !> Sums over the faces, edges and corners around a point.
  pure function around(a, n, i, j, k) result(s)
    integer, intent(in) :: n, i, j, k
    real(real64), intent(in) :: a(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64) :: s(0:2)
    s(0) = a(i - 1, j, k) + a(i + 1, j, k) + a(i, j - 1, k) + a(i, j + 1, k) + a(i, j, k - 1) + a(i, j, k + 1)
    s(1) = a(i, j - 1, k - 1) + a(i, j + 1, k - 1) + a(i, j - 1, k + 1) + a(i, j + 1, k + 1) &
      + a(i - 1, j, k - 1) + a(i + 1, j, k - 1) + a(i - 1, j, k + 1) + a(i + 1, j, k + 1) &
      + a(i - 1, j - 1, k) + a(i + 1, j - 1, k) + a(i - 1, j + 1, k) + a(i + 1, j + 1, k)
    s(2) = a(i - 1, j - 1, k - 1) + a(i + 1, j - 1, k - 1) + a(i - 1, j + 1, k - 1) + a(i + 1, j + 1, k - 1) &
      + a(i - 1, j - 1, k + 1) + a(i + 1, j - 1, k + 1) + a(i - 1, j + 1, k + 1) + a(i + 1, j + 1, k + 1)
  end function

  !> out = v - A u
  subroutine residual(u, v, out, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n + 1, 0:n + 1, 0:n + 1), v(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64), intent(inout) :: out(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64) :: s(0:2)
    integer :: i, j, k
    !$omp do SCHEDULE
    do k = 1, n
      do j = 1, n
        do i = 1, n
          s = around(u, n, i, j, k)
          out(i, j, k) = v(i, j, k) + 8d0 / 3 * u(i, j, k) - s(1) / 6 - s(2) / 12
        end do
      end do
    end do
    call wrap(out, n)
  end subroutine

  !> out = u + S r
  subroutine smooth(r, u, out, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: r(0:n + 1, 0:n + 1, 0:n + 1), u(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64), intent(inout) :: out(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64) :: s(0:2)
    integer :: i, j, k
    !$omp do SCHEDULE
    do k = 1, n
      do j = 1, n
        do i = 1, n
          s = around(r, n, i, j, k)
          out(i, j, k) = u(i, j, k) + c(0) * r(i, j, k) + c(1) * s(0) + c(2) * s(1)
        end do
      end do
    end do
    call wrap(out, n)
  end subroutine

  !> coarse = P fine: half weighting
  subroutine restrict_to(fine, coarse, m)
    integer, intent(in) :: m
    real(real64), intent(in) :: fine(0:2 * m + 1, 0:2 * m + 1, 0:2 * m + 1)
    real(real64), intent(inout) :: coarse(0:m + 1, 0:m + 1, 0:m + 1)
    real(real64) :: s(0:2)
    integer :: i, j, k
    !$omp do SCHEDULE
    do k = 1, m
      do j = 1, m
        do i = 1, m
          s = around(fine, 2 * m, 2 * i, 2 * j, 2 * k)
          coarse(i, j, k) = 0.5d0 * fine(2 * i, 2 * j, 2 * k) + 0.25d0 * s(0) + 0.125d0 * s(1) + 0.0625d0 * s(2)
        end do
      end do
    end do
    call wrap(coarse, m)
  end subroutine

  !> out = base + Q coarse: trilinear interpolation
  subroutine interpolate(coarse, base, out, m)
    integer, intent(in) :: m
    real(real64), intent(in) :: coarse(0:m + 1, 0:m + 1, 0:m + 1)
    real(real64), intent(in) :: base(0:2 * m + 1, 0:2 * m + 1, 0:2 * m + 1)
    real(real64), intent(inout) :: out(0:2 * m + 1, 0:2 * m + 1, 0:2 * m + 1)
    real(real64) :: s
    integer :: i, j, k, d
    !$omp do SCHEDULE
    do k = 1, 2 * m
      do j = 1, 2 * m
        do i = 1, 2 * m
          s = 0
          do d = 0, 7
            s = s + coarse((i + iand(d, 1)) / 2, (j + iand(d / 2, 1)) / 2, (k + d / 4) / 2)
          end do
          out(i, j, k) = base(i, j, k) + s / 8
        end do
      end do
    end do
    call wrap(out, 2 * m)
  end subroutine

  subroutine zero(a, n)
    integer, intent(in) :: n
    real(real64), intent(inout) :: a(0:n + 1, 0:n + 1, 0:n + 1)
    integer :: k
    !$omp do SCHEDULE
    do k = 0, n + 1
      a(:, :, k) = 0
    end do
  end subroutine

  !> +1 at the ten largest of the grid's random numbers, -1 at the ten smallest, else 0.
  subroutine charges(v, n)
    integer, intent(in) :: n
    real(real64), intent(inout) :: v(0:n + 1, 0:n + 1, 0:n + 1)
    real(real64) :: big(10), small(10), x
    integer :: bigp(3, 10), smallp(3, 10), i, j, k, m
    integer(int64) :: seed
    big = 0; small = 1; bigp = 1; smallp = 1
    seed = 314159265_int64
    do k = 1, n
      do j = 1, n
        do i = 1, n
          x = random(seed)
          if (x > big(1)) then
            m = count(x > big)
            big(1:m - 1) = big(2:m); bigp(:, 1:m - 1) = bigp(:, 2:m)
            big(m) = x; bigp(:, m) = [i, j, k]
          end if
          if (x < small(1)) then
            m = count(x < small)
            small(1:m - 1) = small(2:m); smallp(:, 1:m - 1) = smallp(:, 2:m)
            small(m) = x; smallp(:, m) = [i, j, k]
          end if
        end do
      end do
    end do
    do m = 1, 10
      v(bigp(1, m), bigp(2, m), bigp(3, m)) = 1
      v(smallp(1, m), smallp(2, m), smallp(3, m)) = -1
    end do
  end subroutine
end module

program mg
  use grids
  implicit none
  character(len=1) :: class
  type(level), allocatable, target :: g(:)
  real(real64), allocatable :: v(:, :, :), part(:)
  real(real64) :: want, norm
  integer :: top, n, iterations, it, l, k
  class = npb_class()
  c = [-3d0 / 8, 1d0 / 32, -1d0 / 64]
  iterations = 4
  select case (class)
  case ('S'); top = 5; want = 0.5307707005734d-4
  case ('W'); top = 7; want = 0.6467329375339d-5
  case ('A'); top = 8; want = 0.2433365309069d-5
  case ('B'); top = 8; want = 0.1800564401355d-5; iterations = 20; c = [-3d0 / 17, 1d0 / 33, -1d0 / 61]
  case default; stop 2
  end select
#ifdef TIMES
  iterations = TIMES * iterations
#endif
  n = 2**top
  allocate(g(top))
  do l = 1, top
    g(l)%n = 2**l; g(l)%now = 1; g(l)%rnow = 1
    allocate(g(l)%u(0:2**l + 1, 0:2**l + 1, 0:2**l + 1, 2), g(l)%r(0:2**l + 1, 0:2**l + 1, 0:2**l + 1, 2))
    g(l)%u = 0; g(l)%r = 0
  end do
  allocate(v(0:n + 1, 0:n + 1, 0:n + 1), part(n))
  v = 0
  call charges(v, n)
  !$omp parallel private(it, l, k)
  call wrap(v, n)
  call residual(g(top)%u(:, :, :, g(top)%now), v, g(top)%r(:, :, :, 1), n)
  do it = 1, iterations
#if PLACES == 3
    !$promp checkpoint
#endif
    do l = top, 2, -1
      call restrict_to(g(l)%r(:, :, :, g(l)%rnow), g(l - 1)%r(:, :, :, g(l - 1)%rnow), g(l - 1)%n)
    end do
    call zero(g(1)%u(:, :, :, g(1)%now), 2)
    call smooth_level(g(1))
    do l = 2, top - 1
      call zero(g(l)%u(:, :, :, 3 - g(l)%now), g(l)%n)
      call interpolate(g(l - 1)%u(:, :, :, g(l - 1)%now), g(l)%u(:, :, :, 3 - g(l)%now), &
        g(l)%u(:, :, :, g(l)%now), g(l - 1)%n)
      call residual(g(l)%u(:, :, :, g(l)%now), g(l)%r(:, :, :, g(l)%rnow), g(l)%r(:, :, :, 3 - g(l)%rnow), g(l)%n)
      !$omp single
      g(l)%rnow = 3 - g(l)%rnow
      !$omp end single
      call smooth_level(g(l))
    end do
    call interpolate(g(top - 1)%u(:, :, :, g(top - 1)%now), g(top)%u(:, :, :, g(top)%now), &
      g(top)%u(:, :, :, 3 - g(top)%now), n / 2)
    !$omp single
    g(top)%now = 3 - g(top)%now
    !$omp end single
    call residual(g(top)%u(:, :, :, g(top)%now), v, g(top)%r(:, :, :, 1), n)
    call smooth_level(g(top))
#if PLACES == 4
    !$promp checkpoint
#endif
    call residual(g(top)%u(:, :, :, g(top)%now), v, g(top)%r(:, :, :, 1), n)
  end do
  !$omp do SCHEDULE
  do k = 1, n
    part(k) = sum(g(top)%r(1:n, 1:n, k, 1)**2)
  end do
  !$omp end parallel
  norm = 0
  do k = 1, n
    norm = norm + part(k)
  end do
  norm = sqrt(norm / real(n, real64)**3)
  print '(a,es20.13)', 'norm ', norm
#ifdef TIMES
  call verdict('MG', class, norm <= want)
#else
  call verdict('MG', class, close_to(norm, want, 1d-8))
#endif
contains
  subroutine smooth_level(x)
    type(level), intent(inout) :: x
    call smooth(x%r(:, :, :, x%rnow), x%u(:, :, :, x%now), x%u(:, :, :, 3 - x%now), x%n)
    !$omp single
    x%now = 3 - x%now
    !$omp end single
  end subroutine
end program
