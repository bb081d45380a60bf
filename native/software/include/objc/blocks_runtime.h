/* GNUstep's headers include this file of libobjc2's when blocks are on. With GCC's Objective-C runtime the blocks
 * runtime is a library of its own. */
#include <Block.h>
