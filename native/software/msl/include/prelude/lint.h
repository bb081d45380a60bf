// The standard library for checking a source in clang's C++ for OpenCL, where pointers carry address spaces. Nothing
// here is executed: what needs the engine is declared alone.
#pragma once

#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION __cl_clang_variadic_functions : enable

// OpenCL's own type of this name cannot be passed to functions.
#define half _Float16

#include <msl/array.h>
#include <msl/builtins.h>
#include <msl/geometric.h>
#include <msl/initializer_list.h>
#include <msl/integer.h>
#include <msl/kernel.h>
#include <msl/limits.h>
#include <msl/matrix.h>
#include <msl/pack.h>
#include <msl/relational.h>
#include <msl/uniform.h>

#include "logging.h"

// None of these converts into another. The two that OpenCL derives from its global memory do convert, as every space
// but OpenCL's constant one, into a reference that names no space, such as that of a copy constructor or of `this`:
// objects in all of Metal's spaces can be copied and have members called.
#define device __attribute__((opencl_global_device))
#define constant const __attribute__((opencl_global_host))
#define threadgroup __attribute__((opencl_local))
#define thread __attribute__((opencl_private))

template <class T> threadgroup T *smtl_threadgroup_memory();

#include "lint_execution.h"
