/* Grand Central Dispatch as far as engines use it: queues, groups, semaphores, apply, once, and data for libraries. For
 * Objective-C, Objective-C++, C and C++. The symbols carry a prefix, so that a program may link libdispatch beside it.
 */
#ifndef SMTL_DISPATCH_DISPATCH_H
#define SMTL_DISPATCH_DISPATCH_H

#include <dispatch/base.h>
#include <dispatch/data.h>
#include <dispatch/group.h>
#include <dispatch/object.h>
#include <dispatch/once.h>
#include <dispatch/queue.h>
#include <dispatch/semaphore.h>
#include <dispatch/time.h>

#endif
