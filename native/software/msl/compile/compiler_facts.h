// What a compiler says of itself.
#pragma once

#include <string>
#include <vector>

namespace smtl::msl {

// Its predefined macros for this processor, its version and every instruction set extension among them, and how it
// calls the linker.
struct CompilerFacts {
    std::string macros;
    std::vector<std::string> link_command;
    std::string resources;  // the folder of its own headers
};

// Asked once for each compiler and processor: programs that find everything in the cache start no compiler at all.
CompilerFacts facts_of(const std::string &clang, std::string &errors);

}  // namespace smtl::msl
