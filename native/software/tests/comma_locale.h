/* A locale whose numbers have a decimal comma, for tests that nothing depends on it. */
#ifndef SMTL_TESTS_COMMA_LOCALE_H
#define SMTL_TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool has_comma(const char *name) {
    return setlocale(LC_ALL, name) != NULL && localeconv()->decimal_point[0] == ',';
}

/* Sets an installed one, or one that it compiles. If the system has neither, it says so and leaves the locale. */
static inline void set_comma_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (has_comma(names[i])) return;
    char folder[] = "/tmp/software-metal-locale-XXXXXX", command[128];
    if (mkdtemp(folder) != NULL) {
        snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2> /dev/null", folder);
        const bool compiled = system(command) == 0;
        setenv("LOCPATH", folder, 1);
        const bool set = compiled && has_comma("de_DE.UTF-8");
        unsetenv("LOCPATH");
        snprintf(command, sizeof command, "rm -r %s", folder);
        if (system(command) == 0 && set) return;
    }
    setlocale(LC_ALL, "C");
    fprintf(stderr, "there is no locale with a decimal comma, and localedef cannot make one\n");
}

#endif
