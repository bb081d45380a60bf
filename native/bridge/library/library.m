/* Libraries: from source, from a file, from memory. */
#import "library/library.h"

#import "core/checks.h"
#import "core/guard.h"
#import "core/text.h"
#import "library/dynamic_library.h"

#import <dispatch/dispatch.h>

#include <stdlib.h>
#include <string.h>

/* The status for Metal's error; `otherwise` if the error has no status of its own. */
static mtb_status library_status(NSError *problem, mtb_status otherwise) {
    if (![[problem domain] isEqual:MTLLibraryErrorDomain]) return otherwise;
    switch ((MTLLibraryError)[problem code]) {
    case MTLLibraryErrorUnsupported: return MTB_UNSUPPORTED;
    case MTLLibraryErrorCompileFailure: return MTB_COMPILE_FAILED;
    case MTLLibraryErrorFunctionNotFound:
    case MTLLibraryErrorFileNotFound: return MTB_NOT_FOUND;
    default: return otherwise;
    }
}

static mtb_status copy_function_names(mtb_library *library, mtb_error **error, const char *function) {
    NSArray<NSString *> *names = [library->metal functionNames];
    library->function_names = calloc([names count] + 1, sizeof *library->function_names);
    if (library->function_names)
        for (NSString *name in names) {
            char *copy = mtbi_copy_string(name);
            if (!copy) break;
            library->function_names[library->function_count++] = copy;
        }
    if (!library->function_names || library->function_count < [names count])
        return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for the names of %zu functions",
                         (size_t)[names count]);
    return MTB_OK;
}

/* Completes `library` with the +1 `metal`, or releases it if that is nil. Metal's error is not a sign of failure: it is
 * also set for a warning. */
static mtb_library *finish(mtb_library *library, id<MTLLibrary> metal, NSError *problem, mtb_status otherwise,
                           mtb_error **error, const char *function) {
    mtb_status status = MTB_OK;
    library->metal = metal;
    if (!metal)
        status = mtbi_fail_with_nserror(error, function, library_status(problem, otherwise), problem,
                                        "Metal could not make the library, and does not say why");
    else
        status = copy_function_names(library, error, function);
    if (status != MTB_OK) {
        mtb_library_release(library);
        return NULL;
    }
    if (problem) library->warnings = mtbi_copy_string([problem localizedDescription]);
    return library;
}

static void destroy(mtbi_handle *handle) {
    mtb_library *library = (mtb_library *)handle;
    MTBI_ENTER
    [library->metal release];
    for (size_t i = 0; i < library->function_count; i++) free(library->function_names[i]);
    free(library->function_names);
    free(library->warnings);
    mtb_device_release(library->device);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

static mtb_library *start(mtb_device *device, mtb_error **error, const char *function) {
    mtb_library *library = mtbi_handle_create(MTB_HANDLE_LIBRARY, sizeof *library, destroy, error, function);
    if (library) library->device = mtb_device_retain(device);
    return library;
}

static bool is_identifier(const char *name) {
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    return name && *name && strchr(letters, *name) && name[strspn(name, others)] == 0;
}

static NSDictionary *macros(const mtb_compile_options *options, mtb_error **error, const char *function) {
    if (options->macro_count > 0 && mtbi_check_given(options->macros, "options->macros", error, function)) return nil;
    NSMutableDictionary *dictionary = [NSMutableDictionary dictionary];
    for (size_t i = 0; i < options->macro_count; i++) {
        const mtb_macro *macro = &options->macros[i];
        if (!is_identifier(macro->name)) {
            mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the name of macro %zu is not an identifier", i);
            return nil;
        }
        NSString *value = mtbi_string(macro->value ? macro->value : "1", "the value of a macro", error, function);
        if (!value) return nil;
        [dictionary setObject:value forKey:[NSString stringWithUTF8String:macro->name]];
    }
    return dictionary;
}

/* MTLCompileOptions has this property from macOS 15 on. It is declared here because older SDKs, which compile all the
 * rest, know neither the property nor MTLMathMode: safe is 0, relaxed 1, fast 2. */
@protocol MTBIMathMode
- (void)setMathMode:(NSInteger)mode;
@end

static bool set_math_mode(MTLCompileOptions *compile, mtb_math_mode mode) {
    if (mode == MTB_MATH_DEFAULT) return true;
    if ((unsigned)mode > MTB_MATH_FAST) return false;
    if ([compile respondsToSelector:@selector(setMathMode:)])
        [(id<MTBIMathMode>)compile setMathMode:(NSInteger)mode - MTB_MATH_SAFE];
    else
        [compile setFastMathEnabled:mode != MTB_MATH_SAFE];
    return true;
}

/* The versions that MTLLanguageVersion has: Metal aborts on others. */
static bool is_language_version(uint32_t version) {
    static const uint32_t last_minor[] = {[1] = 2, [2] = 4, [3] = 2, [4] = 0};
    uint32_t major = version >> 16, minor = version & 0xffff;
    return major >= 1 && major < sizeof last_minor / sizeof *last_minor && minor <= last_minor[major];
}

/* What the source becomes, and where the functions are that it only declares. */
static mtb_status set_linking(MTLCompileOptions *compile, const mtb_device *device, const mtb_compile_options *options,
                              mtb_error **error, const char *function) {
    if ((unsigned)options->library_type > MTB_LIBRARY_DYNAMIC)
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "unknown library type %u",
                         (unsigned)options->library_type);
    if (options->library_type == MTB_LIBRARY_DYNAMIC) {
        REQUIRE(mtbi_check_dynamic_libraries(device, error, function));
        NSString *name = mtbi_string(options->install_name, "the install name of a dynamic library", error, function);
        if (!name) return MTB_INVALID_ARGUMENT;
        if ([name length] == 0)
            return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "the install name of a dynamic library is empty");
        [compile setLibraryType:MTLLibraryTypeDynamic];
        [compile setInstallName:name];
    } else if (options->install_name) {
        return mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "an executable library has no install name");
    }
    if (options->library_count == 0) return MTB_OK;
    NSArray<id<MTLDynamicLibrary>> *libraries = mtbi_dynamic_libraries(
        device, options->libraries, options->library_count, "options->libraries", error, function);
    if (!libraries) return mtbi_last_failure();
    [compile setLibraries:libraries];
    return MTB_OK;
}

