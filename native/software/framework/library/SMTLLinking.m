#import "SMTLLinking.h"

#import "SMTLDynamicLibrary.h"
#import "SMTLFunction.h"
#import "SMTLLibrary.h"
#include <stdlib.h>

NSArray *SMTLLinkedFunctionsOf(MTLLinkedFunctions *linked) {
    NSArray *functions = [linked functions] == nil ? [NSArray array] : [linked functions];
    return [linked privateFunctions] == nil ? functions
                                            : [functions arrayByAddingObjectsFromArray:[linked privateFunctions]];
}

static void add_libraries(NSMutableArray *to, NSArray *libraries) {
    for (SMTLDynamicLibrary *library in libraries)
        if ([to indexOfObjectIdenticalTo:library] == NSNotFound) [to addObject:library];
}

@implementation SMTLLinking

+ (instancetype)linkingOf:(MTLComputePipelineDescriptor *)descriptor {
    SMTLLinking *linking = [[[self alloc] init] autorelease];
    return [linking readDescriptor:descriptor] ? linking : nil;
}

- (void)dealloc {
    free((void *)_linking.functions);
    free((void *)_linking.libraries);
    [_functions release];
    [_libraries release];
    [super dealloc];
}

- (BOOL)readDescriptor:(MTLComputePipelineDescriptor *)descriptor {
    _functions = [SMTLLinkedFunctionsOf([descriptor linkedFunctions]) copy];
    _functionsForTables = [[[descriptor linkedFunctions] functions] count];
    /* The pipeline's own libraries come before those that the functions were compiled with, and libraries before those
     * that they need in turn. */
    NSMutableArray *libraries = [NSMutableArray array];
    for (id<MTLDynamicLibrary> library in [descriptor preloadedLibraries])
        SMTLCheckDynamicLibrary("preloadedLibraries of MTLComputePipelineDescriptor", library,
                                (SMTLDevice *)[[descriptor computeFunction] device]);
    add_libraries(libraries, [descriptor preloadedLibraries]);
    add_libraries(libraries, ((SMTLFunction *)[descriptor computeFunction])->_library->_libraries);
    for (SMTLFunction *function in _functions) add_libraries(libraries, function->_library->_libraries);
    for (NSUInteger i = 0; i < [libraries count]; i++)
        add_libraries(libraries, ((SMTLDynamicLibrary *)[libraries objectAtIndex:i])->_library->_libraries);
    _libraries = [libraries copy];
    return [self makeFunctions] && [self makeLibraries];
}

- (BOOL)makeFunctions {
    smtl_linked_function *functions = calloc([_functions count] + 1, sizeof *functions);
    if (functions == NULL) return NO;
    _linking.functions = functions;
    for (SMTLFunction *function in _functions) {
        smtl_linked_function *next = &functions[_linking.function_count++];
        next->library = function->_library->_library;
        next->function = [function->_name UTF8String];
        next->values = [function->_constants values];
        next->count = [function->_constants count];
    }
    return YES;
}

- (BOOL)makeLibraries {
    smtl_dynamic_library *libraries = calloc([_libraries count] + 1, sizeof *libraries);
    if (libraries == NULL) return NO;
    _linking.libraries = libraries;
    for (SMTLDynamicLibrary *library in _libraries) {
        smtl_dynamic_library *next = &libraries[_linking.library_count++];
        next->library = library->_library->_library;
        next->install_name = [library->_library->_installName UTF8String];
    }
    return YES;
}

@end
