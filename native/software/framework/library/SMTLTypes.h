#ifndef SMTL_TYPES_H
#define SMTL_TYPES_H

#include "msl/msl.h"
#import <Metal/MTLArgument.h>

/* The type as reflection shows it, autoreleased; nil for NULL. Types that refer to themselves end at the second round.
 */
MTLType *SMTLReflectType(const smtl_type *type);

#endif
