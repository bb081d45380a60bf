/* How the engine enters a compiled kernel. The translator ends every kernel's translation unit with
 *
 *     SMTL_ENTRY("host name", (ns::f<float, 4>), smtl::buffer_argument<0>, smtl::constant_argument<1>,
 *                smtl::threadgroup_argument<0>, smtl::attribute<smtl::thread_position_in_grid>)
 *
 * with one descriptor for each parameter of the kernel, in order. The conversions are driven by the types of the
 * parameters: pointers, references, and scalars or 2- or 3-component vectors of any integer type for attributes. */
#ifndef SMTL_ENTRY_H
#define SMTL_ENTRY_H

#include "function_tables.h"
#include "polls.h"
#include "touch.h"
#include "variables.h"

namespace smtl {

struct position {
    uint32_t x, y, z;
};

/* The threadgroup as the thread loop sees it: copied out of the core, since stores of the kernel may alias the core. */
struct group {
    position origin; /* of the threadgroup's first thread in the grid */
    position index;
    position size;
    position dispatch_size;
    position groups;
    position grid;
};

struct thread {
    position local;
    uint32_t index;
};

template <class T> struct remove_reference {
    using type = T;
};
template <class T> struct remove_reference<T &> {
    using type = T;
};
template <class T> struct is_pointer {
    static constexpr bool value = false;
};
template <class T> struct is_pointer<T *> {
    static constexpr bool value = true;
};
template <class T> struct is_pointer<T *const> {
    static constexpr bool value = true;
};
template <class T> struct is_reference {
    static constexpr bool value = false;
};
template <class T> struct is_reference<T &> {
    static constexpr bool value = true;
};

/* An attribute as the parameter's type: by its number of components. */
template <class T> SMTL_INLINE T convert(position p) {
    if constexpr (__is_constructible(T, uint32_t, uint32_t, uint32_t))
        return T(p.x, p.y, p.z);
    else if constexpr (__is_constructible(T, uint32_t, uint32_t))
        return T(p.x, p.y);
    else
        return T(p.x);
}

template <class T> SMTL_INLINE T convert(uint32_t value) { return T(value); }

SMTL_INLINE uint32_t volume(position p) { return p.x * p.y * p.z; }
SMTL_INLINE uint32_t divide_up(uint32_t n, uint32_t d) { return (n + d - 1) / d; }
constexpr uint32_t quad_width = 4;

/* Attributes: a name of Metal's and what it is for one thread of one threadgroup. */
#define SMTL_ATTRIBUTE(name, expression)                                                                 \
    struct name {                                                                                        \
        static SMTL_INLINE auto get([[maybe_unused]] const group &g, [[maybe_unused]] const thread &t) { \
            return expression;                                                                           \
        }                                                                                                \
    }

SMTL_ATTRIBUTE(thread_position_in_grid,
               (position{g.origin.x + t.local.x, g.origin.y + t.local.y, g.origin.z + t.local.z}));
SMTL_ATTRIBUTE(thread_position_in_threadgroup, t.local);
SMTL_ATTRIBUTE(threadgroup_position_in_grid, g.index);
SMTL_ATTRIBUTE(threads_per_threadgroup, g.size);
SMTL_ATTRIBUTE(dispatch_threads_per_threadgroup, g.dispatch_size);
SMTL_ATTRIBUTE(threads_per_grid, g.grid);
SMTL_ATTRIBUTE(threadgroups_per_grid, g.groups);
SMTL_ATTRIBUTE(grid_size, g.grid);
SMTL_ATTRIBUTE(grid_origin, (position{0, 0, 0}));
SMTL_ATTRIBUTE(thread_index_in_threadgroup, t.index);
SMTL_ATTRIBUTE(thread_index_in_simdgroup, t.index % SMTL_SIMDGROUP_WIDTH);
SMTL_ATTRIBUTE(simdgroup_index_in_threadgroup, t.index / SMTL_SIMDGROUP_WIDTH);
SMTL_ATTRIBUTE(simdgroups_per_threadgroup, divide_up(volume(g.size), SMTL_SIMDGROUP_WIDTH));
SMTL_ATTRIBUTE(dispatch_simdgroups_per_threadgroup, divide_up(volume(g.dispatch_size), SMTL_SIMDGROUP_WIDTH));
SMTL_ATTRIBUTE(threads_per_simdgroup, SMTL_SIMDGROUP_WIDTH);
SMTL_ATTRIBUTE(thread_execution_width, SMTL_SIMDGROUP_WIDTH);
SMTL_ATTRIBUTE(thread_index_in_quadgroup, t.index % quad_width);
SMTL_ATTRIBUTE(quadgroup_index_in_threadgroup, t.index / quad_width);
SMTL_ATTRIBUTE(quadgroup_index_in_simdgroup, t.index % SMTL_SIMDGROUP_WIDTH / quad_width);
SMTL_ATTRIBUTE(quadgroups_per_threadgroup, divide_up(volume(g.size), quad_width));
SMTL_ATTRIBUTE(dispatch_quadgroups_per_threadgroup, divide_up(volume(g.dispatch_size), quad_width));
#undef SMTL_ATTRIBUTE

/* What a descriptor makes of the launch before the thread loop (`bind`), and for each thread (`get`). */
template <class Parameter> struct bound_pointer {
    Parameter pointer;
    SMTL_INLINE Parameter get(const group &, const thread &) { return pointer; }
};

template <class Parameter> struct bound_reference {
    using referent = typename remove_reference<Parameter>::type;
    referent *pointer;
    SMTL_INLINE referent &get(const group &, const thread &) { return *pointer; }
};

/* Constant memory does not change while the kernel runs. A copy of our own tells the compiler so: it can keep the
 * members in registers across the threads. */
template <class Parameter> struct bound_constant {
    using referent = typename remove_reference<Parameter>::type;
    alignas(alignof(referent)) unsigned char copy[sizeof(referent)];
    SMTL_INLINE explicit bound_constant(const void *from) { __builtin_memcpy(copy, from, sizeof(copy)); }
    SMTL_INLINE referent &get(const group &, const thread &) { return *(referent *)(copy); }
};

template <class Parameter, class Name> struct bound_attribute {
    SMTL_INLINE Parameter get(const group &g, const thread &t) { return convert<Parameter>(Name::get(g, t)); }
};

/* Larger constants stay where they are, and all of them where accesses are checked against the buffer. */
constexpr size_t constant_copy_limit = SMTL_SANITIZE ? 0 : 256;

/* An array of buffers takes as many indices as it has elements; zero for everything else. */
template <class Parameter> struct buffer_array {
    static constexpr unsigned length = 0;
};
template <class Parameter> struct buffer_array<const Parameter> : buffer_array<Parameter> {};

template <unsigned... I> struct indices {};
template <class, unsigned... I> using index_list = indices<I...>;

template <class Parameter> struct bound_array {
    Parameter array;
    SMTL_INLINE const Parameter &get(const group &, const thread &) { return array; }
};

template <class T> constexpr bool is_function_table = false;
template <class T> constexpr bool is_function_table<metal::visible_function_table<T>> = true;
template <class T> constexpr bool is_function_table<const metal::visible_function_table<T>> = true;

/* A table is the address that the host gives. */
template <class Parameter> struct bound_table {
    const smtl_function_table *table;
    SMTL_INLINE Parameter get(const group &, const thread &) { return {table}; }
};

template <class Parameter> constexpr size_t required_size() {
    if constexpr (is_function_table<Parameter>)
        return sizeof(smtl_function_table);
    else if constexpr (is_reference<Parameter>::value)
        return sizeof(typename remove_reference<Parameter>::type);
    else
        return 0;
}

template <class Parameter> SMTL_INLINE auto bind_memory(void *address) {
    if constexpr (is_function_table<Parameter>)
        return bound_table<Parameter>{(const smtl_function_table *)address};
    else if constexpr (is_reference<Parameter>::value)
        return bound_reference<Parameter>{(typename remove_reference<Parameter>::type *)address};
    else
        return bound_pointer<Parameter>{(Parameter)address};
}

/* Passes an argument's address on. Where anything depends on it, a record stays in the machine code: the statement is
 * not volatile, so that the optimiser drops it with what nobody needs. A kernel can be launched without the arguments
 * that it has no record of. */
template <smtl_parameter_kind Kind, uint32_t Index> SMTL_INLINE void *used(void *address) {
    asm(".pushsection smtl_used,\"a\"\n.balign 4\n.short %c1\n.short %c2\n.popsection"
        : "+r"(address)
        : "i"(Index), "i"(Kind));
    return address;
}

/* Descriptors. `Present` is false for an argument that a function constant removes from the kernel. */
template <uint32_t Index, bool Present = true> struct buffer_argument {
    static_assert(Index < SMTL_BUFFER_SLOTS, "buffer indices end at 30");
    static constexpr bool supplied = Present;
    template <class Parameter>
    static constexpr smtl_parameter parameter = {SMTL_PARAMETER_BUFFER, Index, required_size<Parameter>()};
    template <uint32_t Element = 0> static SMTL_INLINE void *address(const smtl_core *core) {
        if constexpr (Present)
            return used<SMTL_PARAMETER_BUFFER, Index + Element>(core->buffers[Index + Element]);
        else
            return nullptr;
    }
    template <class Parameter, unsigned... I>
    static SMTL_INLINE bound_array<Parameter> bind_array(const smtl_core *core, indices<I...>) {
        return {{{(typename buffer_array<Parameter>::element)address<I>(core)...}}};
    }
    template <class Parameter> static SMTL_INLINE auto bind(const smtl_core *core) {
        constexpr unsigned length = buffer_array<Parameter>::length;
        if constexpr (length > 0)
            return bind_array<Parameter>(core, __make_integer_seq<index_list, unsigned, length>{});
        else
            return bind_memory<Parameter>(address(core));
    }
};

template <uint32_t Index, bool Present = true> struct constant_argument : buffer_argument<Index, Present> {
    template <class Parameter> static SMTL_INLINE auto bind(const smtl_core *core) {
        if constexpr (Present && is_reference<Parameter>::value && required_size<Parameter>() <= constant_copy_limit)
            return bound_constant<Parameter>(buffer_argument<Index, Present>::address(core));
        else
            return buffer_argument<Index, Present>::template bind<Parameter>(core);
    }
};

template <uint32_t Index, bool Present = true> struct threadgroup_argument {
    static_assert(Index < SMTL_BUFFER_SLOTS, "indices of threadgroup memory end at 30");
    static constexpr bool supplied = Present;
    template <class Parameter>
    static constexpr smtl_parameter parameter = {SMTL_PARAMETER_THREADGROUP, Index, required_size<Parameter>()};
    template <class Parameter> static SMTL_INLINE auto bind(const smtl_core *core) {
        return bind_memory<Parameter>(Present ? used<SMTL_PARAMETER_THREADGROUP, Index>(core->threadgroup_memory[Index])
                                              : nullptr);
    }
};

template <class Name> struct attribute {
    static constexpr bool supplied = false;
    template <class Parameter> static SMTL_INLINE auto bind(const smtl_core *) {
        return bound_attribute<Parameter, Name>{};
    }
};

/* What the arguments are bound to: a plain aggregate, which the optimiser takes apart. */
template <unsigned I, class Bound> struct bound_argument {
    Bound bound;
};
template <class, class... Bound> struct bound_arguments;
template <unsigned... I, class... Bound>
struct bound_arguments<indices<I...>, Bound...> : bound_argument<I, Bound>... {};

SMTL_INLINE position load_position(const uint32_t (&from)[3]) { return {from[0], from[1], from[2]}; }

template <auto Function, class Signature, class... Descriptor> struct kernel;

template <auto Function, class... Parameter, class... Descriptor>
struct kernel<Function, void (*)(Parameter...), Descriptor...> {
    static_assert(sizeof...(Parameter) == sizeof...(Descriptor), "one descriptor for each parameter of the kernel");

