// SPDX-License-Identifier: MIT
// Regions of OpenMP's offloading in which threads meet: barriers, criticals, atomics, singles, tasks of a team.
// flags: -fopenmp
void counted(int *x, int *bins, int n)
{
#pragma omp target teams distribute parallel for map(to : x[:n]) map(tofrom : bins[:64])
	for (int i = 0; i < n; i++) {
#pragma omp atomic
		bins[x[i] & 63]++;
	}
}

int captured(int *x, int *y, int n)
{
	int count = 0;

#pragma omp target parallel for map(to : x[:n]) map(from : y[:n]) map(tofrom : count)
	for (int i = 0; i < n; i++)
		if (x[i] > 0) {
			int place;
#pragma omp atomic capture
			place = count++;
			y[place] = x[i];
		}
	return count;
}

void two_steps(float *x, float *y, int n)
{
#pragma omp target parallel map(to : x[:n]) map(tofrom : y[:n])
	{
#pragma omp for
		for (int i = 0; i < n; i++)
			y[i] = 2 * x[i];
#pragma omp barrier
#pragma omp single
		y[0] = 0;
#pragma omp for
		for (int i = 1; i < n; i++)
			y[i] += x[n - 1 - i];
	}
}

float critical(float *x, int n)
{
	float best = 0;

#pragma omp target parallel for map(to : x[:n]) map(tofrom : best)
	for (int i = 0; i < n; i++) {
#pragma omp critical
		if (x[i] > best)
			best = x[i];
	}
	return best;
}

void of_teams(float *x, float *y, int n)
{
#pragma omp target teams num_teams(8) thread_limit(128) map(to : x[:n]) map(from : y[:8])
	{
		float part = 0;

#pragma omp parallel for reduction(+ : part)
		for (int i = 0; i < n; i++)
			part += x[i];
		y[0] = part;
	}
}

int main(void)
{
	static int x[512], y[512], bins[64];
	static float a[512], b[512];

	counted(x, bins, 512);
	two_steps(a, b, 512);
	of_teams(a, b, 512);
	return captured(x, y, 512) + (critical(a, 512) > 1);
}
