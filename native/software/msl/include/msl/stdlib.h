// The standard library of the Metal Shading Language as one header, precompiled. What it defines is visible whichever of
// Metal's headers a source includes; see preprocess/ for these.
#pragma once

#include "scalar.h"
#include "type_traits.h"
#include "vector.h"
#include "packed.h"
#include "kernel.h"

