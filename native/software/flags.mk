# What the software Metal is made with, said once: make includes this file (build.mk), Cargo's build script reads it. Every
# line is NAME = WORDS.

# The first of these that is installed; it has to be OLDEST_CLANG or newer.
# Older ones compile most kernels, but some of them wrong: 17 and 18 the sum of bfloats over a simdgroup.
CLANG_NAMES = clang-19 clang-20 clang-21 clang
OLDEST_CLANG = 19

# Objective-C as GNUstep is built on Debian and Ubuntu: GCC's runtime, manual retain and release.
OBJC_DIALECT = -fno-objc-arc -fobjc-runtime=gcc -fblocks -fexceptions -fobjc-exceptions -fconstant-string-class=NSConstantString -D_NATIVE_OBJC_EXCEPTIONS -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 -DGNU_RUNTIME=1
# In place of -fobjc-runtime=gcc for programs that use the library: subscripts, synthesised properties, exceptions of both
# kinds in Objective-C++. objc_runtime/SMTLModules.m says how that runs on GCC's runtime.
PROGRAM_RUNTIME = -fobjc-runtime=gnustep-1.6

C_STANDARD = -std=gnu17
CXX_STANDARD = -std=c++20
# Of the library alone: other threads may compile and run kernels while the process ends, so nothing that they use is destroyed.
LIBRARY_CXX_FLAGS = -fno-c++-static-destructors
# A frame that is larger than a guard page would reach over it, into another thread's stack: such a frame touches each page.
NATIVE_FLAGS = -O2 -g1 -fPIC -pthread -fno-strict-aliasing -fstack-clash-protection -Wall -Wextra
LIBRARIES = gnustep-base objc BlocksRuntime stdc++ pthread dl m
