/* Handles that something keeps alive, with a reference to each. */
#ifndef MTBI_REFERENCES_H
#define MTBI_REFERENCES_H

#include "core/handles.h"

/* All zero at the start. */
typedef struct mtbi_references {
    mtbi_handle **handles;
    size_t count;
    size_t capacity;
} mtbi_references;

/* Retains the handle, unless it is one of the last two: whoever adds handles mostly adds the same two again. */
mtb_status mtbi_references_add(mtbi_references *references, mtbi_handle *handle, mtb_error **error,
                               const char *function);
/* Takes the caller's reference over, and releases it on failure. */
mtb_status mtbi_references_adopt(mtbi_references *references, mtbi_handle *handle, mtb_error **error,
                                 const char *function);
/* Releases all of them; the list is empty then. */
void mtbi_references_release(mtbi_references *references);

#endif
