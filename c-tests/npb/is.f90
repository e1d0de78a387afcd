! NPB IS in Fortran: ranks of integer keys by counting, ten times, and a full sort at the end.
#include "npb.f90.inc"
program is
  use npb
  implicit none
  integer, parameter :: blocks = 16, iterations = 10
  character(len=1) :: class
  integer :: n, most, b, i, it, k, rank, t
  integer(int64) :: x, hash
  integer, allocatable :: key(:), sorted(:), counts(:, :), base(:, :), next(:)
  real(real64) :: s
  class = npb_class()
  select case (class)
  case ('S'); n = 2**16; most = 2**11
  case ('W'); n = 2**20; most = 2**16
  case ('A'); n = 2**23; most = 2**19
  case default; stop 2
  end select
  allocate(key(0:n - 1), sorted(0:n - 1), counts(0:most - 1, 0:blocks - 1), base(0:most - 1, 0:blocks - 1))
  !$omp parallel do SCHEDULE private(x, s, i)
  do b = 0, blocks - 1
    x = iand(314159265_int64 * power(a13, 4 * int(n / blocks, int64) * b), mask)
    do i = n / blocks * b, n / blocks * (b + 1) - 1
      s = random(x)
      s = s + random(x)
      s = s + random(x)
      s = s + random(x)
      key(i) = int(most / 4 * s)
    end do
  end do
  hash = 0
  do it = 1, iterations
    key(it) = it
    key(it + iterations) = most - it
    !$omp parallel do SCHEDULE private(i)
    do b = 0, blocks - 1
      counts(:, b) = 0
      do i = n / blocks * b, n / blocks * (b + 1) - 1
        counts(key(i), b) = counts(key(i), b) + 1
      end do
    end do
    rank = 0
    do k = 0, most - 1
      do b = 0, blocks - 1
        base(k, b) = rank
        rank = rank + counts(k, b)
      end do
    end do
    do t = 0, 4
      hash = mod(hash * 31 + base(key(n / 5 * t), 0), 1000000007_int64)
    end do
  end do
  ! Each block places its keys where its counts say; a copy of the start ranks lets it be done again.
  !$omp parallel do SCHEDULE private(i, next)
  do b = 0, blocks - 1
    allocate(next(0:most - 1))
    next = base(:, b)
    do i = n / blocks * b, n / blocks * (b + 1) - 1
      sorted(next(key(i))) = key(i)
      next(key(i)) = next(key(i)) + 1
    end do
    deallocate(next)
  end do
  print '(a,i0)', 'ranks ', hash
  call verdict('IS', class, all(sorted(0:n - 2) <= sorted(1:n - 1)))
end program
