// Exceptions in Objective-C++ code that clang compiled for a newer runtime (see SMTLModules.m): C++ and Objective-C
// handlers in one function, which GCC's runtime cannot do. The C++ library alone handles C++ exceptions. An Objective-C
// exception meets two kinds of handlers:
//
// - `catch (...)` and cleanups take it as it is, a foreign exception to C++, and may throw it on;
// - `@catch (NSException *)`, `@catch (id)` and the same in C++ name a type. For these the function at the end puts the
//   object into a C++ exception, and the C++ library asks the types below whether a handler takes it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <typeinfo>
#include <unwind.h>

extern "C" {
const char *class_getName(void *type);
void *class_getSuperclass(void *type);

_Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                         _Unwind_Exception *exception, _Unwind_Context *context);
_Unwind_Reason_Code __gnustep_objcxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                    _Unwind_Exception *exception, _Unwind_Context *context);
}

namespace {

constexpr _Unwind_Exception_Class objective_c = 0x474e55434f424a43;  // "GNUCOBJC"

// What GCC's runtime throws. `scratch` belongs to the frame that handles the exception.
struct Thrown {
    _Unwind_Exception header;
    void *object;
    _Unwind_Exception *scratch;
};

// A thread's exceptions in handlers, the innermost first, and its count of exceptions that no handler has taken yet.
struct Globals {
    void *caught;
    unsigned uncaught;
};

constexpr _Unwind_Exception_Class cxx_of_gnu = 0x474e5543432b2b00;  // "GNUCC++\0"
// The C++ ABI's record of an exception: five pointers, the count of its handlers, another int, four pointers, and the
// header that it shares with the unwinder.
constexpr std::size_t handlers_from_record = 5 * sizeof(void *);
constexpr std::size_t header_from_handlers = 2 * sizeof(int) + 4 * sizeof(void *);

thread_local bool a_type_matched;

bool matched(void **thrown) {
    *thrown = *static_cast<void **>(*thrown);
    a_type_matched = true;
    return true;
}

}  // namespace

// Clang refers to these by name.
namespace gnustep::libobjc {

// The type of every object that is thrown, and of the handler for all of them.
struct __objc_id_type_info final : std::type_info {
    __objc_id_type_info() : std::type_info("id") {}
    bool __do_catch(const std::type_info *type, void **thrown, unsigned outer) const override;
};

// The type of a handler for one class. It has the class's name.
struct __objc_class_type_info final : std::type_info {
    explicit __objc_class_type_info(const char *class_name) : std::type_info(class_name) {}
    bool __do_catch(const std::type_info *type, void **thrown, unsigned outer) const override;
};

}  // namespace gnustep::libobjc

extern "C" gnustep::libobjc::__objc_id_type_info __objc_id_type_info;
// Ready when a program's own initialisers run.
[[gnu::init_priority(101)]] gnustep::libobjc::__objc_id_type_info __objc_id_type_info;

namespace gnustep::libobjc {

bool __objc_id_type_info::__do_catch(const std::type_info *type, void **thrown, unsigned) const {
    return type == &::__objc_id_type_info && matched(thrown);
}

bool __objc_class_type_info::__do_catch(const std::type_info *type, void **thrown, unsigned) const {
    if (type != &::__objc_id_type_info) return false;
    void *object = *static_cast<void **>(*thrown);
    for (void *is_a = object ? *static_cast<void **>(object) : nullptr; is_a; is_a = class_getSuperclass(is_a))
        if (std::strcmp(class_getName(is_a), name()) == 0) return matched(thrown);
    return false;
}

}  // namespace gnustep::libobjc

namespace {

// A C++ exception that holds the object. Its header lies before the memory that the C++ library gives out.
_Unwind_Exception *as_cxx(const Thrown *thrown) {
    void *memory = abi::__cxa_allocate_exception(sizeof(void *));
    std::memcpy(memory, &thrown->object, sizeof(void *));
    void *counted = abi::__cxa_init_primary_exception(memory, &__objc_id_type_info, nullptr);
    *static_cast<int *>(counted) = 1;
    return static_cast<_Unwind_Exception *>(memory) - 1;
}

// Clang ends a `@finally` that was entered by an exception with _Unwind_Resume_or_Rethrow and, on the way out,
// __cxa_end_catch, which would free the exception in flight. `throw;` makes the count of handlers negative, which stops
// __cxa_end_catch from freeing the exception. So does this function.
void mark_as_thrown_on(_Unwind_Exception *exception) {
    char *handlers = reinterpret_cast<char *>(exception) - header_from_handlers;
    auto *globals = reinterpret_cast<Globals *>(abi::__cxa_get_globals());
    if (!globals->caught || static_cast<char *>(globals->caught) + handlers_from_record != handlers) return;
    int count;
    std::memcpy(&count, handlers, sizeof count);
    if (count <= 0) return;
    count = -count;
    std::memcpy(handlers, &count, sizeof count);
    ++globals->uncaught;
}

}  // namespace

_Unwind_Reason_Code __gnustep_objcxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                                    _Unwind_Exception *exception, _Unwind_Context *context) {
    auto as_it_is = [&] { return __gxx_personality_v0(version, actions, kind, exception, context); };
    if (kind == cxx_of_gnu && actions & _UA_SEARCH_PHASE) mark_as_thrown_on(exception);
    if (kind != objective_c) return as_it_is();
    auto *thrown = reinterpret_cast<Thrown *>(exception);
    if (actions & _UA_SEARCH_PHASE) {
        thrown->scratch = nullptr;
        _Unwind_Exception *cxx = as_cxx(thrown);
        a_type_matched = false;
        const auto found = __gxx_personality_v0(version, actions, cxx->exception_class, cxx, context);
        if (found == _URC_HANDLER_FOUND && a_type_matched) {
            thrown->scratch = cxx;
            return found;
        }
        abi::__cxa_free_exception(cxx + 1);
        return as_it_is();
    }
    if (!(actions & _UA_HANDLER_FRAME) || !thrown->scratch) return as_it_is();
    _Unwind_Exception *cxx = thrown->scratch;
    const auto installed = __gxx_personality_v0(version, actions, cxx->exception_class, cxx, context);
    ++reinterpret_cast<Globals *>(abi::__cxa_get_globals())->uncaught;
    _Unwind_DeleteException(exception);
    return installed;
}
