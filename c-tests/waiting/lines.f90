! Lines of a grid solved one behind the other, in place; each iteration waits for the one before.
program lines
   implicit none
   real(8), allocatable :: a(:, :)
   integer :: n, times, i, j, t
   character(16) :: arg
   n = 100
   times = 1
   call get_command_argument(1, arg)
   if (arg /= '') read (arg, *) n
   call get_command_argument(2, arg)
   if (arg /= '') read (arg, *) times
   allocate (a(n, n))
   do j = 1, n
      do i = 1, n
         a(i, j) = mod(i*7 + j*3, 31)
      end do
   end do
   do t = 1, times
      !$omp parallel do ordered(2) private(i)
      do j = 2, n
         do i = 2, n
            !$omp ordered depend(sink: j - 1, i) depend(sink: j, i - 1)
            a(i, j) = 0.5d0*a(i, j) + 0.3d0*a(i, j - 1) + 0.19d0*a(i - 1, j)
            !$omp ordered depend(source)
         end do
      end do
   end do
   print '(es24.15)', sum(a)
end program
