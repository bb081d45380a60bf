/* Lets code that clang compiled for a newer Objective-C run on GCC's runtime, which is the one that distributions ship.
 *
 * With -fobjc-runtime=gcc clang takes a[i] and d[@"k"] for pointer arithmetic and rejects them; with
 * -fobjc-runtime=gnustep-1.6 it accepts them, synthesises properties, and lets classes declare instance variables in
 * their implementation. The objects that it then emits differ from what GCC's runtime reads in three things. This file
 * puts them right as each module is loaded:
 *
 * - the version numbers of modules and protocols;
 * - a class says how many bytes it adds to its superclass (as a negative size), and its instance variables are counted
 * from there: both become absolute once the size of the superclass is known;
 * - the calls that only the newer runtime has: message sending (SMTLMessageSend.m), pools, the search of super methods.
 *
 * Modules compiled for GCC's runtime pass through untouched.
 *
 * A module's constructor is an initialiser like any other, and clang places it behind those of the same file's C++
 * objects. On Apple's systems classes are there before any initialiser runs, so that initialisers may send messages.
 * Here this file finds the modules of a program (SMTLModuleSearch.c) and loads them first, and their constructors find
 * nothing left to do. */
#define _GNU_SOURCE
#include "SMTLModules.h"

#import <Foundation/Foundation.h>
#include <dlfcn.h>
#include <objc/message.h>
#include <objc/runtime.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Classes whose superclass is in no module loaded so far, as happens when the linker places subclasses first. */
static struct class **waiting;
static size_t waiting_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void adopt_protocol(struct protocol *protocol);

static void adopt_protocols(struct protocol_list *list) {
    for (; list != NULL; list = list->next)
        for (size_t i = 0; i < list->count; i++) adopt_protocol(list->protocols[i]);
}

static void adopt_protocol(struct protocol *protocol) {
    if (protocol == NULL || protocol->version != PROTOCOL_VERSION_MODERN) return;
    protocol->version = PROTOCOL_VERSION_GCC;
    adopt_protocols(protocol->adopted);
}

static struct class *waiting_class(const char *name) {
    for (size_t i = 0; i < waiting_count; i++)
        if (strcmp(waiting[i]->name, name) == 0) return waiting[i];
    return NULL;
}

/* Lays the class out if its superclass is known. Whether its layout is known now. */
static bool lay_out(struct class *class) {
    if (class->instance_size > 0) return true;
    long start = 0;
    if (class->superclass != NULL) {
        struct class *superclass = waiting_class(class->superclass);
        if (superclass != NULL) {
            if (!lay_out(superclass)) return false;
            start = superclass->instance_size;
        } else {
            Class loaded = objc_lookUpClass(class->superclass);
            if (loaded == Nil) return false;
            start = (long)class_getInstanceSize(loaded);
        }
    }
    class->instance_size = start - class->instance_size;
    for (int i = 0; class->ivars != NULL && i < class->ivars->count; i++) {
        class->ivars->ivars[i].offset += (int)start;
        *class->offsets[i] = class->ivars->ivars[i].offset;
    }
    return true;
}

static void lay_out_classes(struct symbols *symbols) {
    size_t count = symbols->class_count;
    if (count > 0) {
        struct class **grown = realloc(waiting, (waiting_count + count) * sizeof *waiting);
        if (grown == NULL) abort(); /* as the runtime does, which could not load the class either */
        waiting = grown;
        memcpy(waiting + waiting_count, symbols->definitions, count * sizeof *waiting);
        waiting_count += count;
    }
    /* The list shrinks afterwards: it is also where superclasses are looked up. */
    for (size_t i = 0; i < waiting_count; i++) lay_out(waiting[i]);
    size_t kept = 0;
    for (size_t i = 0; i < waiting_count; i++)
        if (waiting[i]->instance_size <= 0) waiting[kept++] = waiting[i];
    waiting_count = kept;
    if (kept == 0) {
        free(waiting);
        waiting = NULL;
    }
}

