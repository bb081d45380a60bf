#import "SMTLFile.h"

#include "file_replacement.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All bytes that the file had when it was opened; nil if it has become shorter. */
static NSData *read_all(int file, size_t size) {
    uint8_t *bytes = malloc(size + 1);
    size_t done = 0;
    while (bytes != NULL && done < size) {
        const ssize_t count = read(file, bytes + done, size - done);
        if (count > 0)
            done += (size_t)count;
        else if (count == 0 || errno != EINTR)
            break;
    }
    if (bytes != NULL && done == size) return [NSData dataWithBytesNoCopy:bytes length:size freeWhenDone:YES];
    free(bytes);
    return nil;
}

NSData *SMTLReadFile(NSString *path) {
    /* Opening a pipe to read from would wait for a writer. */
    const int file = open([path fileSystemRepresentation], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return nil;
    struct stat status;
    const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    NSData *data = regular ? read_all(file, (size_t)status.st_size) : nil;
    close(file);
    return data;
}

NSString *SMTLWriteFile(NSString *path, NSData *data) {
    const int cause = smtl_replace_file([path fileSystemRepresentation], [data bytes], [data length]);
    if (cause == 0) return nil;
    return [NSString stringWithFormat:@"%@ cannot be written: %s", path, strerror(cause)];
}
