/* Blocks that own what they capture, as on Apple's systems. */
#ifndef SMTL_BLOCKS_H
#define SMTL_BLOCKS_H

/* Block_copy for any block, NULL included. Whoever keeps a block uses it: that also links the retaining of captured
 * objects into the program. */
void *SMTLCopyBlock(const void *block);

#endif
