/* The functions of oneDNN, as version 2 or 3 has them. */
#ifndef SMTL_DNNL_LIBRARY_H
#define SMTL_DNNL_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SMTL_DNNL_F32 = 3,
    SMTL_DNNL_TAG_ANY = 1,
    SMTL_DNNL_ARG_SOURCE = 1, /* of a reorder: from */
    SMTL_DNNL_ARG_RESULT = 17, /* to */
    SMTL_DNNL_ARG_WEIGHTS = 33,
    SMTL_DNNL_ARG_SCRATCHPAD = 80,
    SMTL_DNNL_QUERY_NAME = 8, /* of the implementation: a string */
    SMTL_DNNL_QUERY_SOURCE = 129,
    SMTL_DNNL_QUERY_WEIGHTS = 131,
    SMTL_DNNL_QUERY_RESULT = 133,
    SMTL_DNNL_QUERY_SCRATCHPAD = 136,
};

typedef struct {
    int argument;
    void *memory;
} smtl_dnnl_argument;

/* A memory descriptor is behind a pointer in both versions: version 2's lies in the caller's memory, and nobody else
 * looks into it. */
typedef struct {
    _Alignas(16) uint8_t bytes[2048];
} smtl_dnnl_descriptor_storage;

typedef struct {
    bool loaded;
    const char *reason; /* why not */
    bool is_version_2;
    void *engine;
    void *user_scratchpad; /* attributes: primitives may run in any thread, and several at once */
    int (*sgemm)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float,
                 float *, int64_t);
    int (*stream_create)(void **, void *engine, unsigned flags);
    int (*stream_wait)(void *);
    int (*stream_destroy)(void *);
    int (*primitive_create)(void **, const void *description);
    int (*primitive_destroy)(void *);
    int (*primitive_execute)(const void *, void *stream, int count, const smtl_dnnl_argument *);
    int (*description_destroy)(void *);
    int (*query)(const void *description, int what, int index, void *result);
    const void *(*query_descriptor)(const void *description, int what, int index);
    int (*descriptor_equal)(const void *, const void *);
    size_t (*descriptor_size)(const void *);
    int (*memory_create)(void **, const void *descriptor, void *engine, void *bytes);
    int (*memory_destroy)(void *);
    int (*reorder_create)(void **, const void *from, void *, const void *to, void *, const void *attributes);
    /* Version 2: */
    int (*init_by_strides)(void *, int rank, const int64_t *lengths, int type, const int64_t *strides);
    int (*init_by_tag)(void *, int rank, const int64_t *lengths, int type, int tag);
    int (*init_convolution)(void *, int, int, const void *, const void *, const void *, const void *, const int64_t *,
                            const int64_t *, const int64_t *, const int64_t *);
    int (*create_description)(void **, const void *operation, const void *attributes, void *engine, const void *hint);
    /* Version 3: */
    int (*create_with_strides)(void **, int rank, const int64_t *lengths, int type, const int64_t *strides);
    int (*create_with_tag)(void **, int rank, const int64_t *lengths, int type, int tag);
    int (*descriptor_destroy)(void *);
    int (*create_convolution)(void **, void *engine, int, int, const void *, const void *, const void *, const void *,
                              const int64_t *, const int64_t *, const int64_t *, const int64_t *, const void *);
} smtl_dnnl_library;

/* Loads the library if nobody has. Never NULL. */
const smtl_dnnl_library *smtl_dnnl_load(void);

/* A descriptor of the tensor, in `storage` or in the library's memory; strides NULL: as the library likes it best. NULL
 * if the library refuses. */
void *smtl_dnnl_describe(smtl_dnnl_descriptor_storage *storage, int rank, const int64_t *lengths,
                         const int64_t *strides);
void smtl_dnnl_forget(void *descriptor);

/* Describes a convolution without bias, for inference; NULL if the library has none. */
void *smtl_dnnl_describe_convolution(const void *source, const void *weights, const void *result,
                                     const int64_t *strides, const int64_t *dilations, const int64_t *before,
                                     const int64_t *after);

#endif
