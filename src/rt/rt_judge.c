/* SPDX-License-Identifier: MIT
 *
 * Whether an entry may be answered with: it is as it was written, its geometry
 * parses and is legal, and its kernel is still today's.
 */
#include <string.h>

#include "kernels/signature.h"
#include "rt/runtime.h"

/* Other machines' entries are judged when a near one is looked for: what is legal there nobody knows here. */
static int is_legal(const struct tcb_op *op, const struct rt_device *device, const struct rt_claim *claim,
		    const struct tcb_geometry *geometry)
{
	struct tcb_target target;
	struct tcb_problem problem;

	if (!device)
		return 1;
	if (!rt_has_threads(device) && claim->threads != 0)
		return 0;
	target = device->target;
	target.threads = claim->threads;
	return tcb_problem_init(op, claim->contract, &claim->shape, &problem, NULL) == TCB_OK &&
	       rt_is_legal(op, &problem, &target, geometry, NULL);
}

enum rt_refusal rt_judge(const struct tcb_op *op, const struct rt_device *device, const struct rt_claim *claim,
			 struct tcb_geometry *geometry_out)
{
	const struct tcb_variant *variant;
	const char *today;

	const struct tcb_parameter *parameters = op ? op->parameters : tcb_parameters_any;

	if (tcb_geometry_parse_of(claim->geometry, parameters, geometry_out, NULL) != TCB_OK) {
		tcb_geometry_init(geometry_out);
		return RT_OTHER_GEOMETRY;
	}
	if (!op)
		return RT_NO_OP;
	variant = tcb_variant_find(op, claim->contract, geometry_out);
	if (!variant || strcmp(variant->name, claim->variant) != 0)
		return RT_NO_VARIANT;
	today = tcb_variant_signature(variant);
	if (today && strcmp(today, claim->signature) != 0 && !tcb_signature_is_proven(op, variant, claim->signature))
		return RT_OTHER_KERNEL;
	return is_legal(op, device, claim, geometry_out) ? RT_FINE : RT_ILLEGAL;
}

/* Of a GPU of KIND: is its kernel today's? */
static int is_current(const struct tcb_op *op, enum tcb_target_kind kind, const struct rt_found *found,
		      const char *signature)
{
	const struct rt_entry *entry = found->entry;
	const struct tcb_geometry geometry = rt_entry_geometry(entry, op);
	const struct tcb_shape shape = rt_key_shape(&entry->key);
	const struct tcb_target *measured_on = &found->layer->image.devices[entry->key.device].measured_on;
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_problem problem;

	return tcb_problem_init(op, (enum tcb_contract)entry->key.contract, &shape, &problem, NULL) == TCB_OK &&
	       measured_on->kind == kind &&
	       tcb_candidate_is_current(&problem, measured_on, &geometry, signature, &packings);
}

static enum rt_refusal see_kernel(const struct tcb_op *op, enum tcb_target_kind kind, const struct rt_found *found,
				  const char *signature)
{
	const struct rt_layer *layer = found->layer;
	const uint8_t kept = layer->kept ? layer->kept[found->entry - layer->image.entries] : RT_UNSEEN;

	if (kept == RT_FINE || kept == RT_OTHER_KERNEL)
		return (enum rt_refusal)kept;
	rt_set_mark(layer, RT_HAS_NEWS);
	return is_current(op, kind, found, signature) ? RT_FINE : RT_OTHER_KERNEL;
}

static enum rt_refusal see(const struct tcbrt *rt, const struct rt_found *found)
{
	const struct rt_entry *entry = found->entry;
	const struct rt_relation *relation = &found->layer->relations[entry->key.device];
	const struct rt_device *device = relation->own == RT_NONE ? NULL : &rt->devices[relation->own];
	const uint32_t at = rt_op_find(rt, found->layer->image.ops[entry->key.op].name);
	const struct tcb_op *op = at == RT_NONE ? NULL : rt->ops[at].op;
	const struct rt_texts texts = rt_entry_texts(found);
	const struct rt_claim claim = { (enum tcb_contract)entry->key.contract,
					rt_key_shape(&entry->key),
					entry->key.threads,
					texts.geometry,
					texts.variant,
					texts.signature };
	struct tcb_geometry geometry;
	const enum rt_refusal refusal = rt_judge(op, device, &claim, &geometry);

	if (refusal != RT_FINE)
		return refusal;
	if (!tcb_geometry_equal(&geometry, &entry->geometry))
		return RT_DAMAGED;
	if (!device || !tcb_kind_of(&device->target)->is_emitted)
		return RT_FINE;
	return see_kernel(op, device->target.kind, found, texts.signature);
}

/* Threads that look at the same time find the same: whoever stores it last changes nothing. */
enum rt_refusal rt_look_at(const struct rt_layer *layer, uint32_t index)
{
	enum rt_refusal known = rt_known(layer, index);

	if (known != RT_UNSEEN)
		return known;
	known = rt_image_entry_is_sound(&layer->image, index) ? RT_SOUND : RT_DAMAGED;
	atomic_store_explicit(&layer->refusals[index], (uint8_t)known, memory_order_relaxed);
	if (known == RT_DAMAGED)
		rt_set_mark(layer, RT_HAS_DAMAGE);
	return known;
}

enum rt_refusal rt_refusal(const struct tcbrt *rt, const struct rt_found *found)
{
	const uint32_t index = (uint32_t)(found->entry - found->layer->image.entries);
	enum rt_refusal known = rt_look_at(found->layer, index);

	if (known == RT_SOUND) {
		known = see(rt, found);
		atomic_store_explicit(&found->layer->refusals[index], (uint8_t)known, memory_order_relaxed);
	}
	return known;
}

const char *rt_refusal_text(enum rt_refusal refusal)
{
	static const char *const texts[RT_REFUSAL_COUNT] = {
		[RT_DAMAGED] = "its snapshot is damaged",
		[RT_NO_OP] = "this library has no such op",
		[RT_NO_VARIANT] = "this library has no such kernel",
		[RT_OTHER_KERNEL] = "its kernel changed since it was measured: sweep again",
		[RT_OTHER_GEOMETRY] = "its geometry cannot be read by this library",
		[RT_ILLEGAL] = "its geometry is not legal for its shape here",
	};

	return texts[refusal];
}
