// The headers that most sources in Objective-C include. A build compiles this file once for each choice of flags; each
// source still includes what it uses. Some sources want the C library's extensions, which its first header decides on.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
