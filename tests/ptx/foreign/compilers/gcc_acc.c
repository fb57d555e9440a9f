// SPDX-License-Identifier: MIT
// OpenACC: gangs, workers and vectors, which GCC makes out of one warp and its neighbours.
// flags: -fopenacc
void vectors(float *x, float *y, int n)
{
#pragma acc parallel loop gang vector copyin(x [0:n]) copy(y [0:n])
	for (int i = 0; i < n; i++)
		y[i] = 2 * x[i] + y[i];
}

float sum(float *x, int n)
{
	float s = 0;

#pragma acc parallel loop gang worker vector reduction(+ : s) copyin(x [0:n])
	for (int i = 0; i < n; i++)
		s += x[i];
	return s;
}

void product(float *a, float *b, float *c, int n)
{
#pragma acc parallel loop gang copyin(a [0:n * n], b [0:n * n]) copyout(c [0:n * n])
	for (int i = 0; i < n; i++) {
#pragma acc loop worker
		for (int j = 0; j < n; j++) {
			float s = 0;

#pragma acc loop vector reduction(+ : s)
			for (int k = 0; k < n; k++)
				s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
	}
}

void gang_alone(int *x, int n)
{
#pragma acc parallel num_gangs(16) num_workers(4) vector_length(32) copy(x [0:n])
	{
		int first = x[0];

#pragma acc loop gang
		for (int i = 0; i < n / 16; i++) {
			int base = first + i;

#pragma acc loop worker vector
			for (int k = 0; k < 16; k++)
				x[i * 16 + k] += base;
		}
	}
}

void kernels(double *x, double *y, int n)
{
#pragma acc kernels copyin(x [0:n]) copyout(y [0:n])
	{
		for (int i = 0; i < n; i++)
			y[i] = x[i] * x[i];
		for (int i = 0; i < n; i++)
			y[i] += 1;
	}
}

int main(void)
{
	static float a[4096], b[4096], c[4096];
	static double d[64], e[64];
	static int w[256];

	vectors(a, b, 4096);
	product(a, b, c, 64);
	gang_alone(w, 256);
	kernels(d, e, 64);
	return sum(c, 4096) > 1;
}
