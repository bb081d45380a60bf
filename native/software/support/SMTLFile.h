/* Files that others name. */
#ifndef SMTL_FILE_H
#define SMTL_FILE_H

#import <Foundation/Foundation.h>

/* An autoreleased copy of a regular file's bytes; nil if it cannot be read, or is not a regular file: a pipe that
 * nobody writes to, and a device that has no end, are never read. */
NSData *SMTLReadFile(NSString *path);

/* What an error says of a file that cannot be read. */
#define SMTL_UNREADABLE @"no such file, not a regular file, or it cannot be read"

#endif
