! A module of a file of its own: a step of a cell, and what is said when it fails.
module cells
  implicit none
  integer, parameter :: n = 3000
  real(8) :: cell(n), source(n)
contains
  subroutine advance(c, by, steps)
    real(8), intent(inout) :: c
    real(8), intent(in) :: by
    integer, intent(in) :: steps
    integer :: k
    do k = 1, steps
      c = 0.5d0*c + 0.25d0*by + 1d0/(1d0 + c*c)
    end do
    if (c > 1d6) call complain(c)
  end subroutine
  subroutine complain(c)
    real(8), intent(in) :: c
    print *, 'a cell has ', c
    stop 3
  end subroutine
end module
