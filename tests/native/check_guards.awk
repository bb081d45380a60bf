# Sees that each function of the C ABI, and each destructor, that stands in an Objective-C file begins its sending of
# messages with MTBI_ENTER and ends with MTBI_LEAVE. (Functions that send none stand in the bridge's C files.)
FNR == 1 { name = "" }
/^static void destroy[a-z_]*\(mtbi_handle/ {
    match($0, /destroy[a-z_]*\(/)
    name = substr($0, RSTART, RLENGTH - 1)
    entered = left = 0
    start = FNR
}
/^[a-z].*(mtb_[a-z_]+|mtbi_[a-z_]+_destroy)\(/ && !/;$/ {
    match($0, /mtbi?_[a-z_]+\(/)
    candidate = substr($0, RSTART, RLENGTH - 1)
    if ($0 !~ /^static/) { name = candidate; entered = left = 0; start = FNR }
}
name != "" && /MTBI_ENTER/ { entered++ }
name != "" && /MTBI_LEAVE/ { left++ }
/^}/ && name != "" {
    # The base of two encoders is destroyed inside the guard of its owner.
    if (name != "mtbi_encoder_destroy" && (entered != 1 || left != 1)) {
        printf "%s:%d: %s has no guard\n", FILENAME, start, name
        failed = 1
    }
    seen++
    name = ""
}
END {
    if (seen < 60) { printf "only %d functions seen: the check has gone blind\n", seen; failed = 1 }
    else if (!failed) printf "%d functions, each in a pool and an exception guard\n", seen
    exit failed
}
