/* Sizes of Metal's data types. */
#ifndef SMTL_DATA_TYPE_H
#define SMTL_DATA_TYPE_H

#import <Metal/MTLDataType.h>
#include <stddef.h>

/* Bytes of one value of a scalar, vector or matrix type; 0 for any other. */
size_t SMTLDataTypeSize(MTLDataType type);
size_t SMTLDataTypeAlignment(MTLDataType type);

#endif
