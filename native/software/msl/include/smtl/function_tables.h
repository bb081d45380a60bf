/* <metal_visible_function_table>: functions that a kernel picks at run time. A table is an address; the host owns what
 * is there. Each look-up is checked, and ends the launch at the first that is wrong. */
#ifndef SMTL_FUNCTION_TABLES_H
#define SMTL_FUNCTION_TABLES_H

#include "core.h"
#include "exchange.h"
#include "touch.h"

/* Defined beside the kernel's entry. */
extern "C" __attribute__((visibility("hidden"))) extern const char smtl_identity;

namespace smtl {

/* The same text wherever the type is named: it ends in "[T = name]". */
template <class T> constexpr const char *function_type_name() { return __PRETTY_FUNCTION__; }

constexpr uint64_t add_to_hash(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }

/* How many bytes are passed. Two sources may have types of one name. */
template <class T> constexpr uint64_t passed_size() {
    if constexpr (metal::is_same_v<T, void>)
        return 0;
    else if constexpr (__is_reference(T))
        return sizeof(void *);
    else
        return sizeof(T) * 64 + alignof(T);
}

template <class T> struct passed_sizes;
template <class Result, class... Argument> struct passed_sizes<Result(Argument...)> {
    static constexpr uint64_t add(uint64_t hash) {
        hash = add_to_hash(hash, passed_size<Result>());
        ((hash = add_to_hash(hash, passed_size<Argument>())), ...);
        return hash;
    }
};

template <class T> constexpr uint64_t function_type() {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = function_type_name<T>(); *c != 0; ++c) hash = add_to_hash(hash, uint64_t(*c));
    return passed_sizes<T>::add(hash);
}

/* The one of several functions of a name that takes these arguments. */
template <class T> struct function_of;
template <class... Argument> struct function_of<void(Argument...)> {
    template <class Result> static constexpr auto address(Result (*function)(Argument...)) { return function; }
};

/* Not inlined: an instrumented kernel reads the table unseen, for it is no memory of the kernel's. */
SMTL_UNINSTRUMENTED __attribute__((noinline)) inline void *find_function(const smtl_function_request &request) {
    const smtl_function_table *const table = request.table;
    if (table != nullptr && table->mark == SMTL_FUNCTION_TABLE_MARK && table->image == &smtl_identity &&
        request.index < table->count) {
        const smtl_visible_function *const function = table->functions[request.index];
        if (function != nullptr && function->type == request.type) return function->code;
    }
    smtl_core *const core = current_core();
    core->refuse_function(core, &request);
    __builtin_unreachable();
}

SMTL_UNINSTRUMENTED __attribute__((noinline)) inline uint64_t function_count(const smtl_function_table *table) {
    return table != nullptr && table->mark == SMTL_FUNCTION_TABLE_MARK ? table->count : 0;
}

/* Refuses the call of a function that another source declares otherwise. */
SMTL_UNINSTRUMENTED __attribute__((noinline)) inline void *check_function(const smtl_function_request &request) {
    if (request.function->type == request.type) return request.function->code;
    smtl_core *const core = current_core();
    core->refuse_function(core, &request);
    __builtin_unreachable();
}

/* A function that is declared here, and linked. */
template <class T, const smtl_visible_function *Function> struct linked_function;
template <class Result, class... Argument, const smtl_visible_function *Function>
struct linked_function<Result(Argument...), Function> {
    using type = Result(Argument...);
    SMTL_INLINE Result operator()(Argument... arguments) const {
        mark_linked();
        return reinterpret_cast<type *>(
            check_function({Function, nullptr, 0, function_type<type>(), function_type_name<type>(), 0}))(arguments...);
    }
};

/* An index, and where it stands in the source. */
struct place_index {
    template <class T> SMTL_INLINE place_index(T index, SMTL_SITE) : value(uint64_t(index)), site(site) {}
    uint64_t value;
    uint32_t site;
};

}  // namespace smtl

namespace metal {

template <class T> struct visible_function_table {
    SMTL_INLINE T *operator[](smtl::place_index index) const {
        smtl::mark_linked();
        return reinterpret_cast<T *>(smtl::find_function(
            {nullptr, smtl_table, index.value, smtl::function_type<T>(), smtl::function_type_name<T>(), index.site}));
    }
    size_t size() const { return smtl::function_count(smtl_table); }
    bool empty() const { return size() == 0; }
    const smtl_function_table *smtl_table;
};

template <class T> bool is_null_visible_function_table(visible_function_table<T> table) {
    return table.smtl_table == nullptr;
}

}  // namespace metal

#define SMTL_FUNCTION_FACTS(name, function)                                                        \
    {name, (void *)(function), smtl::function_type<metal::remove_pointer_t<decltype(function)>>(), \
     smtl::function_type_name<metal::remove_pointer_t<decltype(function)>>()}
/* In a part that calls, or is called by, other parts. The variable is there because clang does not keep in a
 * precompiled header that the section of the library's variables is writable: without one here it takes `blocking` and
 * `polling` for constants. */
#define SMTL_LINKED_PART(symbol)                                                 \
    __attribute__((used)) static void symbol##_linked() { smtl::mark_linked(); } \
    __attribute__((used)) SMTL_LIBRARY_VARIABLE static char symbol##_writable;
/* Whose functions are known by symbols of their own. */
#define SMTL_DYNAMIC_LIBRARY(symbol)                                               \
    extern "C" __attribute__((visibility("default"), used)) const char symbol = 1; \
    SMTL_LINKED_PART(symbol)
/* By its number for the host, and by its name for the parts that it is linked with. */
#define SMTL_VISIBLE_FUNCTION(symbol, named, name, function)                                                           \
    extern "C" __attribute__((visibility("default"), used)) const smtl_visible_function symbol =                       \
        SMTL_FUNCTION_FACTS(name, function);                                                                           \
    extern "C" __attribute__((visibility("hidden"), used)) const smtl_visible_function symbol##_named __asm__(named) = \
        SMTL_FUNCTION_FACTS(name, function);                                                                           \
    SMTL_LINKED_PART(symbol)

#endif
