! Fortran: the routines, loops, workshare, sections, locks, reductions, threadprivate, tasks.
module shared_data
  implicit none
  integer, save :: tp = 5
  !$omp threadprivate(tp)
end module

program routines
  use omp_lib
  use shared_data
  implicit none
  integer :: i, j, n, kind_of, sections, singles
  integer(omp_sched_kind) :: kind
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer(8) :: s
  real(8) :: a(200), b(200), d, top
  logical :: ok

  call omp_set_num_threads(4)
  print '(a,i0,1x,i0)', 'threads ', omp_get_max_threads(), omp_get_num_threads()
  call omp_set_schedule(omp_sched_guided, 7)
  call omp_get_schedule(kind, n)
  print '(a,i0,1x,i0)', 'schedule ', kind, n

  s = 0; d = 0; top = -1
  !$omp parallel do schedule(runtime) reduction(+:s,d) reduction(max:top)
  do i = 1, 200
    s = s + i
    d = d + 0.25d0 * i
    a(i) = i
    top = max(top, a(i))
  end do
  print '(a,i0,2f10.2)', 'sums ', s, d, top

  !$omp parallel workshare
  b = 2 * a + 1
  !$omp end parallel workshare
  print '(a,f12.2)', 'workshare ', sum(b)

  sections = 0; singles = 0
  !$omp parallel shared(sections, singles)
  !$omp sections
  !$omp section
  !$omp atomic
  sections = sections + 1
  !$omp section
  !$omp atomic
  sections = sections + 10
  !$omp end sections
  do j = 1, 20
    !$omp single
    singles = singles + 1
    !$omp end single
  end do
  !$omp end parallel
  print '(a,i0,1x,i0)', 'sections ', sections, singles

  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  n = 0
  !$omp parallel do schedule(dynamic, 3)
  do i = 1, 100
    call omp_set_lock(lock)
    n = n + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    call omp_set_nest_lock(nest)
    n = n + 0
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end do
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  print '(a,i0)', 'locks ', n

  tp = 8
  ok = .true.
  !$omp parallel copyin(tp) reduction(.and.:ok)
  ok = ok .and. tp == 8
  tp = tp + omp_get_thread_num()
  !$omp end parallel
  !$omp parallel reduction(.and.:ok)
  ok = ok .and. tp == 8 + omp_get_thread_num()
  !$omp end parallel
  print '(a,l1)', 'threadprivate ', ok

  n = 0
  !$omp parallel
  !$omp single
  do i = 1, 30
    !$omp task firstprivate(i)
    !$omp atomic
    n = n + i
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  print '(a,i0)', 'tasks ', n

  kind_of = 0
  !$omp parallel do ordered schedule(dynamic)
  do i = 1, 20
    !$omp ordered
    if (kind_of == i - 1) kind_of = i
    !$omp end ordered
  end do
  print '(a,i0,1x,l1,1x,i0)', 'ordered ', kind_of, omp_in_parallel(), omp_get_level()
end program