    template <unsigned... I, class... Bound>
    static SMTL_INLINE void call(bound_arguments<indices<I...>, Bound...> &arguments, const group &g, const thread &t) {
#if SMTL_SANITIZE
        /* What becomes part of `run` before the instrumentation comes is not instrumented either. */
        [[clang::noinline]] Function(static_cast<bound_argument<I, Bound> &>(arguments).bound.get(g, t)...);
#else
        [[clang::always_inline]] Function(static_cast<bound_argument<I, Bound> &>(arguments).bound.get(g, t)...);
#endif
    }

    /* Only the kernel itself is instrumented, not the way there. */
    SMTL_UNINSTRUMENTED static void run(smtl_core *core) {
        group g;
        g.index = load_position(core->threadgroup_position);
        g.size = load_position(core->threadgroup_size);
        g.dispatch_size = load_position(core->dispatch_threadgroup_size);
        g.groups = load_position(core->threadgroups);
        g.grid = load_position(core->grid_size);
        g.origin = {g.index.x * g.dispatch_size.x, g.index.y * g.dispatch_size.y, g.index.z * g.dispatch_size.z};
#if SMTL_SANITIZE
        /* Each thread on a fiber of its own: an access has to be told from those of the other threads. */
        mark_blocking();
#endif
        using each = __make_integer_seq<index_list, unsigned, sizeof...(Parameter)>;
        bound_arguments<each, decltype(Descriptor::template bind<Parameter>(core))...> arguments = {
            {Descriptor::template bind<Parameter>(core)}...};

        /* Neighbours in x: short threadgroups cost little more than their work. */
        for (uint32_t left = core->threadgroup_run;;) {
            run_threadgroup(core, arguments, g);
            if (--left == 0) return;
            core->threadgroup_position[0] = ++g.index.x;
            g.origin.x += g.dispatch_size.x;
        }
    }

