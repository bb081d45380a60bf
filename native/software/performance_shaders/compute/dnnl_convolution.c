#include "dnnl.h"
#include "dnnl_library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A compiled primitive, with the description that its descriptors belong to. */
typedef struct {
    void *primitive;
    void *description;
} compiled;

/* What is compiled for a shape. oneDNN computes with layouts that it chooses if that pays: a tensor that lies otherwise
 * is copied, by a primitive of its own. */
typedef struct entry {
    struct entry *next;
    smtl_convolution shape;
    bool keeps_weights;
    unsigned users;
    compiled convolution;
    compiled copies[3]; /* without a primitive if the tensor lies as oneDNN likes it */
    void *own[3]; /* descriptors of the tensors as they lie */
    const void *liked[3];
    smtl_dnnl_descriptor_storage storage[3];
} entry;

/* For the shape of the first convolution; others copy the weights each time. */
struct smtl_dnnl_weights {
    pthread_mutex_t mutex;
    smtl_convolution shape;
    void *bytes; /* set once */
};

enum {
    SOURCE,
    WEIGHTS,
    RESULT,
    TENSORS,
    MOST_ENTRIES = 128
};

/* The entry last used comes first. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry *entries;
static unsigned entry_count;

static void fail(char **reason, const char *what) {
    char text[160];
    snprintf(text, sizeof text, "oneDNN refuses a convolution: %s", what);
    *reason = strdup(text);
}

static void destroy(const smtl_dnnl_library *library, compiled *made) {
    if (made->primitive != NULL) library->primitive_destroy(made->primitive);
    if (made->description != NULL) library->description_destroy(made->description);
}

static void destroy_entry(const smtl_dnnl_library *library, entry *made) {
    destroy(library, &made->convolution);
    for (int i = 0; i < TENSORS; i++) {
        destroy(library, &made->copies[i]);
        smtl_dnnl_forget(made->own[i]);
    }
    free(made);
}

static bool compile_copy(const smtl_dnnl_library *library, entry *made, int which) {
    const void *from = which == RESULT ? made->liked[which] : made->own[which];
    const void *to = which == RESULT ? made->own[which] : made->liked[which];
    compiled *copy = &made->copies[which];
    return library->descriptor_equal(from, to) ||
           (library->reorder_create(&copy->description, from, library->engine, to, library->engine,
                                    library->user_scratchpad) == 0 &&
            library->primitive_create(&copy->primitive, copy->description) == 0);
}

static double product(const int64_t *lengths, int count) {
    double all = 1;
    for (int i = 0; i < count; i++) all *= (double)lengths[i];
    return all;
}

/* Whether layouts of oneDNN's choice are worth the copies. Measured on two cores with AVX-512: with fewer than 240
 * operations for each float copied they cost more than they gain, with more than 360 less; in between the measurements
 * do not decide. */
static bool copies_pay(const entry *made) {
    const smtl_convolution *shape = &made->shape;
    const double results = product(shape->result_lengths, 4);
    const double operations = 2 * results * product(shape->weights_lengths + 2, 3);
    const double weights = made->keeps_weights ? 0 : product(shape->weights_lengths, 5);
    return operations >= 400 * (results + weights + product(shape->source_lengths, 4));
}

/* False if the library has none but its slow reference for it. */
static bool is_fast(const smtl_dnnl_library *library, const void *description) {
    const char *name = NULL;
    return library->query(description, SMTL_DNNL_QUERY_NAME, 0, &name) == 0 && name != NULL &&
           strncmp(name, "ref", 3) != 0;
}

/* With source and result as they lie, if oneDNN computes well with them, or as it likes them best; the weights as it
 * likes them in any case. */
static void describe(const smtl_dnnl_library *library, entry *made, void *const *any) {
    const smtl_convolution *shape = &made->shape;
    void **description = &made->convolution.description;
    if (!copies_pay(made)) {
        *description = smtl_dnnl_describe_convolution(made->own[SOURCE], any[WEIGHTS], made->own[RESULT],
                                                      shape->strides, shape->dilations, shape->before, shape->after);
        if (*description != NULL && !is_fast(library, *description)) {
            destroy(library, &made->convolution);
            *description = NULL;
        }
    }
    if (*description == NULL) {
        *description = smtl_dnnl_describe_convolution(any[SOURCE], any[WEIGHTS], any[RESULT], shape->strides,
                                                      shape->dilations, shape->before, shape->after);
    }
}