static void adopt_module(struct module *module) {
    module->version = MODULE_VERSION_GCC;
    struct symbols *symbols = module->symbols;
    void **definition = symbols->definitions;
    for (unsigned i = 0; i < symbols->class_count; i++) adopt_protocols(((struct class *)*definition++)->protocols);
    for (unsigned i = 0; i < symbols->category_count; i++)
        adopt_protocols(((struct category *)*definition++)->protocols);
    for (struct statics **statics = *definition; statics != NULL && *statics != NULL; statics++) {
        if (strcmp((*statics)->class_name, "Protocol") == 0)
            for (void **object = (*statics)->objects; *object != NULL; object++) adopt_protocol(*object);
    }
    lay_out_classes(symbols);
}

/* Clang hangs the protocols that expressions name, as `@protocol(MTLDevice)`, on a class of this name. GCC's runtime
 * would never make objects of them without the class. */
@interface __ObjC_Protocol_Holder_Ugly_Hack : NSObject
@end
@implementation __ObjC_Protocol_Holder_Ugly_Hack
@end

/* Modules that were loaded before their constructors ran. */
static struct module **early;
static size_t early_count;

static bool is_early(const struct module *module) {
    for (size_t i = 0; i < early_count; i++)
        if (early[i] == module) return true;
    return false;
}

static bool is_loaded(const struct module *module, const struct image *image) {
    const struct symbols *symbols = module->symbols;
    if (symbols->selector_count > 0) {
        /* The runtime replaces the name by a number. */
        return !smtl_image_has(image, symbols->selectors->name, 1);
    }
    const struct class *class = symbols->class_count > 0 ? symbols->definitions[0] : NULL;
    /* A module without selectors and classes need not be early: nobody can send it a message. */
    return class == NULL || (const void *)objc_lookUpClass(class->name) == class;
}

static void load_early(struct module *module, const struct image *image) {
    if (is_loaded(module, image)) return;
    struct module **grown = realloc(early, (early_count + 1) * sizeof *early);
    if (grown == NULL) return; /* its constructor will load it */
    early = grown; /* before the call, which looks through the list */
    __objc_exec_class(module);
    early[early_count++] = module;
}

/* +[NSAutoreleasePool new] stores two methods at its first call with no lock, and then calls them. A program's threads
 * may all begin with a pool, so the first call comes here: before a program has threads, unless it loads this library
 * later. Foundation's first message makes the process ignore SIGPIPE, which Apple's does not. Message expressions of
 * this file work only once its own module is loaded. */
static void make_first_pool(void) {
    typedef id (*message)(id, SEL);
    struct sigaction pipes;
    sigaction(SIGPIPE, NULL, &pipes);
    const id pools = (id)objc_lookUpClass("NSAutoreleasePool");
    const SEL make = sel_registerName("new"), drain = sel_registerName("drain");
    const id pool = ((message)objc_msg_lookup(pools, make))(pools, make);
    ((message)objc_msg_lookup(pool, drain))(pool, drain);
    sigaction(SIGPIPE, &pipes, NULL);
}

static void load_all_early(void) {
    smtl_find_modules(load_early);
    make_first_pool();
}

/* Before every initialiser that a program can ask for: the numbers up to 100 are not for programs. */
__attribute__((section(".init_array.00001"), used)) static void (*const first_initialiser)(void) = load_all_early;

/* Every module's constructor calls this. It takes the place of the runtime's function of that name. */
void __objc_exec_class(struct module *module) {
    static void (*load)(struct module *);
    pthread_mutex_lock(&lock);
    if (is_early(module)) {
        pthread_mutex_unlock(&lock);
        return;
    }
    if (load == NULL) load = (void (*)(struct module *))dlsym(RTLD_NEXT, "__objc_exec_class");
    if (module->version == MODULE_VERSION_MODERN) adopt_module(module);
    pthread_mutex_unlock(&lock);
    load(module);
}

void *objc_autoreleasePoolPush(void);
void *objc_autoreleasePoolPush(void) { return [NSAutoreleasePool new]; }

void objc_autoreleasePoolPop(void *pool);
void objc_autoreleasePoolPop(void *pool) { [(NSAutoreleasePool *)pool drain]; }
