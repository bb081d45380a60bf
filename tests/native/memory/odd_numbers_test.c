/* Copies and fills of random offsets, pitches, widths and heights, many of them bad, against the rules of
 * metal_bridge_memory.h: each is refused and writes nothing, or does just what it should. */
#include "scene.h"

/* Numbers with which offsets, pitches, widths and heights are likely to be handled wrongly. */
static size_t odd_number(random_source *source) {
    static const size_t numbers[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     8,
                                     15,
                                     LENGTH,
                                     LENGTH - 1,
                                     LENGTH + 1,
                                     LENGTH / 2,
                                     SIZE_MAX,
                                     SIZE_MAX - 1,
                                     SIZE_MAX / 2,
                                     16,
                                     24,
                                     SIZE_MAX / 8,
                                     (size_t)1 << 32};
    return below(source, 3) ? numbers[below(source, sizeof numbers / sizeof *numbers)] : below(source, LENGTH + 2);
}

typedef struct {
    size_t offset, pitch;
} start;

/* Whether all rows are inside an area, counted in a way that cannot wrap. */
static bool is_inside(start at, size_t width, size_t height) {
    if (width > LENGTH || height > LENGTH || at.offset > LENGTH || (height > 1 && at.pitch > LENGTH)) return false;
    return at.offset + (height > 1 ? at.pitch * (height - 1) : 0) + width <= LENGTH;
}

static bool rows_meet(start a, start b, size_t width, size_t height) {
    bool is_taken[LENGTH] = {false};
    for (size_t row = 0; row < height; row++) memset(is_taken + a.offset + row * a.pitch, true, width);
    for (size_t row = 0; row < height; row++)
        for (size_t i = 0; i < width; i++)
            if (is_taken[b.offset + row * b.pitch + i]) return true;
    return false;
}

/* One copy with random numbers, many of them bad, against the rules of the header. */
static void random_copy(scene *all, random_source *source) {
    area *from = &all->areas[below(source, 5)], *to = &all->areas[below(source, 5)];
    start origin = {odd_number(source), odd_number(source)}, target = {odd_number(source), odd_number(source)};
    size_t width = odd_number(source), height = below(source, 2) ? 1 : odd_number(source);
    /* Rows close together, which may be between one another. */
    if (below(source, 2)) {
        width = 1 + below(source, 8);
        height = 1 + below(source, 6);
        origin = (start){below(source, 40), width + below(source, 4)};
        target = (start){below(source, 40), below(source, 4) ? origin.pitch : origin.pitch + 1};
    }
    bool is_nothing = width == 0 || height == 0;
    bool has_rows = height > 1, is_fill = below(source, 4) == 0;
    bool is_right = is_nothing || (!(has_rows && (target.pitch < width || (!is_fill && origin.pitch < width))) &&
                                   is_inside(target, width, height) && (is_fill || is_inside(origin, width, height)));
    bool is_same = from == to && !is_fill;
    /* The bridge only checks that addresses of the host do not wrap. */
    if (!is_right && (to->host || (from->host && !is_fill))) return;
    bool meets = !is_nothing && is_right && is_same && rows_meet(origin, target, width, height);
    /* The bridge may take rows of two different pitches to overlap. */
    bool may_fail = meets || (is_same && is_right && has_rows && origin.pitch != target.pitch);
    mtb_error *error;
    uint8_t value = (uint8_t)next_random(source);
    mtb_status status = is_fill ? mtb_transfer_fill(all->transfer, place_of(to, target.offset, target.pitch), width,
                                                    height, &value, 1, &error)
                                : mtb_transfer_copy(all->transfer, place_of(from, origin.offset, origin.pitch),
                                                    place_of(to, target.offset, target.pitch), width, height,
                                                    MTB_HOST_BORROWED, &error);
    bool is_said =
        status == MTB_OK ? !error : mtb_error_status(error) == status && strlen(mtb_error_message(error)) > 10;
    bool is_expected = status == MTB_OK
                           ? is_right && !meets
                           : (!is_right || may_fail) && (status == MTB_OUT_OF_RANGE || status == MTB_INVALID_ARGUMENT);
    if (!is_said || !is_expected)
        fprintf(stderr, "%s %zu/%zu to %s %zu/%zu, %zu times %zu: %s\n", is_fill ? "fill" : from->name, origin.offset,
                origin.pitch, to->name, target.offset, target.pitch, height, width, mtb_status_name(status));
    CHECK(is_said && is_expected);
    mtb_error_release(error);
    if (status == MTB_OK && !is_nothing)
        for (size_t row = 0; row < height; row++) {
            uint8_t *written = to->model + target.offset + row * (has_rows ? target.pitch : 0);
            if (is_fill)
                memset(written, value, width);
            else
                memcpy(written, from->model + origin.offset + row * (has_rows ? origin.pitch : 0), width);
        }
    CHECK_OK(mtb_transfer_run(all->transfer, &error));
}

static void random_numbers_are_checked(void) {
    scene all;
    make_scene(&all);
    random_source source = {2026};
    for (int i = 1; i <= 20000; i++) {
        random_copy(&all, &source);
        if (i % 1000 == 0) CHECK(is_as_modelled(&all));
    }
    free_scene(&all);
}

const test memory_odd_number_tests[] = {
    {"memory refusals: random numbers are checked", random_numbers_are_checked},
    {NULL, NULL},
};
