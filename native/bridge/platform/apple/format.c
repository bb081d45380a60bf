/* Text for people. In Apple's libc a locale that is NULL is the C locale. */
#include "core/errors.h"

#include <stdio.h>

#include <xlocale.h>

int mtbi_vsnprintf(char *text, size_t size, const char *format, va_list arguments) {
    return vsnprintf_l(text, size, NULL, format, arguments);
}
