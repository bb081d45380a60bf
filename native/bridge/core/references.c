/* Handles that something keeps alive. */
#include "core/references.h"

#include "core/errors.h"

#include <stdlib.h>

mtb_status mtbi_references_adopt(mtbi_references *references, mtbi_handle *handle, mtb_error **error,
                                 const char *function) {
    if (references->count == references->capacity) {
        size_t capacity = references->capacity ? 2 * references->capacity : 16;
        mtbi_handle **grown = realloc(references->handles, capacity * sizeof *grown);
        if (!grown) {
            mtbi_handle_release(handle);
            return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory to keep %zu objects alive", capacity);
        }
        references->handles = grown;
        references->capacity = capacity;
    }
    references->handles[references->count++] = handle;
    return MTB_OK;
}

mtb_status mtbi_references_add(mtbi_references *references, mtbi_handle *handle, mtb_error **error,
                               const char *function) {
    for (size_t i = references->count; i > 0 && i + 2 > references->count; i--)
        if (references->handles[i - 1] == handle) return MTB_OK;
    mtbi_handle_retain(handle);
    return mtbi_references_adopt(references, handle, error, function);
}

void mtbi_references_release(mtbi_references *references) {
    mtbi_references released = *references;
    *references = (mtbi_references){0};
    for (size_t i = 0; i < released.count; i++) mtbi_handle_release(released.handles[i]);
    free(released.handles);
}
