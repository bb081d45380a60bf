/* Numbers in text as C writes them, with a point, whatever locale the program has set. */
#ifndef SMTL_SUPPORT_NUMBERS_H
#define SMTL_SUPPORT_NUMBERS_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

double smtl_strtod(const char *text, char **end);
int smtl_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
int smtl_snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
