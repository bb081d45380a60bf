#include "dnnl_library.h"

#include "support/settings.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Constants of both versions. */
enum {
    CPU = 1,
    FORWARD_INFERENCE = 96,
    CONVOLUTION_DIRECT = 1,
    SCRATCHPAD_USER = 1,
};

static smtl_dnnl_library library;

static bool find(void *handle, const char *name, void *slot) {
    void *symbol = dlsym(handle, name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_common(void *handle) {
    smtl_dnnl_library *l = &library;
    return find(handle, "dnnl_sgemm", &l->sgemm) && find(handle, "dnnl_stream_create", &l->stream_create) &&
           find(handle, "dnnl_stream_wait", &l->stream_wait) &&
           find(handle, "dnnl_stream_destroy", &l->stream_destroy) &&
           find(handle, "dnnl_primitive_create", &l->primitive_create) &&
           find(handle, "dnnl_primitive_destroy", &l->primitive_destroy) &&
           find(handle, "dnnl_primitive_execute", &l->primitive_execute) &&
           find(handle, "dnnl_primitive_desc_destroy", &l->description_destroy) &&
           find(handle, "dnnl_primitive_desc_query", &l->query) &&
           find(handle, "dnnl_primitive_desc_query_md", &l->query_descriptor) &&
           find(handle, "dnnl_memory_desc_equal", &l->descriptor_equal) &&
           find(handle, "dnnl_memory_desc_get_size", &l->descriptor_size) &&
           find(handle, "dnnl_memory_create", &l->memory_create) &&
           find(handle, "dnnl_memory_destroy", &l->memory_destroy) &&
           find(handle, "dnnl_reorder_primitive_desc_create", &l->reorder_create);
}

static bool find_version_2(void *handle) {
    smtl_dnnl_library *l = &library;
    return find(handle, "dnnl_memory_desc_init_by_strides", &l->init_by_strides) &&
           find(handle, "dnnl_memory_desc_init_by_tag", &l->init_by_tag) &&
           find(handle, "dnnl_dilated_convolution_forward_desc_init", &l->init_convolution) &&
           find(handle, "dnnl_primitive_desc_create", &l->create_description);
}

static bool find_version_3(void *handle) {
    smtl_dnnl_library *l = &library;
    return find(handle, "dnnl_memory_desc_create_with_strides", &l->create_with_strides) &&
           find(handle, "dnnl_memory_desc_create_with_tag", &l->create_with_tag) &&
           find(handle, "dnnl_memory_desc_destroy", &l->descriptor_destroy) &&
           find(handle, "dnnl_convolution_forward_primitive_desc_create", &l->create_convolution);
}

static bool make_engine(void *handle) {
    int (*engine_create)(void **, int, size_t);
    int (*attributes_create)(void **);
    int (*set_scratchpad)(void *, int);
    int (*set_profiling)(unsigned);
    /* Else it looks for a profiler on the thread that first needs generated code. */
    if (find(handle, "dnnl_set_jit_profiling_flags", &set_profiling)) set_profiling(0);
    return find(handle, "dnnl_engine_create", &engine_create) &&
           find(handle, "dnnl_primitive_attr_create", &attributes_create) &&
           find(handle, "dnnl_primitive_attr_set_scratchpad_mode", &set_scratchpad) &&
           engine_create(&library.engine, CPU, 0) == 0 && attributes_create(&library.user_scratchpad) == 0 &&
           set_scratchpad(library.user_scratchpad, SCRATCHPAD_USER) == 0;
}

/* The name or path that the user has set, or the newest version that distributions have. */
static void *open_library(void) {
    const char *set = smtl_settings_get()->dnnl;
    if (set[0] != '\0') return dlopen(set, RTLD_NOW | RTLD_LOCAL);
    void *handle = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
    return handle != NULL ? handle : dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    static char reason[512];
    library.reason = reason;
    void *handle = open_library();
    if (handle == NULL) {
        const char *error = dlerror();
        snprintf(reason, sizeof reason,
                 "oneDNN, which computes this, cannot be loaded (%s): apt-get install libdnnl3 (Debian 13) or libdnnl2 "
                 "(Debian 12)",
                 error == NULL ? "no reason given" : error);
        return;
    }
    library.is_version_2 = find_version_2(handle);
    if (!find_common(handle) || !(library.is_version_2 || find_version_3(handle))) {
        snprintf(reason, sizeof reason, "the library that was loaded is not oneDNN of version 2 or 3");
        return;
    }
    if (!make_engine(handle)) {
        snprintf(reason, sizeof reason, "the oneDNN that was loaded cannot make an engine for the CPU");
        return;
    }
    library.loaded = true;
}

static void *load_in_thread(void *unused) {
    (void)unused;
    load();
    return NULL;
}

/* The C library keeps what it has to say about a search that failed until the thread ends, which a queue's thread does
 * while the process ends: a leak for those who look then. */
static void load_and_forget_searches(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, load_in_thread, NULL) != 0) {
        load();
        return;
    }
    pthread_join(thread, NULL);
}

const smtl_dnnl_library *smtl_dnnl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_and_forget_searches);
    return &library;
}

void *smtl_dnnl_describe(smtl_dnnl_descriptor_storage *storage, int rank, const int64_t *lengths,
                         const int64_t *strides) {
    if (library.is_version_2) {
        memset(storage, 0, sizeof *storage);
        int status = strides == NULL ? library.init_by_tag(storage, rank, lengths, SMTL_DNNL_F32, SMTL_DNNL_TAG_ANY)
                                     : library.init_by_strides(storage, rank, lengths, SMTL_DNNL_F32, strides);
        return status == 0 ? storage : NULL;
    }
    void *descriptor = NULL;
    int status = strides == NULL ? library.create_with_tag(&descriptor, rank, lengths, SMTL_DNNL_F32, SMTL_DNNL_TAG_ANY)
                                 : library.create_with_strides(&descriptor, rank, lengths, SMTL_DNNL_F32, strides);
    return status == 0 ? descriptor : NULL;
}

void smtl_dnnl_forget(void *descriptor) {
    if (!library.is_version_2 && descriptor != NULL) library.descriptor_destroy(descriptor);
}

void *smtl_dnnl_describe_convolution(const void *source, const void *weights, const void *result,
                                     const int64_t *strides, const int64_t *dilations, const int64_t *before,
                                     const int64_t *after) {
    void *description = NULL;
    if (library.is_version_2) {
        static const size_t larger_than_any = 64 << 10;
        void *operation = calloc(1, larger_than_any);
        if (operation == NULL) return NULL;
        if (library.init_convolution(operation, FORWARD_INFERENCE, CONVOLUTION_DIRECT, source, weights, NULL, result,
                                     strides, dilations, before, after) != 0 ||
            library.create_description(&description, operation, library.user_scratchpad, library.engine, NULL) != 0) {
            description = NULL;
        }
        free(operation);
        return description;
    }
    int status =
        library.create_convolution(&description, library.engine, FORWARD_INFERENCE, CONVOLUTION_DIRECT, source, weights,
                                   NULL, result, strides, dilations, before, after, library.user_scratchpad);
    return status == 0 ? description : NULL;
}
