/* Regions: statements that not all lanes of a simdgroup execute alike, and in which lane functions stand. As on a GPU,
 * lanes that leave one wait for all others that came to it, and what a lane's variables hold there can be read while it
 * is inactive. The translation declares a region before such a statement; see msl/passes/simd_sync/regions.cpp. */
#ifndef SMTL_REGION_H
#define SMTL_REGION_H

#include "exchange.h"
#include "touch.h"

namespace smtl {

/* A variable that a lane function in the region takes, by the number of its name. */
template <uint32_t Name, class T> struct shown {
    const T &variable;
    SMTL_INLINE void copy_to(smtl_shown_variable &to) const {
        to.name = Name;
        to.size = 0;
        if constexpr (sizeof(T) <= SMTL_EXCHANGE_VALUE_SIZE && __is_trivially_copyable(T)) {
            to.size = sizeof(T);
            __builtin_memcpy(to.value, &variable, sizeof(T));
        }
    }
};
template <uint32_t Name, class T> SMTL_INLINE shown<Name, T> show(const T &variable) { return {variable}; }

SMTL_INLINE void enter_region(smtl_region &region, uint32_t site) {
    smtl_context &self = current_core()->contexts[current_thread()];
    region.outer = self.region;
    region.site = site;
    region.depth = region.outer != nullptr ? region.outer->depth + 1 : 1;
    self.region = &region;
}
SMTL_INLINE void leave_region(const smtl_region &region) {
    enter<offsetof(smtl_core, enter_exchange)>(current_core(), region.site | SMTL_JOIN_SITE, nullptr, 0);
    current_core()->contexts[current_thread()].region = region.outer;
}

/* One variable after the other, so that the compiler sees where each is copied to. */
template <class... Shown> struct shown_list {
    SMTL_INLINE void copy_to(smtl_shown_variable *) const {}
};
template <class First, class... Rest> struct shown_list<First, Rest...> {
    First first;
    shown_list<Rest...> rest;
    SMTL_INLINE explicit shown_list(First f, Rest... r) : first(f), rest(r...) {}
    SMTL_INLINE void copy_to(smtl_shown_variable *to) const {
        first.copy_to(*to);
        rest.copy_to(to + 1);
    }
};

template <class... Shown> class region {
public:
    SMTL_INLINE explicit region(uint32_t site, Shown... variables) : list_(variables...) {
        list_.copy_to(values_);
        region_.shown = values_;
        region_.shown_count = sizeof...(Shown);
        enter_region(region_, site);
    }
    SMTL_INLINE ~region() {
        list_.copy_to(values_);
        leave_region(region_);
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

private:
    smtl_region region_;
    shown_list<Shown...> list_;
    smtl_shown_variable values_[sizeof...(Shown)];
};
template <> class region<> {
public:
    SMTL_INLINE explicit region(SMTL_SITE) {
        region_.shown = nullptr;
        region_.shown_count = 0;
        enter_region(region_, site);
    }
    SMTL_INLINE ~region() { leave_region(region_); }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

private:
    smtl_region region_;
};
template <class... Shown> region(uint32_t, Shown...) -> region<Shown...>;

/* The last statement of a kernel, in which no variable from before it is shown: a lane that has done it ends. */
class last_region {
public:
    SMTL_INLINE explicit last_region(SMTL_SITE) {
        region_.shown = nullptr;
        region_.shown_count = 0;
        enter_region(region_, site);
    }
    SMTL_INLINE ~last_region() { current_core()->contexts[current_thread()].region = region_.outer; }
    last_region(const last_region &) = delete;
    last_region &operator=(const last_region &) = delete;

private:
    smtl_region region_;
};

/* Lanes in another branch wait until those in the branches before it have left them, wherever these are in functions.
 */
SMTL_INLINE void take_turn(SMTL_SITE) {
    enter<offsetof(smtl_core, enter_exchange)>(current_core(), site | SMTL_TURN_SITE, nullptr, 0);
}

SMTL_INLINE constexpr uint32_t region_site(SMTL_SITE) { return site; }

/* What an inactive lane's variable holds in the innermost region that both lanes are in, or NULL. */
inline __attribute__((noinline, cold)) const void *find_shown(uint32_t lane, uint32_t name, uint32_t size) {
    const smtl_core *const core = current_core();
    const uint32_t self = current_thread(), other = self / simd_width * simd_width + lane;
    if (other >= core->threadgroup_size[0] * core->threadgroup_size[1] * core->threadgroup_size[2]) return nullptr;
    const smtl_region *const own = core->contexts[self].region;
    for (const smtl_region *at = core->contexts[other].region; at != nullptr && own != nullptr; at = at->outer) {
        if (at->depth > own->depth) continue;
        for (uint32_t i = 0; i < at->shown_count; ++i)
            if (at->shown[i].name == name && at->shown[i].size == size) return at->shown[i].value;
    }
    return nullptr;
}

/* The same as a value, if it is known. A pointer is not: what it points to need not be there. */
template <uint32_t Name, class T> class shown_value {
public:
    SMTL_INLINE explicit shown_value(uint32_t lane) {
        if constexpr (__is_trivially_copyable(T) && !__is_pointer(T)) {
            const void *const found = find_shown(lane, Name, sizeof(T));
            known_ = found != nullptr;
            if (known_) __builtin_memcpy(bytes_, found, sizeof(T));
        }
    }
    SMTL_INLINE bool known() const { return known_; }
    SMTL_INLINE const T &value() const { return *reinterpret_cast<const T *>(bytes_); }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
    bool known_ = false;
};

/* What a lane function takes: the running lane's value, and how another lane's is computed from its variables. */
template <class T, class Operand> struct lane_operand {
    T value;
    Operand operand;
    SMTL_INLINE operator T() const { return value; }
};
struct unknown_operand {
    template <class T> SMTL_INLINE void compute(uint32_t, T &) const {}
};
template <class Function, class... Variables> struct computed_operand {
    Function function;
    /* Leaves the value as it is unless all variables are known. */
    template <class T> SMTL_INLINE void compute(uint32_t lane, T &value) const {
        compute_from(value, Variables(lane)...);
    }

private:
    template <class T> SMTL_INLINE void compute_from(T &value, const Variables &...variables) const {
        if ((variables.known() && ...)) value = function(variables.value()...);
    }
};
template <uint32_t... Names, class Function, class... Variables>
SMTL_INLINE auto computed(const Function &function, const Variables &...variables) {
    using operand = computed_operand<Function, shown_value<Names, Variables>...>;
    return lane_operand<decltype(function(variables...)), operand>{function(variables...), {function}};
}
struct same_value {
    template <class T> SMTL_INLINE T operator()(const T &value) const { return value; }
};
template <uint32_t Name, class T> SMTL_INLINE auto named(const T &variable) {
    return computed<Name>(same_value(), variable);
}

/* Whether the threadgroup has the lane: its last simdgroup may have fewer. */
SMTL_INLINE bool exists(uint32_t lane) {
    const uint32_t *const size = current_core()->threadgroup_size;
    return current_thread() - current_lane() + lane < size[0] * size[1] * size[2];
}

/* Zero of a lane that there is not, as on Apple's GPUs; the running lane's own value where nothing is known. */
template <class T, class Operand> SMTL_INLINE T inactive_value(uint32_t lane, const T &own, const Operand &operand) {
    touch_inactive_lane(lane);
    if (!exists(lane)) return T{};
    T value = own;
    operand.compute(lane, value);
    return value;
}

}  // namespace smtl

#endif
