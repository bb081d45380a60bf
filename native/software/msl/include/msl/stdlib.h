// The standard library of the Metal Shading Language as one header, precompiled. What it defines is visible whichever
// of Metal's headers a source includes; see preprocess/ for these.
#pragma once

#include "arguments.h"
#include "array.h"
#include "builtins.h"
#include "geometric.h"
#include "initializer_list.h"
#include "integer.h"
#include "kernel.h"
#include "limits.h"
#include "logging.h"
#include "matrix.h"
#include "pack.h"
#include "reflection.h"
#include "relational.h"
#include "uniform.h"

#include <smtl/entry.h>
#include <smtl/execution.h>

// Metal's words, for sources alone: the library names its own variables so.
#define device SMTL_DEVICE
#define constant SMTL_CONSTANT
#define threadgroup SMTL_THREADGROUP
#define thread
