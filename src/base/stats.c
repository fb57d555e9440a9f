/* SPDX-License-Identifier: MIT
 *
 * Order statistics.  The interval of the median is the classical sign-test
 * interval: x(k) .. x(n+1-k) misses the median with probability
 * 2 P(Bin(n, 1/2) < k), whatever the distribution (David and Nagaraja, Order
 * Statistics, section 7.1).
 */
#include "base/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum {
	STACK_SAMPLES = 256,  /* sorted on the stack up to here: screening never allocates */
	EXACT_SAMPLES = 1000, /* 2^-n is a normal double up to here; beyond, the normal approximation is exact enough */
};
static const double MISS = 0.05;

int tcb_ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Sorts in place; N is mostly below 16, where insertion wins over qsort. */
static void sort_doubles(double *values, size_t n)
{
	if (n > 32) {
		qsort(values, n, sizeof *values, tcb_ascending);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		double value = values[i];
		size_t j = i;
		for (; j > 0 && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
}

static double sorted_median(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* Hoare's selection: reorders VALUES so that the one of rank K stands at K and no larger one before it. */
static void select_rank(double *values, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;
	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low, j = high;
		for (;; i++, j--) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			double swap = values[i];
			values[i] = values[j];
			values[j] = swap;
		}
		if (i == j && j == high)
			j--; /* the pivot alone is the largest: both parts must be smaller than the whole */
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
}

double tcb_median_reordering(double *values, size_t n)
{
	size_t k = n / 2;
	select_rank(values, n, k);
	if (n % 2)
		return values[k];
	double below = values[0];
	for (size_t i = 1; i < k; i++)
		below = fmax(below, values[i]);
	return 0.5 * (below + values[k]);
}

/* The largest k >= 1 with 2 P(Bin(n, 1/2) < k) <= MISS; 1 where there is none. */
static size_t interval_rank(size_t n)
{
	if (n > EXACT_SAMPLES) {
		double k = 0.5 * (double)n - 0.5 * 1.959964 * sqrt((double)n);
		return (size_t)k;
	}
	double term = ldexp(1.0, -(int)n), below = term; /* P(Bin = 0), P(Bin < 1) */
	size_t k = 1;
	while (k < n) {
		term *= (double)(n - k + 1) / (double)k;
		if (2 * (below + term) > MISS)
			break;
		below += term;
		k++;
	}
	return k;
}

static struct tcb_interval sorted_interval(const double *sorted, size_t n)
{
	if (n == 0)
		return (struct tcb_interval){ NAN, NAN, NAN };
	size_t k = interval_rank(n);
	return (struct tcb_interval){ sorted_median(sorted, n), sorted[k - 1], sorted[n - k] };
}

/* The ratios A / B (A alone where B is NULL) that are no NaN, sorted into ROOM; returns how many. */
static size_t gather(const double *a, const double *b, size_t n, double *room)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		double value = b ? a[i] / b[i] : a[i];
		if (!isnan(value))
			room[count++] = value;
	}
	sort_doubles(room, count);
	return count;
}

static struct tcb_interval interval_of(const double *a, const double *b, size_t n)
{
	double stack[STACK_SAMPLES];
	double *room = n <= STACK_SAMPLES ? stack : malloc(n * sizeof *room);
	if (!room)
		return (struct tcb_interval){ NAN, NAN, NAN };
	size_t count = gather(a, b, n, room);
	struct tcb_interval interval = sorted_interval(room, count);
	if (room != stack)
		free(room);
	return interval;
}

double tcb_median(const double *samples, size_t n)
{
	return interval_of(samples, NULL, n).median;
}

double tcb_low_decile(const double *samples, size_t n)
{
	double *room = malloc((n + 1) * sizeof *room), low = NAN;
	const size_t count = room ? gather(samples, NULL, n, room) : 0;
	if (count)
		low = room[(count - 1) / 10];
	free(room);
	return low;
}

struct tcb_interval tcb_median_interval(const double *samples, size_t n)
{
	return interval_of(samples, NULL, n);
}

struct tcb_interval tcb_ratio_interval(const double *a, const double *b, size_t n)
{
	return interval_of(a, b, n);
}

/* The smallest j for which the j least of N + M values are all of the N with a probability of at most SIDE; 0: none. */
static size_t precedence_rank(size_t n, size_t m, double side)
{
	double probability = 1;
	for (size_t j = 1; j <= n; j++) {
		probability *= (double)(n - j + 1) / (double)(n + m - j + 1);
		if (probability <= side)
			return j;
	}
	return 0;
}

struct tcb_interval tcb_precedence_interval(double *a, size_t a_count, double *b, size_t b_count, double miss)
{
	struct tcb_interval interval = { NAN, 0, INFINITY };
	if (a_count == 0 || b_count == 0)
		return interval;
	sort_doubles(a, a_count);
	sort_doubles(b, b_count);
	interval.median = b[(b_count - 1) / 4] / a[(a_count - 1) / 4];
	const size_t of_a = precedence_rank(a_count, b_count, miss / 2);
	const size_t of_b = precedence_rank(b_count, a_count, miss / 2);
	if (of_a)
		interval.lo = b[0] / a[of_a - 1];
	if (of_b)
		interval.hi = b[of_b - 1] / a[0];
	return interval;
}

size_t tcb_precedence_least(double miss)
{
	size_t count = 1;
	while (!precedence_rank(count, count, miss / 2))
		count++;
	return count;
}
