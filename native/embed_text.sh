#!/bin/sh
# Writes the C source of a text that is to be in the library: $1 is the file, $2 the name of the array (beside it there is
# a `_size`), $3 the output (left alone where nothing changed).
set -eu
new=$3.new
{
    echo "#include <stddef.h>"
    echo "const unsigned char $2[] = {"
    od -An -v -tx1 "$1" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
    echo "};"
    echo "const size_t $2_size = sizeof $2;"
} > "$new"
if cmp -s "$new" "$3"; then rm "$new"; else mv "$new" "$3"; fi
