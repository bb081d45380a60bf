/* Checks the shared object of a kernel before any code of it can run. */
#ifndef SMTL_OBJECT_H
#define SMTL_OBJECT_H

#include <string>

namespace smtl {

/* Opens the file and loads what was opened, as dlopen does; NULL, with the reason, if the file is not the user's own,
 * if others may write to it, or if loading or unloading it would run code: initialisers and finalisers of any kind,
 * functions that choose functions, other libraries than those of the compiler. */
void *load_object(const std::string &path, std::string &problem);

}  // namespace smtl

#endif
