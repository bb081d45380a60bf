/* Files that others name. */
#ifndef SMTL_FILE_H
#define SMTL_FILE_H

#import <Foundation/Foundation.h>

/* An autoreleased copy of a regular file's bytes; nil if it cannot be read, or is not a regular file: a pipe that
 * nobody writes to, and a device that has no end, are never read. */
NSData *SMTLReadFile(NSString *path);

/* Puts a new file in the place of what `path` names, at once: nobody sees a part of it. nil, or why that is not
 * possible: an autoreleased text that names the file. The file has the rights of the one before it. */
NSString *SMTLWriteFile(NSString *path, NSData *data);

/* What an error says of a file that cannot be read. */
#define SMTL_UNREADABLE @"no such file, not a regular file, or it cannot be read"

#endif
