! Prints promp's version: 0 without it.
program version
  use promp
  print '(i0)', promp_version()
end program
