#import "SMTLFile.h"

#include "file_limit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* A new file beside `path`; its name in `name`, or -1. */
static int create_beside(const char *path, char **name) {
    static atomic_uint number;
    const char *last = strrchr(path, '/');
    const int folder = last == NULL ? 0 : (int)(last + 1 - path);
    int file = -1;
    do {
        free(*name);
        *name = NULL;
        const unsigned own = atomic_fetch_add(&number, 1);
        /* Of no more characters than any name may have, whatever the file's own name. */
        const size_t size = (size_t)folder + sizeof ".new-" + 32;
        *name = malloc(size);
        if (*name == NULL) return -1;
        (void)snprintf(*name, size, "%.*s.new-%ld-%u", folder, path, (long)getpid(), own);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EEXIST);
    return file;
}

/* 0, or the system's number for why not. */
static int replace(const char *path, const void *bytes, size_t length) {
    char *name = NULL;
    const int file = create_beside(path, &name);
    int cause = file < 0 ? errno : 0;
    if (cause == 0) {
        struct stat before;
        if (stat(path, &before) == 0) (void)fchmod(file, before.st_mode & 0777);
        cause = smtl_write_and_close(file, bytes, length);
        if (cause == 0 && rename(name, path) != 0) cause = errno;
        if (cause != 0) (void)unlink(name);
    }
    free(name);
    return cause;
}

NSString *SMTLWriteFile(NSString *path, NSData *data) {
    const int cause = replace([path fileSystemRepresentation], [data bytes], [data length]);
    if (cause == 0) return nil;
    return [NSString stringWithFormat:@"%@ cannot be written: %s", path, strerror(cause)];
}
