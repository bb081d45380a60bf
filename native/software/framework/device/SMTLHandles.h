/* The numbers by which kernels name objects. A number that a kernel has from elsewhere, or has kept too long, names
 * nothing. */
#ifndef SMTL_HANDLES_H
#define SMTL_HANDLES_H

#import "support/SMTLObject.h"

/* 0 if memory has run out, or if too many objects have handles: kernels cannot name this object. */
uint64_t SMTLHandleCreate(SMTLObject *object);
/* For the beginning of the object's dealloc: waits until nobody has locked the handles. */
void SMTLHandleEnd(uint64_t handle);

/* Between lock and unlock no object with a handle ends. Many threads may have locked at once. */
void SMTLHandlesLock(void);
void SMTLHandlesUnlock(void);
/* The object of this class, not retained; nil if the handle names none. Sends no message. */
id SMTLHandleFind(uint64_t handle, smtl_object_class kind);

#endif
