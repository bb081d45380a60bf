#ifndef SMTL_FOUNDATION_H
#define SMTL_FOUNDATION_H

/* Makes Foundation ready for several threads. Called before there are other threads. */
void SMTLInitialiseFoundation(void);

#endif
