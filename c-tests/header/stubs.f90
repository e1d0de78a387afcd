! The module of promp.f90, with libpromp-stubs.a: with and without the runtime.
program stubs
  use promp
  implicit none
  integer :: i
  real(8) :: total
  total = 0
  call promp_replayable(1)
  call promp_frags(2)
  call promp_recompute(promp_dynamic)
  call promp_potential_ckpt()
  !$omp parallel do reduction(+:total)
  do i = 0, 999
    total = total + i * 0.5d0
  end do
  print '(a,f0.1)', 'sum ', total
  write (0, '(a,i0,a,i0)') 'version ', promp_version(), ' fails ', promp_fail(1000, promp_kill)
end program