/* NULL, or what is wrong. */
static const char *compile(const smtl_dnnl_library *library, entry *made) {
    const smtl_convolution *shape = &made->shape;
    const int64_t *lengths[] = {shape->source_lengths, shape->weights_lengths, shape->result_lengths};
    const int64_t *strides[] = {shape->source_strides, shape->weights_strides, shape->result_strides};
    static const int ranks[] = {4, 5, 4};
    static const int queries[] = {SMTL_DNNL_QUERY_SOURCE, SMTL_DNNL_QUERY_WEIGHTS, SMTL_DNNL_QUERY_RESULT};
    smtl_dnnl_descriptor_storage storage[TENSORS];
    void *any[TENSORS];
    bool described = true;
    for (int i = 0; i < TENSORS; i++) {
        made->own[i] = smtl_dnnl_describe(&made->storage[i], ranks[i], lengths[i], strides[i]);
        any[i] = smtl_dnnl_describe(&storage[i], ranks[i], lengths[i], NULL);
        described = described && made->own[i] != NULL && any[i] != NULL;
    }
    if (described) describe(library, made, any);
    for (int i = 0; i < TENSORS; i++) smtl_dnnl_forget(any[i]);
    if (made->convolution.description == NULL) return described ? "its sizes" : "its strides";
    for (int i = 0; i < TENSORS; i++) {
        made->liked[i] = library->query_descriptor(made->convolution.description, queries[i], 0);
        if (!compile_copy(library, made, i)) return "a change of layout";
    }
    return library->primitive_create(&made->convolution.primitive, made->convolution.description) == 0
               ? NULL
               : "it cannot be compiled";
}

static entry *make(const smtl_dnnl_library *library, const smtl_convolution *shape, bool keeps_weights, char **reason) {
    entry *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->shape = *shape;
    made->keeps_weights = keeps_weights;
    const char *problem = compile(library, made);
    if (problem != NULL) {
        fail(reason, problem);
        destroy_entry(library, made);
        return NULL;
    }
    return made;
}

/* Takes the entry that was used longest ago out of the list, if there are too many. */
static void evict(const smtl_dnnl_library *library) {
    entry **oldest = NULL;
    for (entry **link = &entries; entry_count > MOST_ENTRIES && *link != NULL; link = &(*link)->next)
        oldest = (*link)->users == 0 ? link : oldest;
    if (oldest != NULL) {
        entry *evicted = *oldest;
        *oldest = evicted->next;
        entry_count--;
        destroy_entry(library, evicted);
    }
}

