! NPB FT in Fortran: a partial differential equation by forward and inverse 3-D fast Fourier transforms.
! Every pass writes to another array than it reads, so that an iteration can be executed again.
#include "npb.f90.inc"
module transform
  use npb
  implicit none
  integer :: nx, ny, nz, longest
  complex(real64), allocatable :: root(:)
  real(real64), parameter :: pi = 3.14159265358979323846d0
contains
  !> One line in place; sign -1 forward, 1 inverse, unscaled. Radix 2, decimation in time.
  subroutine fft_line(a, n, sign)
    integer, intent(in) :: n, sign
    complex(real64), intent(inout) :: a(0:n - 1)
    complex(real64) :: t, w
    integer :: i, j, k, bit, length
    j = 0
    do i = 1, n - 1
      bit = n / 2
      do while (iand(j, bit) /= 0)
        j = ieor(j, bit)
        bit = bit / 2
      end do
      j = ior(j, bit)
      if (i < j) then
        t = a(i); a(i) = a(j); a(j) = t
      end if
    end do
    length = 2
    do while (length <= n)
      do i = 0, n - 1, length
        do k = 0, length / 2 - 1
          w = root(k * (longest / length))
          if (sign > 0) w = conjg(w)
          t = a(i + k + length / 2) * w
          a(i + k + length / 2) = a(i + k) - t
          a(i + k) = a(i + k) + t
        end do
      end do
      length = 2 * length
    end do
  end subroutine

  !> b = FFT of a; a is overwritten. Inside a parallel region.
  subroutine fft3(a, b, sign)
    complex(real64), intent(inout) :: a(0:nx - 1, 0:ny - 1, 0:nz - 1), b(0:nx - 1, 0:ny - 1, 0:nz - 1)
    integer, intent(in) :: sign
    complex(real64) :: line(0:longest - 1)
    integer :: i, j, k
    !$omp do SCHEDULE
    do k = 0, nz - 1
      do j = 0, ny - 1
        line(0:nx - 1) = a(:, j, k)
        call fft_line(line, nx, sign)
        b(:, j, k) = line(0:nx - 1)
      end do
    end do
    !$omp do SCHEDULE
    do k = 0, nz - 1
      do i = 0, nx - 1
        line(0:ny - 1) = b(i, :, k)
        call fft_line(line, ny, sign)
        a(i, :, k) = line(0:ny - 1)
      end do
    end do
    !$omp do SCHEDULE
    do j = 0, ny - 1
      do i = 0, nx - 1
        line(0:nz - 1) = a(i, j, :)
        call fft_line(line, nz, sign)
        b(i, j, :) = line(0:nz - 1)
      end do
    end do
  end subroutine
end module

