#ifndef SMTL_BLOCKS_H
#define SMTL_BLOCKS_H

/* Block_copy for any block, NULL included. Whoever keeps a block uses it: that also links our blocks runtime
 * (SMTLBlocks.m) into the program. */
void *SMTLCopyBlock(const void *block);

#endif
