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

/* A German locale, but for the kinds of characters and their order, which would take seconds. */
static inline bool write_locale(const char *folder) {
    static const char *const categories[] = {"CTYPE",   "COLLATE", "IDENTIFICATION", "MONETARY",
                                             "NUMERIC", "TIME",    "MESSAGES",       "PAPER",
                                             "NAME",    "ADDRESS", "TELEPHONE",      "MEASUREMENT"};
    char path[64];
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        fprintf(file, "LC_%s\ncopy \"%s\"\nEND LC_%s\n", categories[i], i < 2 ? "POSIX" : "de_DE", categories[i]);
    return fclose(file) == 0;
}

/* Sets an installed one, or one that it compiles. If the system has neither, it says so and leaves the locale. */
static inline void set_comma_locale(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (has_comma(names[i])) return;
    char folder[] = "/tmp/software-metal-locale-XXXXXX", command[160];
    if (mkdtemp(folder) != NULL) {
        snprintf(command, sizeof command, "localedef -i %s/source -f UTF-8 %s/de_DE.UTF-8 2> /dev/null", folder,
                 folder);
        const bool compiled = write_locale(folder) && system(command) == 0;
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