program ft
  use transform
  implicit none
  character(len=1) :: class
  complex(real64), allocatable :: u(:, :, :), w(:, :, :), x(:, :, :)
  real(real64), allocatable :: factor(:, :, :)
  real(real64), allocatable :: want(:, :)
  real(real64) :: re
  complex(real64) :: total
  integer(int64) :: seed
  integer :: i, j, k, it, q
  logical :: ok
  class = npb_class()
  select case (class)
  case ('S')
    nx = 64; ny = 64; nz = 64
    want = reshape([5.546087004964d+02, 4.845363331978d+02, 5.546385409189d+02, 4.865304269511d+02, &
      5.546148406171d+02, 4.883910722336d+02, 5.545423607415d+02, 4.901273169046d+02, &
      5.544255039624d+02, 4.917475857993d+02, 5.542683411902d+02, 4.932597244941d+02], [2, 6])
  case ('W')
    nx = 128; ny = 128; nz = 32
    want = reshape([5.673612178944d+02, 5.293246849175d+02, 5.631436885271d+02, 5.282149986629d+02, &
      5.594024089970d+02, 5.270996558037d+02, 5.560698047020d+02, 5.260027904925d+02, &
      5.530898991250d+02, 5.249400845633d+02, 5.504159734538d+02, 5.239212247086d+02], [2, 6])
  case ('A')
    nx = 256; ny = 256; nz = 128
    want = reshape([5.046735008193d+02, 5.114047905510d+02, 5.059412319734d+02, 5.098809666433d+02, &
      5.069376896287d+02, 5.098144042213d+02, 5.077892868474d+02, 5.101336130759d+02, &
      5.085233095391d+02, 5.104914655194d+02, 5.091487099959d+02, 5.107917842803d+02], [2, 6])
  case ('B')
    nx = 512; ny = 256; nz = 256
    want = reshape([5.177643571579d+02, 5.077803458597d+02, 5.154521291263d+02, 5.088249431599d+02, &
      5.146409228649d+02, 5.096208912659d+02, 5.142378756213d+02, 5.101023387619d+02, &
      5.139626667737d+02, 5.103976610617d+02, 5.137423460082d+02, 5.105948019802d+02, &
      5.135547056878d+02, 5.107404165783d+02, 5.133910925466d+02, 5.108576573661d+02, &
      5.132470705390d+02, 5.109577278523d+02, 5.131197729984d+02, 5.110460304483d+02, &
      5.130070319283d+02, 5.111252433800d+02, 5.129070537032d+02, 5.111968077718d+02, &
      5.128182883502d+02, 5.112616233064d+02, 5.127393733383d+02, 5.113203605551d+02, &
      5.126691062020d+02, 5.113735928093d+02, 5.126064276004d+02, 5.114218460548d+02, &
      5.125504076570d+02, 5.114656139760d+02, 5.125002331720d+02, 5.115053595966d+02, &
      5.124551951846d+02, 5.115415130407d+02, 5.124146770029d+02, 5.115744692211d+02], [2, 20])
  case default; stop 2
  end select
  longest = max(nx, ny, nz)
  allocate(root(0:longest / 2 - 1))
  root = [(cmplx(cos(2 * pi * i / longest), -sin(2 * pi * i / longest), real64), i = 0, longest / 2 - 1)]
  allocate(u(0:nx - 1, 0:ny - 1, 0:nz - 1), w(0:nx - 1, 0:ny - 1, 0:nz - 1), x(0:nx - 1, 0:ny - 1, 0:nz - 1))
  allocate(factor(0:nx - 1, 0:ny - 1, 0:nz - 1))
  ok = .true.
  !$omp parallel private(seed, re, i, j, k)
  !$omp do SCHEDULE
  do k = 0, nz - 1
    seed = iand(314159265_int64 * power(a13, 2_int64 * k * nx * ny), mask)
    do j = 0, ny - 1
      do i = 0, nx - 1
        re = random(seed)
        w(i, j, k) = cmplx(re, random(seed), real64)
      end do
    end do
  end do
  !$omp do SCHEDULE
  do k = 0, nz - 1
    do j = 0, ny - 1
      do i = 0, nx - 1
        factor(i, j, k) = exp(-4d-6 * pi * pi * (fold(i, nx) + fold(j, ny) + fold(k, nz)))
      end do
    end do
  end do
  call fft3(w, u, -1)
  !$omp end parallel
  do it = 1, size(want, 2)
    !$omp parallel
    !$omp do SCHEDULE
    do k = 0, nz - 1
      w(:, :, k) = u(:, :, k) * factor(:, :, k)**it
    end do
    call fft3(w, x, 1)
    !$omp end parallel
    total = 0
    do q = 1, 1024
      total = total + x(mod(q, nx), mod(3 * q, ny), mod(5 * q, nz))
    end do
    total = total / (real(nx, real64) * ny * nz)
    print '(a,i0,2es20.12)', 'checksum ', it, total
    ok = ok .and. close_to(total%re, want(1, it), 1d-12) .and. close_to(total%im, want(2, it), 1d-12)
  end do
  call verdict('FT', class, ok)
contains
  !> The square of the wave number.
  pure real(real64) function fold(i, n)
    integer, intent(in) :: i, n
    integer :: k
    k = mod(i + n / 2, n) - n / 2
    fold = real(k, real64)**2
  end function
end program
