! Maps on HEALPix' mesh of the sphere, by its own modules: the median of discs around each pixel, other
! resolutions and orders, and how far it is to the next hole of a mask.
program sphere
  use healpix_types
  use pix_tools
  use udgrade_nr
  use mask_tools
  implicit none
  integer(I4B) :: nside, npix, p, round
  integer(I8B) :: seed
  real(DP), allocatable :: map(:), smooth(:), coarse(:), distance(:)
  integer(I4B), allocatable :: mask(:)
  character(len=20) :: text

  call get_command_argument(1, text)
  read (text, *) nside
  npix = nside2npix(nside)
  allocate (map(0:npix-1), smooth(0:npix-1), distance(0:npix-1), mask(0:npix-1), coarse(0:npix/4-1))
  seed = 12345
  do p = 0, npix - 1
    seed = mod(seed * 1103515245_I8B + 12345_I8B, 2147483648_I8B)
    map(p) = seed / 2147483648.0_DP
  end do
  do round = 1, 3
    call medfiltmap(map, 3.0_DP / nside, smooth, nest=1)
    call udgrade_nest(smooth, nside, coarse, nside / 2)
    mask = 1
    where (smooth < 0.35_DP) mask = 0
    call dist2holes_nest(nside, mask, distance)
    call convert_nest2ring(nside, smooth)
    call convert_ring2nest(nside, smooth)
    map = smooth + distance * 0.1_DP
    print '(i0, 3es24.15)', count(mask == 0), sum(smooth), sum(coarse), sum(distance)
  end do
end program sphere

! Of the library for files, which is not linked: the program has none.
subroutine ftvers(version)
  real :: version
  version = 3
end subroutine ftvers
subroutine ftexist(name, there, status)
  character(len=*) :: name
  integer :: there, status
  stop 1
end subroutine ftexist
