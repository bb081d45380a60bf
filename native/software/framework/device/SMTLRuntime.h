#ifndef SMTL_RUNTIME_H
#define SMTL_RUNTIME_H

/* Makes the Objective-C runtime ready for several threads; called before the first device exists. */
void SMTLInitialiseClasses(void);

#endif
