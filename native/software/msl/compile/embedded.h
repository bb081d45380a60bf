/* The standard library's headers, carried in the binary: the build generates the definitions. */
#ifndef SMTL_EMBEDDED_H
#define SMTL_EMBEDDED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *path; /* below the folder of the headers */
    const unsigned char *data;
    size_t length;
} smtl_embedded_header;

extern const smtl_embedded_header smtl_embedded_headers[];
extern const size_t smtl_embedded_header_count;
/* The clang that the build found; the machine that runs the binary may have another. */
extern const char smtl_embedded_clang[];
/* A hash of the translator's sources: another version compiles other code. */
extern const char smtl_embedded_translator[];

#ifdef __cplusplus
}
#endif
#endif
