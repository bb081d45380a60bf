#import "SMTLMatrix.h"

#define UNSIGNED(value) (unsigned long)(value)

SMTLBatch SMTLCheckBatch(const char *where, NSUInteger start, NSUInteger size, NSUInteger available) {
    SMTL_REQUIRE(start < available, where, @"batchStart %lu is not below the number of matrices, %lu", UNSIGNED(start),
                 UNSIGNED(available));
    if (size == NSUIntegerMax) size = available - start;
    SMTL_REQUIRE(size <= available - start, where,
                 @"batchSize %lu from batchStart %lu exceeds the number of matrices, %lu", UNSIGNED(size),
                 UNSIGNED(start), UNSIGNED(available));
    return (SMTLBatch){start, size};
}

SMTLRegion SMTLMatrixRegion(const char *where, NSString *name, MPSMatrix *matrix, MTLOrigin origin, NSUInteger rows,
                            NSUInteger columns, SMTLBatch batch) {
    SMTL_REQUIRE(origin.z == 0, where, @"the %@ matrix's origin has z %lu, which must be 0", name, UNSIGNED(origin.z));
    SMTL_REQUIRE(origin.x <= [matrix rows] && rows <= [matrix rows] - origin.x, where,
                 @"%lu rows from row %lu exceed the %@ matrix's %lu rows", UNSIGNED(rows), UNSIGNED(origin.x), name,
                 UNSIGNED([matrix rows]));
    SMTL_REQUIRE(origin.y <= [matrix columns] && columns <= [matrix columns] - origin.y, where,
                 @"%lu columns from column %lu exceed the %@ matrix's %lu columns", UNSIGNED(columns),
                 UNSIGNED(origin.y), name, UNSIGNED([matrix columns]));
    const NSUInteger size = smtl_type_size([matrix dataType]);
    return (SMTLRegion){
        .buffer = [matrix data],
        .offset = [matrix offset] + batch.start * [matrix matrixBytes] + origin.x * [matrix rowBytes] + origin.y * size,
        .tensor = {.type = [matrix dataType],
                   .rank = 3,
                   .lengths = {batch.size, rows, columns},
                   .strides = {[matrix matrixBytes], [matrix rowBytes], size}},
    };
}

SMTLRegion SMTLVectorRegion(const char *where, NSString *name, MPSVector *vector, MTLOrigin origin, NSUInteger length,
                            SMTLBatch batch) {
    SMTL_REQUIRE(origin.y == 0 && origin.z == 0, where, @"the %@ vector's origin has y %lu and z %lu, which must be 0",
                 name, UNSIGNED(origin.y), UNSIGNED(origin.z));
    SMTL_REQUIRE(origin.x <= [vector length] && length <= [vector length] - origin.x, where,
                 @"%lu elements from element %lu exceed the %@ vector's length %lu", UNSIGNED(length),
                 UNSIGNED(origin.x), name, UNSIGNED([vector length]));
    const NSUInteger size = smtl_type_size([vector dataType]);
    return (SMTLRegion){
        .buffer = [vector data],
        .offset = [vector offset] + batch.start * [vector vectorBytes] + origin.x * size,
        .tensor = {.type = [vector dataType],
                   .rank = 3,
                   .lengths = {batch.size, length, 1},
                   .strides = {[vector vectorBytes], size, size}},
    };
}
