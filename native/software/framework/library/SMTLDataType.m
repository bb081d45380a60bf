#import "SMTLDataType.h"

#include <stdbool.h>

/* A vector of 3 takes the room of one of 4. */
static size_t components_stored(size_t components) { return components == 3 ? 4 : components; }

/* Sets the size of the type's scalar and how many components and columns of them it has. */
static bool take_apart(MTLDataType type, size_t *scalar, size_t *components, size_t *columns) {
    static const struct {
        MTLDataType scalar;
        size_t size;
    } scalars[] = {
        {MTLDataTypeFloat, 4}, {MTLDataTypeHalf, 2},   {MTLDataTypeInt, 4},   {MTLDataTypeUInt, 4},
        {MTLDataTypeShort, 2}, {MTLDataTypeUShort, 2}, {MTLDataTypeChar, 1},  {MTLDataTypeUChar, 1},
        {MTLDataTypeBool, 1},  {MTLDataTypeLong, 8},   {MTLDataTypeULong, 8}, {MTLDataTypeBFloat, 2},
    };
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        /* Vectors of 2, 3 and 4 follow their scalar. */
        const NSUInteger number = type - scalars[i].scalar + 1;
        if (type >= scalars[i].scalar && number <= 4) {
            *scalar = scalars[i].size;
            *components = number;
            *columns = 1;
            return true;
        }
    }
    /* Matrices of 2 to 4 columns of 2 to 4 components each. */
    const bool is_float = type >= MTLDataTypeFloat2x2 && type <= MTLDataTypeFloat4x4;
    const bool is_half = type >= MTLDataTypeHalf2x2 && type <= MTLDataTypeHalf4x4;
    if (!is_float && !is_half) {
        return false;
    }
    const NSUInteger number = type - (is_float ? MTLDataTypeFloat2x2 : MTLDataTypeHalf2x2);
    *scalar = is_float ? 4 : 2;
    *components = number % 3 + 2;
    *columns = number / 3 + 2;
    return true;
}

size_t SMTLDataTypeSize(MTLDataType type) {
    size_t scalar, components, columns;
    if (!take_apart(type, &scalar, &components, &columns)) {
        return 0;
    }
    return scalar * components_stored(components) * columns;
}

size_t SMTLDataTypeAlignment(MTLDataType type) {
    size_t scalar, components, columns;
    return take_apart(type, &scalar, &components, &columns) ? scalar * components_stored(components) : 1;
}
