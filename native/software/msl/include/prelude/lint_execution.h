// Declarations of what threads do together: barriers, simdgroup and quadgroup functions, simdgroup matrices, atomics;
// and of the commands that they encode.
// Included by lint.h, which defines the address spaces.
#pragma once

// Names that OpenCL takes for itself.
#define atomic_int smtl_atomic_int
#define atomic_uint smtl_atomic_uint
#define atomic_float smtl_atomic_float
#define atomic_ulong smtl_atomic_ulong

namespace metal {

enum class mem_flags {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
enum memory_order {
    memory_order_relaxed,
    memory_order_acquire,
    memory_order_release,
    memory_order_acq_rel,
    memory_order_seq_cst
};
enum thread_scope {
    thread_scope_thread,
    thread_scope_simdgroup,
    thread_scope_threadgroup,
    thread_scope_device
};

struct command_buffer {
    size_t size() const;
    ulong handle;
};
struct compute_pipeline_state {
    ulong handle;
};
struct compute_command {
    explicit compute_command(command_buffer commands, uint index);
    void set_compute_pipeline_state(compute_pipeline_state pipeline);
    template <class T> void set_kernel_buffer(device T *buffer, uint index);
    template <class T> void set_kernel_buffer(constant T *buffer, uint index);
    void set_threadgroup_memory_length(uint length, uint index);
    void concurrent_dispatch_threadgroups(uint3 threadgroups_per_grid, uint3 threads_per_threadgroup);
    void concurrent_dispatch_threads(uint3 threads_per_grid, uint3 threads_per_threadgroup);
    void set_barrier();
    void clear_barrier();
    void reset();
    void copy_command(compute_command source);
};

template <class T> struct visible_function;
template <class Result, class... Argument> struct visible_function<Result(Argument...)> {
    Result operator()(Argument... arguments) const;
};
template <class T> struct visible_function_table {
    visible_function<T> operator[](size_t index) const;
    size_t size() const;
    bool empty() const;
};
template <class T> bool is_null_visible_function_table(visible_function_table<T> table);

void threadgroup_barrier(mem_flags flags);
void simdgroup_barrier(mem_flags flags);
void atomic_thread_fence(mem_flags flags, memory_order order, thread_scope scope = thread_scope_device);

// Reductions, scans and shuffles of a simdgroup (`simd_`) and of a quadgroup (`quad_`).
#define SMTL_OF_ONE(name) template <class T> T name(T data);
#define SMTL_OF_LANE(name) template <class T> T name(T data, ushort lane);
#define SMTL_GROUP_FUNCTIONS(group)                                                                          \
    SMTL_OF_ONE(group##_sum)                                                                                 \
    SMTL_OF_ONE(group##_product)                                                                             \
    SMTL_OF_ONE(group##_min)                                                                                 \
    SMTL_OF_ONE(group##_max)                                                                                 \
    SMTL_OF_ONE(group##_and)                                                                                 \
    SMTL_OF_ONE(group##_or)                                                                                  \
    SMTL_OF_ONE(group##_xor)                                                                                 \
    SMTL_OF_ONE(group##_prefix_inclusive_sum)                                                                \
    SMTL_OF_ONE(group##_prefix_exclusive_sum)                                                                \
    SMTL_OF_ONE(group##_prefix_inclusive_product)                                                            \
    SMTL_OF_ONE(group##_prefix_exclusive_product)                                                            \
    SMTL_OF_ONE(group##_broadcast_first)                                                                     \
    SMTL_OF_LANE(group##_broadcast)                                                                          \
    SMTL_OF_LANE(group##_shuffle)                                                                            \
    SMTL_OF_LANE(group##_shuffle_xor)                                                                        \
    SMTL_OF_LANE(group##_shuffle_up)                                                                         \
    SMTL_OF_LANE(group##_shuffle_down)                                                                       \
    SMTL_OF_LANE(group##_shuffle_rotate_up)                                                                  \
    SMTL_OF_LANE(group##_shuffle_rotate_down)                                                                \
    template <class T> T group##_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo = 32);   \
    template <class T> T group##_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo = 32); \
    bool group##_all(bool condition);                                                                        \
    bool group##_any(bool condition);                                                                        \
    bool group##_is_first();                                                                                 \
    bool group##_is_helper_thread();                                                                         \
    struct group##_vote {                                                                                    \
        using vote_t = ulong;                                                                                \
        explicit group##_vote(vote_t votes = 0);                                                             \
        explicit operator vote_t() const;                                                                    \
        bool all() const;                                                                                    \
        bool any() const;                                                                                    \
    };                                                                                                       \
    group##_vote group##_ballot(bool condition);                                                             \
    group##_vote group##_active_threads_mask();
SMTL_GROUP_FUNCTIONS(simd)
SMTL_GROUP_FUNCTIONS(quad)

template <class T, int Columns, int Rows = Columns> struct simdgroup_matrix {
    simdgroup_matrix() = default;
    explicit simdgroup_matrix(T diagonal);
    using storage = vec<T, 2>;
    thread storage &thread_elements();
    const thread storage &thread_elements() const;
};
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int Columns, int Rows = Columns>
simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value);
template <class T, int Columns, int Rows = Columns>
simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value);
// References to matrices name no space, so that members of objects serve: these are reached in none.
#define SMTL_MATRIX_ACCESS(space)                                                                        \
    template <class T>                                                                                   \
    void simdgroup_load(simdgroup_matrix<T, 8, 8> &d, const space T *source, ulong elements_per_row = 8, \
                        ulong2 origin = 0, bool transpose = false);                                      \
    template <class T>                                                                                   \
    void simdgroup_store(simdgroup_matrix<T, 8, 8> a, space T *destination, ulong elements_per_row = 8,  \
                         ulong2 origin = 0, bool transpose = false);
SMTL_MATRIX_ACCESS(device)
SMTL_MATRIX_ACCESS(threadgroup)
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c);
template <class D, class A, class B>
void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b);
template <class T> simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b);

template <class T> struct _atomic {
    T __value;
};
template <class T> using atomic = _atomic<T>;
using atomic_int = _atomic<int>;
using atomic_uint = _atomic<uint>;
using atomic_bool = _atomic<bool>;
using atomic_float = _atomic<float>;
using atomic_ulong = _atomic<ulong>;

#define SMTL_ATOMIC_MODIFY(space, name)                                                            \
    template <class T>                                                                             \
    T atomic_##name##_explicit(volatile space _atomic<T> *object, smtl_type_identity_t<T> operand, \
                               memory_order order);
#define SMTL_ATOMICS(space)                                                                                           \
    template <class T> T atomic_load_explicit(const volatile space _atomic<T> *object, memory_order order);           \
    template <class T>                                                                                                \
    void atomic_store_explicit(volatile space _atomic<T> *object, smtl_type_identity_t<T> desired,                    \
                               memory_order order);                                                                   \
    template <class T>                                                                                                \
    bool atomic_compare_exchange_weak_explicit(                                                                       \
        volatile space _atomic<T> *object, thread smtl_type_identity_t<T> *expected, smtl_type_identity_t<T> desired, \
        memory_order success, memory_order failure);                                                                  \
    SMTL_ATOMIC_MODIFY(space, exchange)                                                                               \
    SMTL_ATOMIC_MODIFY(space, fetch_add)                                                                              \
    SMTL_ATOMIC_MODIFY(space, fetch_sub)                                                                              \
    SMTL_ATOMIC_MODIFY(space, fetch_and)                                                                              \
    SMTL_ATOMIC_MODIFY(space, fetch_or)                                                                               \
    SMTL_ATOMIC_MODIFY(space, fetch_xor)                                                                              \
    SMTL_ATOMIC_MODIFY(space, fetch_min)                                                                              \
    SMTL_ATOMIC_MODIFY(space, fetch_max)                                                                              \
    template <class T>                                                                                                \
    void atomic_min_explicit(volatile space _atomic<T> *object, smtl_type_identity_t<T> operand, memory_order order); \
    template <class T>                                                                                                \
    void atomic_max_explicit(volatile space _atomic<T> *object, smtl_type_identity_t<T> operand, memory_order order);
SMTL_ATOMICS(device)
SMTL_ATOMICS(threadgroup)

}  // namespace metal

template <class T> T __metal_get_thread_index_in_simdgroup(T);
template <class T> T __metal_get_simdgroup_size(T);
template <class T> T __metal_simd_and(T);
template <class T> T __metal_simd_or(T);
template <class T> T __metal_simd_xor(T);
