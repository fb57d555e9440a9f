/* SPDX-License-Identifier: MIT */
void convolution(const float *input, const float *filter, float *output)
{
	for (int y = 0; y < rows; y++)
		for (int x = 0; x < columns; x++) {
			double sum = 0;

			for (int i = 0; i < FILTER; i++)
				for (int j = 0; j < FILTER; j++)
					sum += (double)filter[i * FILTER + j] *
					       (double)input[(long)(y + i) * (columns + FILTER - 1) + x + j];
			output[(long)y * columns + x] = (float)sum;
		}
}
