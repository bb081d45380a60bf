// The standard library of the Metal Shading Language as one header, precompiled. What it defines is visible whichever
// of Metal's headers a source includes; see preprocess/ for these.
#pragma once

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

#include "arguments.h"
#include "logging.h"
#include "reflection.h"
#include "types.h"

#include <smtl/commands.h>
#include <smtl/entry.h>
#include <smtl/execution.h>
#include <smtl/function_tables.h>

// Metal's words, for sources alone: the library names its own variables so.
#define device SMTL_DEVICE
#define constant SMTL_CONSTANT
#define threadgroup SMTL_THREADGROUP
#define thread
