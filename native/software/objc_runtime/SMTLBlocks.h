#ifndef SMTL_BLOCKS_H
#define SMTL_BLOCKS_H

/* Block_copy for any block, NULL included. Every part of the software Metal that keeps a block calls this, which also
 * links the blocks runtime of SMTLBlocks.m into the program. */
void *SMTLCopyBlock(const void *block);

#endif
