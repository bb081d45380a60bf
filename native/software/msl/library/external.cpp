#include "external.h"

#include <algorithm>
#include <optional>
#include <unistd.h>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/machine_code/external_functions.h"
#include "msl/machine_code/initialisers.h"
#include "msl/machine_code/machine_code.h"
#include "msl/include/smtl/abi.h"
#include "specialization.h"

namespace smtl::msl {
namespace {

constexpr const char *object_name = "/library.o";

struct Exporter {
    std::string path;
    std::vector<std::string> functions;
    std::string object;
    bool taken = false;
};

class Search {
public:
    Search(DynamicLibraries libraries, std::string &errors) : libraries_(libraries), errors_(errors) {}

    // Notes the first library that defines the function, and what that library calls in turn.
    bool take(const std::string &symbol, std::vector<std::string> &wanted) {
        for (std::size_t i = 0; i < libraries_.size(); ++i) {
            Exporter *const exporter = open(i);
            if (exporter == nullptr) return false;
            for (const std::string &function : exporter->functions) {
                if (function == symbol) {
                    if (!exporter->taken) add(called_functions(exporter->object), wanted);
                    exporter->taken = true;
                    return true;
                }
                if (!is_same_function(function, symbol)) continue;
                errors_ = "function '" + describe_external(symbol) +
                          "' is declared with other types than it has in the dynamic library " + name(i) + "\n";
                return false;
            }
        }
        std::string names;
        for (std::size_t i = 0; i < libraries_.size(); ++i) names += (i == 0 ? "" : ", ") + name(i);
        errors_ = "function '" + describe_external(symbol) + "' is declared and called, but not defined" +
                  (names.empty() ? "; the pipeline has no dynamic libraries" : " in the dynamic libraries " + names) +
                  "\n";
        return false;
    }

    std::vector<std::string> taken() const {
        std::vector<std::string> paths;
        for (const Exporter &exporter : opened_)
            if (exporter.taken) paths.push_back(exporter.path);
        return paths;
    }

    static void add(std::vector<std::string> symbols, std::vector<std::string> &wanted) {
        std::move(symbols.begin(), symbols.end(), std::back_inserter(wanted));
    }

private:
    std::string name(std::size_t i) const {
        return std::string("'") + (libraries_[i].install_name ? libraries_[i].install_name : "") + "'";
    }

    // Libraries are compiled in order, and only as far as something is not found before.
    Exporter *open(std::size_t i) {
        if (i < opened_.size()) return &opened_[i];
        Exporter exporter;
        exporter.path = make_exports(*libraries_[i].library, errors_, i);
        if (exporter.path.empty()) return nullptr;
        exporter.object = read_file(exporter.path).value_or("");
        exporter.functions = exported_functions(exporter.object);
        return &opened_.emplace_back(std::move(exporter));
    }

    DynamicLibraries libraries_;
    std::string &errors_;
    std::vector<Exporter> opened_;
};

}  // namespace

std::string make_exports(const smtl_library &library, std::string &errors, std::size_t number) {
    Specialization part(library, Specialization::Kind::exports, 0, number, nullptr, 0);
    const std::string source = part.source(), key = "dynamic-" + Hash().add(library.key).add(source).digest();
    const std::string entry = Cache::shared().entry(key, [&](const std::string &folder) {
        const std::string precompiled = library.entry(nullptr, errors), input = folder + "/input";
        if (precompiled.empty() || !write_file(input, source)) return false;
        const ProcessResult result = compile_object(library.dialect, precompiled, folder, folder + object_name,
                                                    !library.reflection.initialisers.empty(), /*exports=*/true);
        errors = result.errors;
        (void)unlink(input.c_str());
        (void)unlink((folder + "/errors").c_str());
        const std::string made = result.succeeded ? read_file(folder + object_name).value_or("") : "";
        const std::string constants = missing_constants(made);
        if (!constants.empty())
            errors = "a dynamic library cannot have function constants: " +
                     part.describe_unset(*part.unset_constants(constants).begin());
        else if (has_initialisers(made, library.dialect.sanitize))
            errors = not_computed;
        else
            return result.succeeded;
        return false;
    });
    if (entry.empty() && errors.empty()) errors = Cache::shared().not_written("a dynamic library") + "\n";
    return entry.empty() ? "" : entry + object_name;
}

bool find_external(const std::vector<std::string> &objects, DynamicLibraries libraries, std::vector<std::string> &found,
                   std::string &errors) {
    if (libraries.size() > SMTL_DYNAMIC_LIBRARIES) {
        errors = "a pipeline can have " + std::to_string(SMTL_DYNAMIC_LIBRARIES) + " dynamic libraries, and this has " +
                 std::to_string(libraries.size()) + "\n";
        return false;
    }
    std::vector<std::string> wanted;
    for (const std::string &object : objects) Search::add(called_functions(read_file(object).value_or("")), wanted);
    Search search(libraries, errors);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::string symbol = wanted[i];
        if (std::find(wanted.begin(), wanted.begin() + std::ptrdiff_t(i), symbol) != wanted.begin() + std::ptrdiff_t(i))
            continue;
        if (!search.take(symbol, wanted)) return false;
    }
    found = search.taken();
    return true;
}

}  // namespace smtl::msl
