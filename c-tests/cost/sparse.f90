! Conjugate gradients on rows of unequal length, in allocatable arrays of a module, updated in place.
module system_of_rows
   implicit none
   integer :: n
   integer, allocatable :: first(:), column(:)
   real(8), allocatable :: a(:), x(:), r(:), p(:), q(:)
contains
   subroutine multiply(y, v)
      real(8), intent(out) :: y(:)
      real(8), intent(in) :: v(:)
      integer :: i, k
      real(8) :: s
      !$omp parallel do private(k, s)
      do i = 1, n
         s = 0
         do k = first(i), first(i + 1) - 1
            s = s + a(k)*v(column(k))
         end do
         y(i) = s
      end do
   end subroutine
   subroutine step(rho)
      real(8), intent(inout) :: rho
      real(8) :: d, alpha, rho_new
      integer :: i
      call multiply(q, p)
      d = 0
      !$omp parallel do reduction(+:d)
      do i = 1, n
         d = d + p(i)*q(i)
      end do
      alpha = rho/d
      rho_new = 0
      !$omp parallel do reduction(+:rho_new)
      do i = 1, n
         x(i) = x(i) + alpha*p(i)
         r(i) = r(i) - alpha*q(i)
         rho_new = rho_new + r(i)*r(i)
      end do
      !$omp parallel do
      do i = 1, n
         p(i) = r(i) + rho_new/rho*p(i)
      end do
      rho = rho_new
   end subroutine
end module
program sparse
   use system_of_rows
   implicit none
   integer :: i, k, m, t, times
   real(8) :: rho
   character(16) :: word
   n = 8000; times = 1
   if (command_argument_count() > 0) then
      call get_command_argument(1, word)
      read (word, *) n
   end if
   if (command_argument_count() > 1) then
      call get_command_argument(2, word)
      read (word, *) times
   end if
   allocate (first(n + 1), column(n*24), a(n*24), x(n), r(n), p(n), q(n))
   m = 1
   do i = 1, n
      first(i) = m
      column(m) = i; a(m) = 30; m = m + 1
      do k = 1, 8 + mod(i, 12)
         column(m) = 1 + mod(i*7 + k*k*131, n); a(m) = 1d0/(k + 1); m = m + 1
      end do
   end do
   first(n + 1) = m
   do t = 1, times
      x = 0; r = 1; p = r; rho = n
      do k = 1, 25
         call step(rho)
      end do
   end do
   print '(es20.9)', sum(x)
end program
