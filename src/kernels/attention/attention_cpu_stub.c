#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/attention_gpu.h"
#include <string.h>
size_t attention_axes(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis out[TCB_AXES_MAX])
{ return target->kind == TCB_TARGET_CUDA ? attention_gpu_axes(problem, target, out) : 0; }
void attention_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{ if (target->kind == TCB_TARGET_CUDA) attention_gpu_default_geometry(problem, target, out); else tcb_geometry_init(out); }
void attention_footprint(const struct tcb_problem *problem, const struct tcb_target *target, const struct tcb_geometry *geometry, struct tcb_footprint *out)
{ if (target->kind == TCB_TARGET_CUDA) attention_gpu_footprint(problem, target, geometry, out); else memset(out, 0, sizeof *out); }
const struct tcb_rule attention_cpu_rules[] = { { 0, 0, NULL } };
enum tcb_status attention_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct tcb_plan *out, struct tcb_error *err)
{ (void)problem; (void)geometry; (void)out; return tcb_fail(err, TCB_E_ILLEGAL, "none"); }
void attention_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{ (void)plan; (void)operand; (void)workspace; (void)pool; }
#define T(t) const struct tcb_variant attention_decode_##t##_variants_scalar[1], attention_decode_##t##_variants_avx2[1], attention_decode_##t##_variants_avx512[1];
T(f16) T(bf16)
