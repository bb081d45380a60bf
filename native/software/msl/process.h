// Runs a program to its end, without a shell.
#pragma once

#include <string>
#include <vector>

namespace smtl::msl {

struct ProcessResult {
    bool started = false;
    bool succeeded = false;  // exited with status 0
    std::string errors;      // what it wrote on standard error, or why it could not be run
};

// Standard input is read from the file `input`, standard output discarded, standard error collected in a file of `folder`,
// which is also where the program is told to make temporary files. The program cannot take more than a bounded amount of
// processor time and memory.
ProcessResult run_process(const std::vector<std::string> &arguments, const std::string &input, const std::string &folder);

}  // namespace smtl::msl
