/* SPDX-License-Identifier: MIT
 *
 * The estimate of registers against what ptxas -v says of what nvcc wrote:
 * printed kernel by kernel, with the mean and the greatest error and the
 * correlation.  And what must hold of any estimate.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/findings.h"
#include "ptx/ir/opcodes.h"
#include "ptx/random_cfg.h"

static unsigned estimate(struct tcb_ptx_function *function, unsigned *pressure_out)
{
	struct tcb_ptx_liveness liveness;

	assert_int_equal(tcb_ptx_liveness(function, &liveness, NULL), TCB_OK);
	if (pressure_out)
		*pressure_out = liveness.pressure;
	return tcb_ptx_register_estimate(function, &liveness, function->module->target.sm);
}

/* What ptxas' report in OUTPUT says of KERNEL; 0: nothing. */
static unsigned reported(const char *output, const char *kernel)
{
	char wanted[200];
	const char *at;
	unsigned registers;

	snprintf(wanted, sizeof wanted, "Compiling entry function '%s'", kernel);
	at = strstr(output, wanted);
	at = at ? strstr(at, "Used ") : NULL;
	return at && sscanf(at, "Used %u registers", &registers) == 1 ? registers : 0;
}

static void the_estimate_follows_ptxas(void **state)
{
	const char *ptxas = ptx_tool("ptxas");
	double sum = 0, worst = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0, correlation;
	unsigned count = 0, within = 0;

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	print_message("%-18s %-18s ptxas  estimate  pressure\n", "file", "kernel");
	for (unsigned i = 0; i < CORPUS_NAMES; i++) {
		struct tcb_ptx_module *module = read_corpus(corpus_names[i]);
		struct tcb_str output = { 0 };
		char command[1024], target[16];

		snprintf(command, sizeof command, "'%s' -v -arch=%s '%s/tests/ptx/corpus/%s.ptx' -o /dev/null", ptxas,
			 tcb_ptx_target_text(&module->target, target), TCB_SOURCE_DIR, corpus_names[i]);
		assert_int_equal(ptx_run(command, &output), 0);
		for (struct tcb_ptx_function *f = module->functions; f; f = f->next) {
			unsigned pressure, found, least, most, wanted = reported(output.data, f->symbol->name);
			double error;

			if (!f->is_entry || f->is_declaration)
				continue;
			assert_true(wanted > 0);
			found = estimate(f, &pressure);
			tcb_ptx_register_range(f, found, &least, &most);
			error = fabs((double)found - wanted);
			print_message("%-18s %-18s %5u %9u %9u\n", corpus_names[i], f->symbol->name, wanted, found,
				      pressure);
			sum += error;
			worst = fmax(worst, error / wanted);
			within += wanted >= least && wanted <= most;
			x += found;
			y += wanted;
			xx += (double)found * found;
			yy += (double)wanted * wanted;
			xy += (double)found * wanted;
			count++;
		}
		tcb_str_fini(&output);
		tcb_ptx_module_destroy(module);
	}
	correlation = (count * xy - x * y) / sqrt((count * xx - x * x) * (count * yy - y * y));
	print_message("%u kernels: mean error %.1f registers, greatest %.0f %%, correlation %.3f, %u in the range\n",
		      count, sum / count, 100 * worst, correlation, within);
	assert_true(count > 15 && sum / count < 5 && worst < 0.6 && correlation > 0.95 && within > 0.8 * count);
}

static unsigned estimate_text(const char *directives, unsigned live)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	unsigned found;

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n%s\n{\n"
		     "\t.reg .b32 %%r<%u>;\n\t.reg .b64 %%rd;\n\tld.param.u64 %%rd, [p];\n",
		     directives, live);
	for (unsigned i = 0; i < live; i++)
		tcb_str_addf(&text, "\tld.volatile.global.u32 %%r%u, [%%rd+%u];\n", i, 4 * i);
	for (unsigned i = 0; i < live; i++)
		tcb_str_addf(&text, "\tst.volatile.global.u32 [%%rd+%u], %%r%u;\n", 4 * i, i);
	tcb_str_add(&text, "\tret;\n}\n");
	module = random_parse(&text);
	found = estimate(module->functions, NULL);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
	return found;
}

static void more_values_need_more_registers(void **state)
{
	unsigned before = 0;

	(void)state;
	for (unsigned live = 4; live < 200; live += 4) {
		unsigned now = estimate_text("", live);

		assert_true(now >= live && now > before && now <= live * 2 + 40);
		before = now;
	}
	assert_int_equal(estimate_text("", 400), 255);
	assert_int_equal(estimate_text(".maxnreg 64", 400), 64);
	assert_int_equal(estimate_text(".maxntid 512, 1, 1", 400), 128);
	assert_int_equal(estimate_text(".maxntid 512, 1, 1\n.minnctapersm 2", 400), 64);
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_liveness liveness;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		assert_int_equal(tcb_ptx_liveness(module->functions, &liveness, NULL), TCB_OK);
		seconds = cpu_seconds();
		assert_true(tcb_ptx_register_estimate(module->functions, &liveness, 100) > 0);
		seconds = cpu_seconds() - seconds;
		print_message("shape %u: %.3f s\n", shape, seconds);
		assert_true(seconds < 1);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_estimate_follows_ptxas),
		cmocka_unit_test(more_values_need_more_registers),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
