#include "harness.h"

static mtb_blit_encoder *make_blit(mtb_command_buffer *command_buffer) {
    mtb_blit_encoder *blit;
    MAKE(blit, mtb_blit_encoder_create(command_buffer, &error));
    return blit;
}

static void copies_and_fills(void) {
    mtb_buffer *from = make_buffer(16), *middle, *to = make_buffer(16);
    MAKE(middle, mtb_buffer_create(shared.device, 16, MTB_STORAGE_PRIVATE, &error));
    memcpy(mtb_buffer_contents(from), "abcdefghijklmnop", 16);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit = make_blit(command_buffer);
    CHECK_OK(mtb_blit_encoder_set_label(blit, "there and back", &error));
    CHECK_OK(mtb_blit_encoder_push_debug_group(blit, "there", &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, middle, 0, 16, '.', &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, from, 8, middle, 4, 8, &error));
    CHECK_OK(mtb_blit_encoder_pop_debug_group(blit, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, middle, 0, to, 0, 16, &error));
    CHECK_OK(mtb_blit_encoder_copy(blit, to, 0, to, 8, 8, &error));
    CHECK_OK(mtb_blit_encoder_end(blit, &error));
    run(command_buffer);
    CHECK(memcmp(mtb_buffer_contents(to), "....ijkl....ijkl", 16) == 0);
    mtb_blit_encoder_release(blit);
    mtb_buffer_release(from);
    mtb_buffer_release(middle);
    mtb_buffer_release(to);
}

static void arguments_are_checked(void) {
    mtb_buffer *a = make_buffer(16), *b = make_buffer(16), *hidden;
    MAKE(hidden, mtb_buffer_create(shared.device, 16, MTB_STORAGE_PRIVATE, &error));
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit = make_blit(command_buffer);
    CHECK_FAILS(mtb_blit_encoder_copy(NULL, a, 0, b, 0, 4, &error), MTB_INVALID_ARGUMENT, "`encoder` is NULL");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, NULL, 0, b, 0, 4, &error), MTB_INVALID_ARGUMENT, "`source` is NULL");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, NULL, 0, 4, &error), MTB_INVALID_ARGUMENT, "`destination` is NULL");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, b, 0, 0, &error), MTB_INVALID_ARGUMENT, "empty");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 12, b, 0, 8, &error), MTB_OUT_OF_RANGE, "8 bytes at offset 12");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, b, 20, 4, &error), MTB_OUT_OF_RANGE, "destination");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, SIZE_MAX - 3, b, 0, 8, &error), MTB_OUT_OF_RANGE, "source");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 8, b, 0, SIZE_MAX - 7, &error), MTB_OUT_OF_RANGE, "source");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 2, b, 0, 4, &error), MTB_MISALIGNED, "source offset");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, b, 2, 4, &error), MTB_MISALIGNED, "destination offset");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, b, 0, 6, &error), MTB_MISALIGNED, "size");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 0, a, 4, 8, &error), MTB_INVALID_ARGUMENT, "overlap");
    CHECK_FAILS(mtb_blit_encoder_copy(blit, a, 4, a, 0, 8, &error), MTB_INVALID_ARGUMENT, "overlap");
    CHECK_FAILS(mtb_blit_encoder_fill(blit, NULL, 0, 4, 0, &error), MTB_INVALID_ARGUMENT, "`buffer` is NULL");
    CHECK_FAILS(mtb_blit_encoder_fill(blit, a, 0, 20, 0, &error), MTB_OUT_OF_RANGE, "20 bytes");
    CHECK_FAILS(mtb_blit_encoder_fill(blit, a, 1, 4, 0, &error), MTB_MISALIGNED, "offset");
    CHECK_FAILS(mtb_blit_encoder_fill(blit, a, 0, 5, 0, &error), MTB_MISALIGNED, "length");
    CHECK_FAILS(mtb_blit_encoder_synchronize(blit, NULL, &error), MTB_INVALID_ARGUMENT, "`buffer` is NULL");
    CHECK_FAILS(mtb_blit_encoder_synchronize(blit, hidden, &error), MTB_INVALID_ARGUMENT, "private");
    CHECK_FAILS(mtb_blit_encoder_pop_debug_group(blit, &error), MTB_INVALID_STATE, "no debug group");
    CHECK_FAILS(mtb_blit_encoder_push_debug_group(blit, NULL, &error), MTB_INVALID_ARGUMENT, "name");
    /* After all of that the encoder works. */
    CHECK_OK(mtb_blit_encoder_fill(blit, a, 0, 16, 7, &error));
    CHECK_OK(mtb_blit_encoder_end(blit, &error));
    CHECK_FAILS(mtb_blit_encoder_fill(blit, a, 0, 16, 8, &error), MTB_INVALID_STATE, "ended");
    CHECK_FAILS(mtb_blit_encoder_end(blit, &error), MTB_INVALID_STATE, "ended");
    run(command_buffer);
    CHECK(((char *)mtb_buffer_contents(a))[15] == 7);
    mtb_blit_encoder_release(blit);
    mtb_buffer_release(a);
    mtb_buffer_release(b);
    mtb_buffer_release(hidden);
}

static void release_ends_the_encoder(void) {
    mtb_buffer *buffer = make_buffer(8);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_blit_encoder *blit = make_blit(command_buffer);
    CHECK_OK(mtb_blit_encoder_push_debug_group(blit, "never popped", &error));
    CHECK_OK(mtb_blit_encoder_fill(blit, buffer, 0, 8, 1, &error));
    mtb_blit_encoder_release(blit);
    run(command_buffer);
    CHECK(((char *)mtb_buffer_contents(buffer))[7] == 1);
    mtb_buffer_release(buffer);
}

const test blit_tests[] = {
    {"blit: copies and fills", copies_and_fills},
    {"blit: arguments are checked", arguments_are_checked},
    {"blit: release ends the encoder", release_ends_the_encoder},
    {NULL, NULL},
};
