! NPB CG in Fortran: the smallest eigenvalue of a sparse symmetric matrix by inverse iteration, conjugate gradients inside.
! Dot products are summed in fixed blocks, so that they are the same on any number of threads; updates write to another array
! than they read, so that an iteration can be executed again.
#include "npb.f90.inc"
module matrix
  use npb
  implicit none
  integer :: n, nonzer
  integer, allocatable :: row(:), col(:)
  real(real64), allocatable :: val(:)
  integer, parameter :: blocks = 64
  real(real64) :: part(blocks)
contains
  !> A sparse vector with `nonzer` random elements at random places, the way the specification builds it.
  subroutine sprnvc(seed, v, iv)
    integer(int64), intent(inout) :: seed
    real(real64), intent(out) :: v(:)
    integer, intent(out) :: iv(:)
    integer :: nn1, nz, i
    real(real64) :: e, l
    nn1 = 1; nz = 0
    do while (nn1 < n)
      nn1 = 2 * nn1
    end do
    do while (nz < nonzer)
      e = random(seed); l = random(seed)
      i = int(l * nn1) + 1
      if (i > n) cycle
      if (any(iv(1:nz) == i)) cycle
      nz = nz + 1
      v(nz) = e; iv(nz) = i
    end do
  end subroutine

  !> The sum of weighted outer products of sparse random vectors, plus (0.1 - shift) on the diagonal.
  subroutine make_matrix(shift)
    real(real64), intent(in) :: shift
    real(real64), parameter :: rcond = 0.1d0
    integer(int64) :: seed
    integer, allocatable :: idx(:, :), length(:), start(:), used(:), c(:)
    real(real64), allocatable :: elt(:, :), a(:)
    real(real64) :: x, weight, ratio, scaled
    integer :: i, j, k, m, r, at
    allocate(idx(nonzer + 1, n), elt(nonzer + 1, n), length(n), start(n + 1), used(n))
    seed = 314159265_int64
    x = random(seed)
    start = 0
    do i = 1, n
      call sprnvc(seed, elt(:, i), idx(:, i))
      at = findloc(idx(1:nonzer, i), i, 1)
      length(i) = nonzer
      if (at == 0) then
        length(i) = nonzer + 1
        at = nonzer + 1
        idx(at, i) = i
      end if
      elt(at, i) = 0.5d0
      do k = 1, length(i)
        start(idx(k, i) + 1) = start(idx(k, i) + 1) + length(i)
      end do
    end do
    start(1) = 1
    do i = 1, n
      start(i + 1) = start(i + 1) + start(i)
    end do
    allocate(a(start(n + 1) - 1), c(start(n + 1) - 1))
    a = 0; used = 0
    weight = 1
    ratio = rcond**(1d0 / n)
    do i = 1, n
      do j = 1, length(i)
        r = idx(j, i)
        scaled = weight * elt(j, i)
        do k = 1, length(i)
          x = elt(k, i) * scaled
          if (idx(k, i) == r .and. r == i) x = x + rcond - shift
          do m = 0, used(r) - 1
            if (c(start(r) + m) == idx(k, i)) exit
          end do
          if (m == used(r)) then
            c(start(r) + m) = idx(k, i)
            used(r) = used(r) + 1
          end if
          a(start(r) + m) = a(start(r) + m) + x
        end do
      end do
      weight = weight * ratio
    end do
    allocate(row(n + 1), col(sum(used)), val(sum(used)))
    row(1) = 1
    do i = 1, n
      row(i + 1) = row(i) + used(i)
      val(row(i):row(i + 1) - 1) = a(start(i):start(i) + used(i) - 1)
      col(row(i):row(i + 1) - 1) = c(start(i):start(i) + used(i) - 1)
    end do
  end subroutine

  !> y = A x; inside a parallel region.
  subroutine multiply(x, y)
    real(real64), intent(in) :: x(:)
    real(real64), intent(out) :: y(:)
    integer :: i, k
    real(real64) :: s
    !$omp do SCHEDULE
    do i = 1, n
      s = 0
      do k = row(i), row(i + 1) - 1
        s = s + val(k) * x(col(k))
      end do
      y(i) = s
    end do
  end subroutine

  subroutine dot(a, b, answer)
    real(real64), intent(in) :: a(:), b(:)
    real(real64), intent(inout) :: answer
    integer :: k, i
    real(real64) :: s
    !$omp do SCHEDULE
    do k = 1, blocks
      s = 0
      do i = (k - 1) * n / blocks + 1, k * n / blocks
        s = s + a(i) * b(i)
      end do
      part(k) = s
    end do
    !$omp single
    s = 0
    do k = 1, blocks
      s = s + part(k)
    end do
    answer = s
    !$omp end single
  end subroutine
end module

program cg
  use matrix
  implicit none
  character(len=1) :: class
  real(real64) :: shift, want, zeta, rho, rho0, d, xz, zz, rn, alpha, beta
  real(real64), allocatable :: x(:), z(:), p(:), q(:), r(:), t(:)
  integer :: it, step, i, iterations
  class = npb_class()
  select case (class)
  case ('S'); n = 1400; nonzer = 7; iterations = 15; shift = 10; want = 8.5971775078648d0
  case ('W'); n = 7000; nonzer = 8; iterations = 15; shift = 12; want = 10.362595087124d0
  case ('A'); n = 14000; nonzer = 11; iterations = 15; shift = 20; want = 17.130235054029d0
  case ('B'); n = 75000; nonzer = 13; iterations = 75; shift = 60; want = 22.712745482631d0
  case default; stop 2
  end select
  call make_matrix(shift)
  allocate(x(n), z(n), p(n), q(n), r(n), t(n))
  x = 1
  zeta = 0
  do it = 1, iterations
    !$omp parallel private(alpha, beta, step)
    !$omp do SCHEDULE
    do i = 1, n
      q(i) = 0; z(i) = 0; r(i) = x(i); p(i) = x(i)
    end do
    call dot(r, r, rho)
    do step = 1, 25
      call multiply(p, q)
      call dot(p, q, d)
      alpha = rho / d
      !$omp do SCHEDULE
      do i = 1, n
        t(i) = z(i) + alpha * p(i)
      end do
      !$omp do SCHEDULE
      do i = 1, n
        z(i) = t(i)
      end do
      !$omp do SCHEDULE
      do i = 1, n
        t(i) = r(i) - alpha * q(i)
      end do
      !$omp do SCHEDULE
      do i = 1, n
        r(i) = t(i)
      end do
      !$omp single
      rho0 = rho
      !$omp end single
      call dot(r, r, rho)
      beta = rho / rho0
      !$omp do SCHEDULE
      do i = 1, n
        t(i) = r(i) + beta * p(i)
      end do
      !$omp do SCHEDULE
      do i = 1, n
        p(i) = t(i)
      end do
    end do
    call multiply(z, r)
    !$omp do SCHEDULE
    do i = 1, n
      t(i) = x(i) - r(i)
    end do
    call dot(t, t, rn)
    call dot(x, z, xz)
    call dot(z, z, zz)
    !$omp do SCHEDULE
    do i = 1, n
      x(i) = z(i) / sqrt(zz)
    end do
    !$omp end parallel
    zeta = shift + 1 / xz
    if (it == 1 .or. it == iterations) print '(a,i0,a,es13.6,a,f17.13)', 'iteration ', it, ' residual ', sqrt(rn), ' zeta ', zeta
  end do
  call verdict('CG', class, abs(zeta - want) <= 1d-10)
end program
