/* Dynamic libraries: from libraries and files, and into files. */
#import "library/dynamic_library.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"
#import "library/library.h"
#import "metal_bridge_functions.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The status for Metal's error. What nothing more is known of is a file that is no library, or cannot be written. */
static mtb_status status_of(NSError *problem) {
    if (![[problem domain] isEqual:MTLDynamicLibraryDomain]) return MTB_UNSUPPORTED;
    switch ((MTLDynamicLibraryError)[problem code]) {
    case MTLDynamicLibraryErrorCompilationFailure: return MTB_COMPILE_FAILED;
    case MTLDynamicLibraryErrorUnresolvedInstallName: return MTB_NOT_FOUND;
    default: return MTB_UNSUPPORTED;
    }
}

static void destroy(mtbi_handle *handle) {
    mtb_dynamic_library *library = (mtb_dynamic_library *)handle;
    MTBI_ENTER
    [library->metal release];
    free(library->install_name);
    mtb_device_release(library->device);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

static mtb_dynamic_library *start(mtb_device *device, mtb_error **error, const char *function) {
    mtb_dynamic_library *library =
        mtbi_handle_create(MTB_HANDLE_DYNAMIC_LIBRARY, sizeof *library, destroy, error, function);
    if (library) library->device = mtb_device_retain(device);
    return library;
}

/* Completes `library` with the +1 `metal`, or releases it if that is nil. */
static mtb_dynamic_library *finish(mtb_dynamic_library *library, id<MTLDynamicLibrary> metal, NSError *problem,
                                   mtb_error **error, const char *function) {
    library->metal = metal;
    if (metal) library->install_name = mtbi_copy_string([metal installName]);
    if (!metal)
        mtbi_fail_with_nserror(error, function, status_of(problem), problem,
                               "Metal could not make the dynamic library, and does not say why");
    else if (!library->install_name)
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the dynamic library's install name");
    else
        return library;
    mtb_dynamic_library_release(library);
    return NULL;
}

mtb_dynamic_library *mtb_dynamic_library_create(mtb_library *from, mtb_error **error) {
    mtb_dynamic_library *library = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (mtbi_check_given(from, "library", error, __func__) ||
        mtbi_check_dynamic_libraries(from->device, error, __func__))
        return NULL;
    if ([from->metal type] != MTLLibraryTypeDynamic) {
        FAIL(error, MTB_INVALID_ARGUMENT, "the library is executable: compile it with MTB_LIBRARY_DYNAMIC");
        return NULL;
    }
    library = start(from->device, error, __func__);
    if (!library) return NULL;
    NSError *problem = nil;
    id<MTLDynamicLibrary> metal = [from->device->metal newDynamicLibrary:from->metal error:&problem];
    return finish(library, metal, problem, error, __func__);
    MTBI_LEAVE((mtb_dynamic_library_release(library), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_dynamic_library *mtb_dynamic_library_create_from_file(mtb_device *device, const char *path, mtb_error **error) {
    mtb_dynamic_library *library = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device) || mtbi_check_dynamic_libraries(device, error, __func__)) return NULL;
    NSURL *url = mtbi_readable_file_url(path, error, __func__);
    if (!url) return NULL;
    library = start(device, error, __func__);
    if (!library) return NULL;
    NSError *problem = nil;
    id<MTLDynamicLibrary> metal = [device->metal newDynamicLibraryWithURL:url error:&problem];
    return finish(library, metal, problem, error, __func__);
    MTBI_LEAVE((mtb_dynamic_library_release(library), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_status mtb_dynamic_library_serialize(mtb_dynamic_library *library, const char *path, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(library));
    NSURL *url = mtbi_file_url(path, error, __func__);
    if (!url) return MTB_INVALID_ARGUMENT;
    /* A new file takes the place of what is there: a device would be gone. */
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return FAIL(error, MTB_INVALID_ARGUMENT, "%s is not a regular file", path);
    NSError *problem = nil;
    if ([library->metal serializeToURL:url error:&problem]) return MTB_OK;
    return mtbi_fail_with_nserror(error, __func__, status_of(problem), problem,
                                  "Metal could not write the dynamic library, and does not say why");
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

NSArray<id<MTLDynamicLibrary>> *mtbi_dynamic_libraries(const mtb_device *device, mtb_dynamic_library *const *libraries,
                                                       size_t count, const char *what, mtb_error **error,
                                                       const char *function) {
    if (count > 0 && mtbi_check_given(libraries, what, error, function)) return nil;
    NSMutableArray *metal = [NSMutableArray array];
    for (size_t i = 0; i < count; i++) {
        if (mtbi_check_given(libraries[i], what, error, function) ||
            mtbi_check_device(device, libraries[i]->device, "dynamic library", error, function))
            return nil;
        [metal addObject:libraries[i]->metal];
    }
    return metal;
}
