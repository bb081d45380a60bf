/* Conversions of numbers, each of them. */
#include "performance_shaders/compute/numbers.h"
#include "shaders_test.h"

static BOOL same_bits(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void test_reading(void) {
    NSUInteger wrong = 0;
    for (unsigned bits = 0; bits < 1 << 16; bits++) {
        uint16_t stored[2] = {0, (uint16_t)bits};
        float half[2], brain;
        smtl_read_numbers(half, (const uint8_t *)stored, SMTL_FLOAT16, 2, 2);
        smtl_read_numbers(&brain, (const uint8_t *)&stored[1], SMTL_BFLOAT16, 6, 1);
        wrong += !same_bits(half[1], (float)load(stored, MPSDataTypeFloat16, 1));
        wrong += !same_bits(brain, (float)load(stored, MPSDataTypeBFloat16, 1));
    }
    CHECK(wrong == 0);
}

/* All signs and exponents, with the bits around those that are cut off. */
static void test_writing(void) {
    NSUInteger wrong = 0;
    for (uint32_t high = 0; high < 1 << 20; high++) {
        static const uint32_t low[] = {0, 1, 0x7ff, 0x800, 0x801, 0xfff};
        for (unsigned i = 0; i < sizeof low / sizeof low[0]; i++) {
            const uint32_t bits = high << 12 | low[i];
            float number;
            memcpy(&number, &bits, sizeof number);
            uint16_t half, brain, expected[2];
            smtl_write_numbers((uint8_t *)&half, SMTL_FLOAT16, 2, &number, 1);
            smtl_write_numbers((uint8_t *)&brain, SMTL_BFLOAT16, 2, &number, 1);
            store(expected, MPSDataTypeFloat16, 0, number);
            store(expected, MPSDataTypeBFloat16, 1, number);
            wrong += isnan(number) ? !isnan(load(&half, MPSDataTypeFloat16, 0)) : half != expected[0];
            wrong += isnan(number) ? !isnan(load(&brain, MPSDataTypeBFloat16, 0)) : brain != expected[1];
        }
    }
    CHECK(wrong == 0);
}

static void test_integers(void) {
    const int8_t bytes[] = {-128, 127, -1};
    const uint32_t words[] = {0xffffffffu, 7};
    float numbers[3];
    smtl_read_numbers(numbers, (const uint8_t *)bytes, SMTL_INT8, 1, 3);
    CHECK(numbers[0] == -128 && numbers[1] == 127 && numbers[2] == -1);
    smtl_read_numbers(numbers, (const uint8_t *)bytes, SMTL_UINT8, 2, 2);
    CHECK(numbers[0] == 128 && numbers[1] == 255);
    smtl_read_numbers(numbers, (const uint8_t *)words, SMTL_UINT32, 4, 2);
    CHECK(numbers[0] == 0x1p32f && numbers[1] == 7);
    smtl_read_numbers(numbers, (const uint8_t *)words, SMTL_INT32, 4, 1);
    CHECK(numbers[0] == -1);
    smtl_read_numbers(numbers, (const uint8_t *)words, SMTL_INT16, 4, 2);
    CHECK(numbers[0] == -1 && numbers[1] == 7);
    smtl_read_numbers(numbers, (const uint8_t *)words, SMTL_UINT16, 2, 3);
    CHECK(numbers[0] == 65535 && numbers[1] == 65535 && numbers[2] == 7);
}

int main(void) {
    @autoreleasepool {
        begin_tests();
        RUN(test_reading);
        RUN(test_writing);
        RUN(test_integers);
        return end_tests();
    }
}
