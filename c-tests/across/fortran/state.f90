! A module with data and procedures that loops of another unit call.
module state
  implicit none
  integer, parameter :: n = 600, m = 20
  real(8) :: factor = 0.5d0
  real(8), allocatable :: field(:, :)
  integer :: calls = 0
contains
  pure real(8) function scaled(x)
    real(8), intent(in) :: x
    scaled = x*factor
  end function
  subroutine smooth(x, times)
    real(8), intent(inout) :: x
    integer, intent(in) :: times
    integer :: k
    do k = 1, times
      x = 0.5d0*(x + 2.0d0/x)
    end do
  end subroutine
  subroutine fill(column, x)
    real(8), intent(out) :: column(m)
    real(8), intent(in) :: x
    integer :: k
    do k = 1, m
      column(k) = x + k
    end do
  end subroutine
  subroutine count_it(x)
    real(8), intent(inout) :: x
    calls = calls + 1
    x = x + calls
  end subroutine
end module