    template <class Arguments>
    static SMTL_INLINE void run_threadgroup(smtl_core *core, Arguments &arguments, const group &g) {
        const uint32_t total = volume(g.size);
        thread t = {{0, 0, 0}, blocking || polling ? core->thread : 0};
        t.local.x = t.index;
        if (t.index >= g.size.x) {
            const uint32_t row = t.index / g.size.x;
            t.local = {t.index % g.size.x, row % g.size.y, row / g.size.y};
        }
        for (;;) {
            /* One row of the threadgroup: neighbours in memory, as a rule, and so the loop to vectorise. */
            const uint32_t count = g.size.x - t.local.x;
            for (uint32_t i = 0; i < count; ++i) {
                if (polling) begin_polling_thread(core, t.index + i);
                call(arguments, g, thread{{t.local.x + i, t.local.y, t.local.z}, t.index + i});
                if (blocking || (polling && core->threads_apart)) leave(core);
            }
            t.index += count;
            if (t.index == total) return;
            t.local.x = 0;
            if (++t.local.y == g.size.y) {
                t.local.y = 0;
                ++t.local.z;
            }
        }
    }
};

/* The parameters that the launch supplies, in order; the count may be zero, which C++ arrays cannot express. */
template <class... Parameter> struct parameter_list {
    template <class... Descriptor> struct of {
        template <class P>
        static constexpr uint32_t elements = buffer_array<P>::length == 0 ? 1 : buffer_array<P>::length;
        static constexpr uint32_t count = (0u + ... + (Descriptor::supplied ? elements<Parameter> : 0u));
        smtl_parameter items[count == 0 ? 1 : count] = {};
        constexpr of() {
            uint32_t next = 0;
            (append<Parameter, Descriptor>(next), ...);
        }
        template <class P, class D> constexpr void append(uint32_t &next) {
            if constexpr (D::supplied) {
                for (uint32_t i = 0; i < elements<P>; ++i) {
                    items[next] = D::template parameter<P>;
                    items[next++].index += i;
                }
            }
        }
    };
};

template <class Signature, class... Descriptor> struct parameters_of;
template <class... Parameter, class... Descriptor> struct parameters_of<void (*)(Parameter...), Descriptor...> {
    using type = typename parameter_list<Parameter...>::template of<Descriptor...>;
    static constexpr type table{};
};

template <auto Function, class... Descriptor>
constexpr smtl_kernel_image
make_image(const char *name, const smtl_marked_site *blocking_begin, const smtl_marked_site *blocking_end,
           const smtl_used_argument *used_begin, const smtl_used_argument *used_end,
           const smtl_marked_site *polling_begin, const smtl_marked_site *polling_end, const void *identity,
           const smtl_marked_site *linked_blocking_begin, const smtl_marked_site *linked_blocking_end,
           const smtl_marked_site *linked_polling_begin, const smtl_marked_site *linked_polling_end) {
    using signature = decltype(Function);
    using parameters = parameters_of<signature, Descriptor...>;
    return {SMTL_ABI_VERSION,
            parameters::type::count,
            parameters::table.items,
            name,
            kernel<Function, signature, Descriptor...>::run,
            blocking_begin,
            blocking_end,
            used_begin,
            used_end,
            polling_begin,
            polling_end,
            identity,
            linked_blocking_begin,
            linked_blocking_end,
            linked_polling_begin,
            linked_polling_end};
}

}  // namespace smtl

