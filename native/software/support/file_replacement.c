#include "file_replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_limit.h"

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

/* A terminal, a pipe or a device stays what it is. */
static int write_to(const char *path, const void *bytes, size_t length) {
    /* Opening a pipe that nobody reads would wait for a reader. */
    const int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return errno;
    (void)fcntl(file, F_SETFL, O_WRONLY);
    return smtl_write_and_close(file, bytes, length);
}

static int replace(const char *path, const struct stat *before, const void *bytes, size_t length) {
    char *name = NULL;
    const int file = create_beside(path, &name);
    int cause = file < 0 ? errno : 0;
    if (cause == 0) {
        if (before != NULL) (void)fchmod(file, before->st_mode & 0777);
        cause = smtl_write_and_close(file, bytes, length);
        if (cause == 0 && rename(name, path) != 0) cause = errno;
        if (cause != 0) (void)unlink(name);
    }
    free(name);
    return cause;
}

int smtl_replace_file(const char *path, const void *bytes, size_t length) {
    struct stat before;
    if (stat(path, &before) != 0) return replace(path, NULL, bytes, length);
    if (!S_ISREG(before.st_mode)) return write_to(path, bytes, length);
    /* Where a link leads, and not the link. */
    char *file = realpath(path, NULL);
    const int cause = file == NULL ? errno : replace(file, &before, bytes, length);
    free(file);
    return cause;
}
