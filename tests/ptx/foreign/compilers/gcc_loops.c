// SPDX-License-Identifier: MIT
// Loops for OpenMP's offloading: simple, collapsed, reduced, scheduled.
// flags: -fopenmp
#pragma omp declare target
static float scaled(float x, float a)
{
	return x * a + 1;
}
int calls;
#pragma omp end declare target

void saxpy(float *x, float *y, int n, float a)
{
#pragma omp target teams distribute parallel for map(to : x[:n]) map(tofrom : y[:n])
	for (int i = 0; i < n; i++)
		y[i] += scaled(x[i], a);
}

float sum(float *x, int n)
{
	float s = 0;

#pragma omp target teams distribute parallel for reduction(+ : s) map(to : x[:n]) map(tofrom : s)
	for (int i = 0; i < n; i++)
		s += x[i];
	return s;
}

int most(int *x, int n)
{
	int m = -1;

#pragma omp target parallel for reduction(max : m) map(to : x[:n]) map(tofrom : m)
	for (int i = 0; i < n; i++)
		m = m > x[i] ? m : x[i];
	return m;
}

void product(float *a, float *b, float *c, int n)
{
#pragma omp target teams distribute parallel for collapse(2) map(to : a[:n * n], b[:n * n]) map(from : c[:n * n])
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			float s = 0;

			for (int k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
}

void rows(double *x, double *y, int n)
{
#pragma omp target teams distribute map(to : x[:n * 64]) map(from : y[:n])
	for (int r = 0; r < n; r++) {
		double s = 0;

#pragma omp parallel for simd reduction(+ : s)
		for (int c = 0; c < 64; c++)
			s += x[r * 64 + c] * x[r * 64 + c];
		y[r] = s;
	}
}

void dynamic(int *x, int n)
{
#pragma omp target parallel for schedule(dynamic, 4) map(tofrom : x[:n])
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i % 7; k++)
			x[i] = x[i] * 3 + 1;
}

int main(void)
{
	static float a[4096], b[4096], c[4096];
	static double d[64 * 64], e[64];
	static int w[256];

	saxpy(a, b, 4096, 2);
	product(a, b, c, 64);
	rows(d, e, 64);
	dynamic(w, 256);
	return sum(c, 4096) > most(w, 256);
}
