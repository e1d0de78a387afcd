! Shallow-water equations as in swim.c, in Fortran. Usage: swim [N [STEPS]].
program swim
  implicit none
  integer :: n, m, steps, i, j, step
  character(16) :: text
  real(8), allocatable, dimension(:, :) :: u, v, p, unew, vnew, pnew, uold, vold, pold, cu, cv, z, h, psi
  real(8) :: dx, dt, tdt, a, alpha, el, pi, di, pcf, fs, t8, tx, al
  n = 127
  steps = 20
  if (command_argument_count() >= 1) then
    call get_command_argument(1, text)
    read (text, *) n
  end if
  if (command_argument_count() >= 2) then
    call get_command_argument(2, text)
    read (text, *) steps
  end if
  m = n + 1
  allocate (u(m, m), v(m, m), p(m, m), unew(m, m), vnew(m, m), pnew(m, m), uold(m, m), vold(m, m), pold(m, m))
  allocate (cu(m, m), cv(m, m), z(m, m), h(m, m), psi(m, m))
  dx = 1d5
  dt = 90
  a = 1d6
  alpha = 0.001d0
  el = n * dx
  pi = 4 * atan(1d0)
  di = 2 * pi / n
  pcf = pi * pi * a * a / (el * el)
  fs = 4 / dx
  do j = 1, m
    do i = 1, m
      psi(i, j) = a * sin((i - 0.5d0) * di) * sin((j - 0.5d0) * di)
      p(i, j) = pcf * (cos(2 * (i - 1) * di) + cos(2 * (j - 1) * di)) + 50000
    end do
  end do
  u = 0
  v = 0
  do j = 1, n
    do i = 1, n
      u(i + 1, j) = -(psi(i + 1, j + 1) - psi(i + 1, j)) / dx
      v(i, j + 1) = (psi(i + 1, j + 1) - psi(i, j + 1)) / dx
    end do
  end do
  u(1, 1:n) = u(m, 1:n)
  v(m, 2:m) = v(1, 2:m)
  u(2:m, m) = u(2:m, 1)
  v(1:n, 1) = v(1:n, m)
  u(1, m) = u(m, 1)
  v(m, 1) = v(1, m)
  uold = u
  vold = v
  pold = p
  unew = 0
  vnew = 0
  pnew = 0
  cu = 0
  cv = 0
  z = 0
  h = 0
  tdt = dt
  !$omp target data map(tofrom: u, v, p) map(to: uold, vold, pold, unew, vnew, pnew, cu, cv, z, h)
  do step = 1, steps
    !$omp target teams distribute parallel do collapse(2)
    do j = 1, n
      do i = 1, n
        cu(i + 1, j) = 0.5d0 * (p(i + 1, j) + p(i, j)) * u(i + 1, j)
        cv(i, j + 1) = 0.5d0 * (p(i, j + 1) + p(i, j)) * v(i, j + 1)
        z(i + 1, j + 1) = (fs * (v(i + 1, j + 1) - v(i, j + 1)) - fs * (u(i + 1, j + 1) - u(i + 1, j))) &
                          / (p(i, j) + p(i + 1, j) + p(i + 1, j + 1) + p(i, j + 1))
        h(i, j) = p(i, j) + 0.25d0 * (u(i + 1, j)**2 + u(i, j)**2 + v(i, j + 1)**2 + v(i, j)**2)
      end do
    end do
    !$omp target teams distribute parallel do
    do j = 1, n
      cu(1, j) = cu(m, j)
      cv(m, j + 1) = cv(1, j + 1)
      z(1, j + 1) = z(m, j + 1)
      h(m, j) = h(1, j)
    end do
    !$omp target teams distribute parallel do
    do i = 1, m
      if (i < m) then
        cu(i + 1, m) = cu(i + 1, 1)
        cv(i, 1) = cv(i, m)
        z(i + 1, 1) = z(i + 1, m)
        h(i, m) = h(i, 1)
      else
        cu(1, m) = cu(m, 1)
        cv(m, 1) = cv(1, m)
        z(1, 1) = z(m, m)
        h(m, m) = h(1, 1)
      end if
    end do
    t8 = tdt / 8
    tx = tdt / dx
    !$omp target teams distribute parallel do collapse(2)
    do j = 1, n
      do i = 1, n
        unew(i + 1, j) = uold(i + 1, j) + t8 * (z(i + 1, j + 1) + z(i + 1, j)) &
                         * (cv(i + 1, j + 1) + cv(i, j + 1) + cv(i, j) + cv(i + 1, j)) &
                         - tx * (h(i + 1, j) - h(i, j))
        vnew(i, j + 1) = vold(i, j + 1) - t8 * (z(i + 1, j + 1) + z(i, j + 1)) &
                         * (cu(i + 1, j + 1) + cu(i, j + 1) + cu(i, j) + cu(i + 1, j)) &
                         - tx * (h(i, j + 1) - h(i, j))
        pnew(i, j) = pold(i, j) - tx * (cu(i + 1, j) - cu(i, j)) - tx * (cv(i, j + 1) - cv(i, j))
      end do
    end do
    !$omp target teams distribute parallel do
    do j = 1, n
      unew(1, j) = unew(m, j)
      vnew(m, j + 1) = vnew(1, j + 1)
      pnew(m, j) = pnew(1, j)
    end do
    !$omp target teams distribute parallel do
    do i = 1, m
      if (i < m) then
        unew(i + 1, m) = unew(i + 1, 1)
        vnew(i, 1) = vnew(i, m)
        pnew(i, m) = pnew(i, 1)
      else
        unew(1, m) = unew(m, 1)
        vnew(m, 1) = vnew(1, m)
        pnew(m, m) = pnew(1, 1)
      end if
    end do
    al = merge(alpha, 0d0, step > 1)
    !$omp target teams distribute parallel do collapse(2)
    do j = 1, m
      do i = 1, m
        uold(i, j) = u(i, j) + al * (unew(i, j) - 2 * u(i, j) + uold(i, j))
        vold(i, j) = v(i, j) + al * (vnew(i, j) - 2 * v(i, j) + vold(i, j))
        pold(i, j) = p(i, j) + al * (pnew(i, j) - 2 * p(i, j) + pold(i, j))
        u(i, j) = unew(i, j)
        v(i, j) = vnew(i, j)
        p(i, j) = pnew(i, j)
      end do
    end do
    tdt = 2 * dt
  end do
  !$omp end target data
  print '(3es25.17)', sum(abs(p)), sum(abs(u)), sum(abs(v))
end program
