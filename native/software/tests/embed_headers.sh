#!/bin/sh
# Writes the C source that carries the standard library's headers, for tests built without Cargo: $1 is the folder of the
# headers, $2 the output, $3 the clang to name.
set -eu
headers=$(cd "$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
{
    echo '#include "msl/embedded.h"'
    number=0
    for header in $headers; do
        echo "static const unsigned char header_$number[] = {"
        od -An -v -tx1 "$1/$header" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
        echo '0};'
        number=$((number + 1))
    done
    echo 'const smtl_embedded_header smtl_embedded_headers[] = {'
    number=0
    for header in $headers; do
        echo "{\"$header\", header_$number, sizeof header_$number - 1},"
        number=$((number + 1))
    done
    echo '};'
    echo "const size_t smtl_embedded_header_count = $number;"
    echo "const char smtl_embedded_clang[] = \"$3\";"
} > "$2"
