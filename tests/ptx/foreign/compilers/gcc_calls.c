// SPDX-License-Identifier: MIT
// Calls, structures, recursion and tables on the device, for OpenMP's offloading.
// flags: -fopenmp
struct point {
	double x, y, z;
	int kind;
};

#pragma omp declare target
static const int weight[5] = { 1, 4, 6, 4, 1 };

__attribute__((noinline)) static struct point moved(struct point p, double d)
{
	p.x += d, p.y -= d, p.z *= d;
	return p;
}

__attribute__((noinline)) static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static double by_kind(struct point p)
{
	switch (p.kind) {
	case 0:
		return p.x;
	case 1:
		return p.y;
	case 2:
		return p.z;
	case 3:
		return p.x + p.y;
	case 4:
		return p.y * p.z;
	default:
		return -1;
	}
}
#pragma omp end declare target

void move_all(struct point *p, double *r, int n)
{
#pragma omp target teams distribute parallel for map(tofrom : p[:n]) map(from : r[:n])
	for (int i = 0; i < n; i++) {
		p[i] = moved(p[i], i);
		r[i] = by_kind(p[i]);
	}
}

void weighted(int *x, int *y, int n)
{
#pragma omp target teams distribute parallel for map(to : x[:n + 4]) map(from : y[:n])
	for (int i = 0; i < n; i++) {
		int window[5], s = 0;

		for (int k = 0; k < 5; k++)
			window[k] = x[i + k] * weight[k];
		for (int k = 0; k < 5; k++)
			s += window[(k * 3) % 5];
		y[i] = s + fibonacci(i % 10);
	}
}

int main(void)
{
	static struct point p[128];
	static double r[128];
	static int x[132], y[128];

	move_all(p, r, 128);
	weighted(x, y, 128);
	return r[3] > y[5];
}
