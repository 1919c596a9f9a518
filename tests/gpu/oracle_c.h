/* The CPU oracle as a C library, for programs that hold a GPU's results to it: libattngen_oracle.so
 * needs nothing but the C library and can be carried to another x86-64 Linux. Functions are
 * thread-safe; no function lets an exception out. */
#ifndef ATTNGEN_ORACLE_C_H
#define ATTNGEN_ORACLE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The oracle of a spec text (JSON or YAML) of the parallel pattern; `name` is what errors call it.
 * NULL on an error, and then the zero-ended `error` holds as much of the diagnostics as fits. */
void* attngen_oracle_open(const char* spec_text, const char* name, char* error, size_t error_size);
void attngen_oracle_close(void* oracle);

/* What a caller needs to know to size its buffers; save names in the order of `saves` below, ""
 * beyond the last. Of two maps each save counts twice: all of map 0, then all of map 1. */
int64_t attngen_oracle_head_dim_v(const void* oracle);
int64_t attngen_oracle_save_count(const void* oracle);
const char* attngen_oracle_save_name(const void* oracle, int64_t index);

/* One call's data. Strides are in elements: {batch, seq, head}; the head dim is contiguous. The
 * elements are values of the storage type, widened to float. */
struct attngen_oracle_problem {
  int64_t batch, seq_q, seq_kv;
  const float *q, *k, *v;
  int64_t q_strides[3], k_strides[3], v_strides[3];
  /* The spec's inputs, in any order: contiguous in their declared shape, a scalar is one element.
   */
  int64_t input_count;
  const char* const* input_names;
  const double* const* input_data;
  const int64_t* input_sizes; /* elements */
};

/* Rows {b, h, q} of row_list[row_count][3] on `threads` threads: o[row_count][head_dim_v] and
 * saves[row_count][save_count] (may be NULL). arithmetic 0: exact; 1: rounded to the storage type,
 * as naive code would. Returns 0, or what is wrong:
 * 1 a null pointer, 2 a row out of range, 3 an input that is missing or has another size, 4 another
 * failure, out of memory. */
int attngen_oracle_rows(const void* oracle, const struct attngen_oracle_problem* problem,
                        const int64_t* row_list, int64_t row_count, int arithmetic, int threads,
                        double* o, double* saves);

#ifdef __cplusplus
}
#endif
#endif
