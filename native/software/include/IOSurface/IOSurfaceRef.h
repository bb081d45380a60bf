/* The name of a type that metal-cpp's headers mention. There are no surfaces. */
#ifndef SMTL_IOSURFACEREF_H
#define SMTL_IOSURFACEREF_H

typedef struct __IOSurface *IOSurfaceRef;

#endif