/* The shape's entry, compiled if there is none, for `leave`. */
static entry *enter(const smtl_dnnl_library *library, const smtl_convolution *shape, bool keeps_weights,
                    char **reason) {
    pthread_mutex_lock(&mutex);
    entry **link = &entries;
    while (*link != NULL &&
           ((*link)->keeps_weights != keeps_weights || memcmp(&(*link)->shape, shape, sizeof *shape) != 0)) {
        link = &(*link)->next;
    }
    entry *found = *link;
    if (found != NULL) {
        *link = found->next;
    } else {
        found = make(library, shape, keeps_weights, reason);
        entry_count += found != NULL;
    }
    if (found != NULL) {
        found->users++;
        found->next = entries;
        entries = found;
        evict(library);
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

static void leave(entry *used) {
    pthread_mutex_lock(&mutex);
    used->users--;
    pthread_mutex_unlock(&mutex);
}

/* Memory for what the descriptor describes. */
static bool allocate(const smtl_dnnl_library *library, const void *descriptor, void **memory) {
    const size_t size = library->descriptor_size(descriptor);
    return posix_memalign(memory, 64, size == 0 ? 64 : size) == 0;
}

/* Executes the primitive on tensors, at most three, and on scratch memory. */
static bool execute(const smtl_dnnl_library *library, const compiled *made, const int *names,
                    const void *const *descriptors, void *const *bytes, int count) {
    smtl_dnnl_argument arguments[TENSORS + 1] = {{.argument = SMTL_DNNL_ARG_SCRATCHPAD}};
    const void *scratchpad = library->query_descriptor(made->description, SMTL_DNNL_QUERY_SCRATCHPAD, 0);
    void *stream = NULL, *scratch = NULL;
    bool done = library->stream_create(&stream, library->engine, 1) == 0 && allocate(library, scratchpad, &scratch) &&
                library->memory_create(&arguments[0].memory, scratchpad, library->engine, scratch) == 0;
    for (int i = 0; done && i < count; i++) {
        arguments[i + 1].argument = names[i];
        done = library->memory_create(&arguments[i + 1].memory, descriptors[i], library->engine, bytes[i]) == 0;
    }
    done = done && library->primitive_execute(made->primitive, stream, count + 1, arguments) == 0 &&
           library->stream_wait(stream) == 0;
    for (int i = 0; i <= count; i++)
        if (arguments[i].memory != NULL) library->memory_destroy(arguments[i].memory);
    if (stream != NULL) library->stream_destroy(stream);
    free(scratch);
    return done;
}

static bool run_copy(const smtl_dnnl_library *library, const entry *used, int which, void *own, void *liked) {
    static const int names[] = {SMTL_DNNL_ARG_SOURCE, SMTL_DNNL_ARG_RESULT};
    const void *descriptors[] = {used->own[which], used->liked[which], used->own[which]};
    void *bytes[] = {own, liked, own};
    const int first = which == RESULT;
    return execute(library, &used->copies[which], names, descriptors + first, bytes + first, 2);
}

/* The kept weights; NULL if there are none for this shape. */
static void *kept_weights(const smtl_dnnl_library *library, const entry *used, void *own, smtl_dnnl_weights *kept) {
    if (kept == NULL || used->copies[WEIGHTS].primitive == NULL) return NULL;
    void *bytes = NULL;
    pthread_mutex_lock(&kept->mutex);
    if (kept->bytes == NULL && allocate(library, used->liked[WEIGHTS], &bytes)) {
        if (run_copy(library, used, WEIGHTS, own, bytes)) {
            kept->shape = used->shape;
            kept->bytes = bytes;
        } else {
            free(bytes);
        }
    }
    bytes = memcmp(&kept->shape, &used->shape, sizeof kept->shape) == 0 ? kept->bytes : NULL;
    pthread_mutex_unlock(&kept->mutex);
    return bytes;
}

smtl_dnnl_weights *smtl_dnnl_weights_create(void) {
    smtl_dnnl_weights *kept = calloc(1, sizeof *kept);
    if (kept != NULL) pthread_mutex_init(&kept->mutex, NULL);
    return kept;
}

void smtl_dnnl_weights_free(smtl_dnnl_weights *kept) {
    if (kept != NULL) {
        pthread_mutex_destroy(&kept->mutex);
        free(kept->bytes);
        free(kept);
    }
}

static bool run(const smtl_dnnl_library *library, const entry *used, void *const *own, smtl_dnnl_weights *kept) {
    static const int names[] = {SMTL_DNNL_ARG_SOURCE, SMTL_DNNL_ARG_WEIGHTS, SMTL_DNNL_ARG_RESULT};
    void *memory[TENSORS] = {NULL}, *bytes[TENSORS];
    void *const ready = kept_weights(library, used, own[WEIGHTS], kept);
    bool done = true;
    for (int i = 0; i < TENSORS; i++) {
        if (i == WEIGHTS && ready != NULL) {
            bytes[i] = ready;
            continue;
        }
        const bool copied = used->copies[i].primitive != NULL;
        done = done && (!copied || allocate(library, used->liked[i], &memory[i]));
        bytes[i] = copied ? memory[i] : own[i];
        if (copied && i != RESULT) done = done && run_copy(library, used, i, own[i], memory[i]);
    }
    done = done && execute(library, &used->convolution, names, used->liked, bytes, TENSORS) &&
           (memory[RESULT] == NULL || run_copy(library, used, RESULT, own[RESULT], memory[RESULT]));
    for (int i = 0; i < TENSORS; i++) free(memory[i]);
    return done;
}

bool smtl_dnnl_convolution(const smtl_convolution *shape, const float *source, const float *weights,
                           smtl_dnnl_weights *kept, float *result, char **reason) {
    const smtl_dnnl_library *library = smtl_dnnl_load();
    if (!library->loaded) {
        *reason = strdup(library->reason);
        return false;
    }
    entry *used = enter(library, shape, kept != NULL, reason);
    if (used == NULL) return false;
    void *const own[] = {(void *)source, (void *)weights, result};
    const bool done = run(library, used, own, kept);
    leave(used);
    if (!done) fail(reason, "it does not run");
    return done;
}
