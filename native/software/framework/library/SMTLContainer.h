/* The software Metal's library container: what newLibraryWithURL: and newLibraryWithData: load. */
#ifndef SMTL_CONTAINER_H
#define SMTL_CONTAINER_H

#import <Metal/MTLLibrary.h>

/* Takes a container apart into autoreleased source, options but for their libraries, and the install names of these.
 * nil, or what is wrong with it. */
NSString *SMTLReadContainer(NSData *data, NSData **source, MTLCompileOptions **options, NSArray **libraries);

/* A container that gives the same back. Autoreleased. */
NSData *SMTLWriteContainer(NSData *source, MTLCompileOptions *options, NSArray *libraries);

#endif
