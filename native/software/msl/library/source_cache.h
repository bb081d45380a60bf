// Finds what a source was compiled to before by its text, so that neither preprocessor nor translation run again.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "library.h"

namespace smtl::msl {

// The name in the cache; empty if the result may depend on more than the source and the options.
std::string source_key(std::string_view source, const Options &options);
// Whether the preprocessor opened only our own files.
bool stands_alone(std::string_view preprocessed);

std::unique_ptr<smtl_library> recall_library(const std::string &key, Diagnostics &diagnostics);
void remember_library(const std::string &key, const smtl_library &library, const Diagnostics &diagnostics);

}  // namespace smtl::msl
