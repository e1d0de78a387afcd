! A module whose loops are executed by main.f90.
module cells
  implicit none
  real(8), allocatable :: now(:), next(:)
contains
  subroutine step()
    integer :: i
    !$omp parallel do
    do i = 2, size(now) - 1
      next(i) = 0.5d0 * (now(i - 1) + now(i + 1))
    end do
    !$omp parallel do schedule(dynamic, 1000)
    do i = 2, size(now) - 1
      now(i) = now(i) + 0.5d0 * (next(i) - now(i))
    end do
  end subroutine
end module
