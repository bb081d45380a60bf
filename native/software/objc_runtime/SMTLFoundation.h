#ifndef SMTL_FOUNDATION_H
#define SMTL_FOUNDATION_H

/* Makes Foundation ready for several threads; called before there are others. */
void SMTLInitialiseFoundation(void);

#endif
