#ifndef SMTL_CLASSES_H
#define SMTL_CLASSES_H

/* Makes the Objective-C runtime ready for several threads; called before the first device exists. */
void SMTLInitialiseClasses(void);

#endif
