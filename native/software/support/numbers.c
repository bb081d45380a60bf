#define _GNU_SOURCE /* strtod_l */
#include "numbers.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t plain; /* 0 if there was no memory: then the program's locale stays */

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t plain_locale(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return plain;
}

double smtl_strtod(const char *text, char **end) {
    const locale_t locale = plain_locale();
    return locale != (locale_t)0 ? strtod_l(text, end, locale) : strtod(text, end);
}

int smtl_vsnprintf(char *text, size_t size, const char *format, va_list arguments) {
    const locale_t programs = uselocale(plain_locale());
    const int length = vsnprintf(text, size, format, arguments);
    uselocale(programs);
    return length;
}

int smtl_snprintf(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = smtl_vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}
