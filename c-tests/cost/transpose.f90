! Matrices transposed: into another one, by blocks, and in place; with a scaling, so that all is used again.
module matrices
   implicit none
contains
   subroutine into(a, b)
      real(8), intent(in) :: a(:, :)
      real(8), intent(inout) :: b(:, :)
      integer :: i, j
      !$omp parallel do private(i)
      do j = 1, size(a, 2)
         do i = 1, size(a, 1)
            b(j, i) = a(i, j)
         end do
      end do
   end subroutine
   subroutine blocks(a, b, k)
      real(8), intent(in) :: a(:, :)
      real(8), intent(inout) :: b(:, :)
      integer, intent(in) :: k
      integer :: i, j, ii, jj
      !$omp parallel do collapse(2) private(i, j)
      do jj = 1, size(a, 2), k
         do ii = 1, size(a, 1), k
            do j = jj, min(jj + k - 1, size(a, 2))
               do i = ii, min(ii + k - 1, size(a, 1))
                  b(j, i) = b(j, i) + 0.5d0*a(i, j)
               end do
            end do
         end do
      end do
   end subroutine
   subroutine in_place(a)
      real(8), intent(inout) :: a(:, :)
      real(8) :: t
      integer :: i, j
      !$omp parallel do private(i, t) schedule(dynamic, 8)
      do j = 2, size(a, 2)
         do i = 1, j - 1
            t = a(i, j)
            a(i, j) = a(j, i)
            a(j, i) = t
         end do
      end do
   end subroutine
end module
program transpose_
   use matrices
   implicit none
   real(8), allocatable :: a(:, :), b(:, :)
   integer :: n, times, t, i, j
   character(16) :: arg
   n = 200
   times = 4
   call get_command_argument(1, arg)
   if (arg /= '') read (arg, *) n
   call get_command_argument(2, arg)
   if (arg /= '') read (arg, *) times
   allocate (a(n, n), b(n, n))
   do j = 1, n
      do i = 1, n
         a(i, j) = mod(i*7 + j*3, 31)*1d-2
      end do
   end do
   b = 0
   do t = 1, times
      call into(a, b)
      call blocks(a, b, 16)
      call in_place(b)
      a = 0.5d0*b
   end do
   print '(es20.12)', sum(a(::3, ::2))
end program
