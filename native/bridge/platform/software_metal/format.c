/* Text for people. The C libraries of Linux format in the thread's locale alone. */
#include "core/errors.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>

static locale_t plain_locale;

static void make_plain_locale(void) { plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int mtbi_vsnprintf(char *text, size_t size, const char *format, va_list arguments) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain_locale);
    locale_t programs = uselocale(plain_locale); /* without memory for the plain one this changes nothing */
    int length = vsnprintf(text, size, format, arguments);
    uselocale(programs);
    return length;
}
