#!/bin/sh
# Writes the C source that carries the shading language's headers in the library, so that kernels compile wherever a program
# runs: $1 is the folder of the headers, beside which the translator's sources lie, $2 the output (left alone where nothing
# changed), $3 the clang to name.
set -eu
new=$2.new
headers=$(cd "$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
{
    echo '#include "msl/compile/embedded.h"'
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
    digest=$(cd "$1/.." && find . -path ./include -prune -o -type f -print | LC_ALL=C sort | xargs cat | sha256sum)
    echo "const char smtl_embedded_translator[] = \"${digest%% *}\";"
} > "$new"
if cmp -s "$new" "$2"; then rm "$new"; else mv "$new" "$2"; fi
