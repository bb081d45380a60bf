/* The queues there are and how they are made. */
#import "SMTLDispatchQueue.h"

struct dispatch_queue_attr_s {
    bool concurrent;
    qos_class_t qos;
};

struct dispatch_queue_attr_s smtl_dispatch_queue_attr_concurrent = {true, QOS_CLASS_UNSPECIFIED};

static const struct {
    qos_class_t qos;
    long priority; /* the older name of the same queue */
    const char *label;
} classes[] = {
    {QOS_CLASS_USER_INTERACTIVE, QOS_CLASS_USER_INTERACTIVE, "com.apple.root.user-interactive-qos"},
    {QOS_CLASS_USER_INITIATED, DISPATCH_QUEUE_PRIORITY_HIGH, "com.apple.root.user-initiated-qos"},
    {QOS_CLASS_DEFAULT, DISPATCH_QUEUE_PRIORITY_DEFAULT, "com.apple.root.default-qos"},
    {QOS_CLASS_UTILITY, DISPATCH_QUEUE_PRIORITY_LOW, "com.apple.root.utility-qos"},
    {QOS_CLASS_BACKGROUND, DISPATCH_QUEUE_PRIORITY_BACKGROUND, "com.apple.root.background-qos"},
};
enum {
    CLASS_COUNT = sizeof classes / sizeof classes[0]
};

/* A serial and a concurrent attribute for each class. */
static struct dispatch_queue_attr_s attributes[2][CLASS_COUNT];
static SMTLDispatchQueue *global_queues[CLASS_COUNT];
static SMTLDispatchQueue *main_queue;

static void make_queues(void *unused) {
    (void)unused;
    for (int i = 0; i < CLASS_COUNT; i++) {
        attributes[0][i] = (struct dispatch_queue_attr_s){false, classes[i].qos};
        attributes[1][i] = (struct dispatch_queue_attr_s){true, classes[i].qos};
        global_queues[i] = [[SMTLDispatchQueue alloc] initWithKind:SMTL_QUEUE_GLOBAL label:classes[i].label
                                                               qos:classes[i].qos];
        [global_queues[i] makeImmortal];
    }
    main_queue = [[SMTLDispatchQueue alloc] initWithKind:SMTL_QUEUE_MAIN label:"com.apple.main-thread"
                                                     qos:QOS_CLASS_USER_INTERACTIVE];
    [main_queue makeImmortal];
}

static void prepare(void) {
    static dispatch_once_t once;
    dispatch_once_f(&once, NULL, make_queues);
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr) {
    const bool concurrent = attr != NULL && attr->concurrent;
    return [[SMTLDispatchQueue alloc] initWithKind:concurrent ? SMTL_QUEUE_CONCURRENT : SMTL_QUEUE_SERIAL label:label
                                               qos:attr == NULL ? QOS_CLASS_UNSPECIFIED : attr->qos];
}

dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attr,
                                                              dispatch_qos_class_t qos_class, int relative_priority) {
    (void)relative_priority;
    prepare();
    for (int i = 0; i < CLASS_COUNT; i++)
        if (classes[i].qos == qos_class) return &attributes[attr != NULL && attr->concurrent][i];
    return attr;
}

dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags) {
    (void)flags;
    prepare();
    for (int i = 0; i < CLASS_COUNT; i++)
        if (identifier == (intptr_t)classes[i].qos || identifier == classes[i].priority) return global_queues[i];
    return nil;
}

dispatch_queue_t dispatch_get_main_queue(void) {
    prepare();
    return main_queue;
}

dispatch_qos_class_t dispatch_queue_get_qos_class(dispatch_queue_t queue, int *relative_priority) {
    if (relative_priority != NULL) *relative_priority = 0;
    return ((SMTLDispatchQueue *)queue)->_qos;
}