/* nil, with an error, if the options make no sense. */
static MTLCompileOptions *compile_options(const mtb_device *device, const mtb_compile_options *options,
                                          mtb_error **error, const char *function) {
    MTLCompileOptions *compile = [[[MTLCompileOptions alloc] init] autorelease];
    if (!options) return compile;
    NSDictionary *defined = macros(options, error, function);
    if (!defined) return nil;
    [compile setPreprocessorMacros:defined];
    if (options->language_version && !is_language_version(options->language_version)) {
        mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "%u.%u is not a version of the Metal shading language",
                  options->language_version >> 16, options->language_version & 0xffff);
        return nil;
    }
    if (options->language_version) [compile setLanguageVersion:(MTLLanguageVersion)options->language_version];
    if (!set_math_mode(compile, options->math_mode)) {
        mtbi_fail(error, function, MTB_INVALID_ARGUMENT, "unknown math mode %u", (unsigned)options->math_mode);
        return nil;
    }
    return set_linking(compile, device, options, error, function) == MTB_OK ? compile : nil;
}

mtb_library *mtb_library_create_from_source(mtb_device *device, const char *source, size_t length,
                                            const mtb_compile_options *options, mtb_error **error) {
    mtb_library *library = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device) || GIVEN(source)) return NULL;
    NSString *text = [[[NSString alloc] initWithBytes:source length:length encoding:NSUTF8StringEncoding] autorelease];
    if (!text) {
        FAIL(error, MTB_INVALID_ARGUMENT, "the source is not UTF-8");
        return NULL;
    }
    MTLCompileOptions *compile = compile_options(device, options, error, __func__);
    if (!compile) return NULL;
    library = start(device, error, __func__);
    if (!library) return NULL;
    NSError *problem = nil;
    id<MTLLibrary> metal = [device->metal newLibraryWithSource:text options:compile error:&problem];
    return finish(library, metal, problem, MTB_COMPILE_FAILED, error, __func__);
    MTBI_LEAVE((mtb_library_release(library), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_library *mtb_library_create_from_file(mtb_device *device, const char *path, mtb_error **error) {
    mtb_library *library = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device)) return NULL;
    NSURL *url = mtbi_readable_file_url(path, error, __func__);
    if (!url) return NULL;
    library = start(device, error, __func__);
    if (!library) return NULL;
    NSError *problem = nil;
    id<MTLLibrary> metal = [device->metal newLibraryWithURL:url error:&problem];
    return finish(library, metal, problem, MTB_UNSUPPORTED, error, __func__);
    MTBI_LEAVE((mtb_library_release(library), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_library *mtb_library_create_from_bytes(mtb_device *device, const void *bytes, size_t length, mtb_error **error) {
    mtb_library *library = NULL;
    dispatch_data_t data = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(device) || GIVEN(bytes)) return NULL;
    library = start(device, error, __func__);
    if (!library) return NULL;
    data = dispatch_data_create(bytes, length, NULL, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
    NSError *problem = nil;
    id<MTLLibrary> metal = [device->metal newLibraryWithData:data error:&problem];
    dispatch_release(data);
    data = NULL;
    return finish(library, metal, problem, MTB_UNSUPPORTED, error, __func__);
    MTBI_LEAVE((data ? dispatch_release(data) : (void)0, mtb_library_release(library),
                mtbi_fail_with_exception(error, __func__, exception), NULL))
}