/* The linker defines these where the sections exist. */
extern "C" {
extern const smtl_marked_site __start_smtl_blocking[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __stop_smtl_blocking[] __attribute__((weak, visibility("hidden")));
extern const smtl_used_argument __start_smtl_used[] __attribute__((weak, visibility("hidden")));
extern const smtl_used_argument __stop_smtl_used[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __start_smtl_polling[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __stop_smtl_polling[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __start_smtl_linked_blocking[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __stop_smtl_linked_blocking[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __start_smtl_linked_polling[] __attribute__((weak, visibility("hidden")));
extern const smtl_marked_site __stop_smtl_linked_polling[] __attribute__((weak, visibility("hidden")));
}

#define SMTL_UNWRAP(...) __VA_ARGS__
#define SMTL_ENTRY(name, function, ...)                                                              \
    extern "C" __attribute__((visibility("hidden"), used)) const char smtl_identity = 1;             \
    extern "C" __attribute__((visibility("default"), used)) const smtl_kernel_image smtl_entry =     \
        smtl::make_image<&SMTL_UNWRAP function __VA_OPT__(, ) __VA_ARGS__>(                          \
            name, __start_smtl_blocking, __stop_smtl_blocking, __start_smtl_used, __stop_smtl_used,  \
            __start_smtl_polling, __stop_smtl_polling, &smtl_identity, __start_smtl_linked_blocking, \
            __stop_smtl_linked_blocking, __start_smtl_linked_polling, __stop_smtl_linked_polling);

#endif
