/* Since when something is available on Apple's systems: here everything that is declared is there. @available needs
 * nothing of this; on a system that is not Apple's it answers with its `*`. */
#ifndef SMTL_AVAILABILITY_H
#define SMTL_AVAILABILITY_H

#include <os/availability.h>

#define __API_AVAILABLE(...)
#define __API_UNAVAILABLE(...)
#define __API_DEPRECATED(...)
#define __API_DEPRECATED_WITH_REPLACEMENT(...)
#define __OSX_AVAILABLE(version)
#define __IOS_AVAILABLE(version)

/* Versions as <AvailabilityMacros.h> and this header number them. */
#define __MAC_10_13 101300
#define __MAC_10_14 101400
#define __MAC_10_15 101500
#define __MAC_11_0 110000
#define __MAC_12_0 120000
#define __MAC_13_0 130000
#define __MAC_14_0 140000
#define __MAC_15_0 150000
#define __IPHONE_13_0 130000
#define __IPHONE_14_0 140000
#define __IPHONE_15_0 150000
#define __IPHONE_16_0 160000
#define __IPHONE_17_0 170000
#define __IPHONE_18_0 180000

#endif
