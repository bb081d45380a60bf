/* What compute and blit encoders have in common. */
#import "command/encoder.h"

#import "core/checks.h"
#import "core/text.h"

mtb_status mtbi_fail_encoder(const mtbi_encoder *encoder, mtb_error **error, const char *function) {
    REQUIRE(mtbi_check_given(encoder, "encoder", error, function));
    return mtbi_fail(error, function, MTB_INVALID_STATE, "the encoder has been ended");
}

mtb_status mtbi_encoder_begin(mtbi_encoder *encoder, mtb_command_buffer *command_buffer, id<MTLCommandEncoder> metal,
                              mtb_error **error, const char *function) {
    if (!metal) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make an encoder");
    encoder->metal = [metal retain];
    encoder->command_buffer = command_buffer;
    command_buffer->encoder = encoder;
    return MTB_OK;
}

void mtbi_encoder_end(mtbi_encoder *encoder) {
    if (encoder->has_ended || !encoder->metal) return;
    encoder->has_ended = true;
    encoder->command_buffer->encoder = NULL;
    encoder->command_buffer = NULL;
    @try {
        for (; encoder->open_debug_groups; encoder->open_debug_groups--) [encoder->metal popDebugGroup];
    } @finally {
        [encoder->metal endEncoding];
        [encoder->metal release];
        encoder->metal = nil;
    }
}

void mtbi_encoder_abandon(mtbi_encoder *encoder) {
    mtbi_encoder_end(encoder);
    if (encoder->forget) encoder->forget(encoder);
}

void mtbi_encoder_destroy(mtbi_encoder *encoder) {
    mtbi_encoder_end(encoder);
    mtbi_handle_free(&encoder->handle);
}

mtb_status mtbi_encoder_push_debug_group(mtbi_encoder *encoder, const char *name, mtb_error **error,
                                         const char *function) {
    REQUIRE(mtbi_encoder_check(encoder, error, function));
    NSString *string = mtbi_string(name, "the name of the debug group", error, function);
    if (!string) return MTB_INVALID_ARGUMENT;
    [encoder->metal pushDebugGroup:string];
    encoder->open_debug_groups++;
    return MTB_OK;
}

mtb_status mtbi_encoder_pop_debug_group(mtbi_encoder *encoder, mtb_error **error, const char *function) {
    REQUIRE(mtbi_encoder_check(encoder, error, function));
    if (encoder->open_debug_groups == 0) return mtbi_fail(error, function, MTB_INVALID_STATE, "no debug group is open");
    [encoder->metal popDebugGroup];
    encoder->open_debug_groups--;
    return MTB_OK;
}
