#ifndef SMTL_PROCESS_STRINGS_H
#define SMTL_PROCESS_STRINGS_H

/* Foundation makes strings of the process's arguments and environment at its first use, and raises an exception for
 * bytes that are not text in the process's encoding. Called before that use, this gives Foundation a question mark for
 * each byte of such a string that is not ASCII. The process itself keeps what it has. */
void SMTLReadProcessStrings(void);

#endif
