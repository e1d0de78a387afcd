! A lattice of derived types, and a stencil on arrays with assumed shape, both updated in place.
module lattice
   implicit none
   type cell
      real(8) :: u, v, h, f(9)
   end type
contains
   subroutine collide(c, tau)
      type(cell), intent(inout) :: c(:, :)
      real(8), intent(in) :: tau
      integer :: i, j, k
      real(8) :: rho, e
      !$omp parallel do private(i, k, rho, e)
      do j = 1, size(c, 2)
         do i = 1, size(c, 1)
            rho = sum(c(i, j)%f)
            c(i, j)%u = (c(i, j)%f(2) - c(i, j)%f(4))/rho
            c(i, j)%v = (c(i, j)%f(3) - c(i, j)%f(5))/rho
            do k = 1, 9
               e = rho*(1 + 0.1d0*k*c(i, j)%u + 0.05d0*k*c(i, j)%v)/9
               c(i, j)%f(k) = c(i, j)%f(k) + (e - c(i, j)%f(k))/tau
            end do
         end do
      end do
   end subroutine
   subroutine smooth(h, g)
      real(8), intent(inout) :: h(:, :)
      real(8), intent(in) :: g(:, :)
      integer :: i, j
      !$omp parallel do private(i)
      do j = 2, size(h, 2) - 1
         do i = 2, size(h, 1) - 1
            h(i, j) = 0.5d0*h(i, j) + 0.125d0*(g(i - 1, j) + g(i + 1, j) + g(i, j - 1) + g(i, j + 1))
         end do
      end do
   end subroutine
end module
program fluid
   use lattice
   implicit none
   integer :: n, i, j, t, times
   character(16) :: word
   type(cell), allocatable :: c(:, :)
   real(8), allocatable :: h(:, :), g(:, :)
   n = 100; times = 1
   if (command_argument_count() > 0) then
      call get_command_argument(1, word)
      read (word, *) n
   end if
   if (command_argument_count() > 1) then
      call get_command_argument(2, word)
      read (word, *) times
   end if
   allocate (c(n, n), h(n, n), g(n, n))
   do j = 1, n
      do i = 1, n
         c(i, j)%f = 1 + 0.01d0*mod(i + 2*j, 7)
         c(i, j)%f(2) = c(i, j)%f(2) + 0.01d0*mod(i, 3)
         h(i, j) = mod(i*j, 13); g(i, j) = mod(i + j, 5)
      end do
   end do
   do t = 1, 20*times
      call collide(c, 1.7d0)
      call smooth(h, g)
      call smooth(g, h)
   end do
   print '(es20.9)', sum(c%f(3)) + sum(h) + sum(g)
end program
