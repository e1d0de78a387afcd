# Where the Makefile beside this one, of an installation, has its parts, and puts the plugin.
ANALYSIS := libpromp_analysis.a
LAYOUTS := layouts.h
OUT := ../gcc-$(shell $(GCC) -dumpfullversion)
